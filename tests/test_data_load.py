"""load: one name, one schema, wherever the text comes from; and a clear answer where it is not there."""

import json
import time
from pathlib import Path

import pytest
from conftest import REAL, real_data
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value, config

from contrast_kit import data
from contrast_kit.data import glue, hub
from contrast_kit.data.prose import split_sentences, units


def real(*parts):
    return Path(REAL, *parts)


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())
    return folder / name


# GLUE's own files


def test_quotes_and_byte_order_marks_and_line_ends(tmp_path):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    text = header + '1\t5\t6\t"Hi he said .\tHe said " hi .\r\n0\t7\t8\tA\u2028b\tC\r\n'
    write(tmp_path / "MRPC", "train.tsv", text)
    assert data.load("glue/mrpc", folder=tmp_path)["train"][:] == {
        "sentence1": ['"Hi he said .', "A\u2028b"],
        "sentence2": ['He said " hi .', "C"],
        "label": [1, 0],
        "idx": [0, 1],
    }


def test_cola_has_no_header_but_in_its_test_file(tmp_path):
    write(
        tmp_path / "CoLA",
        "train.tsv",
        "gj04\t1\t\tThey left. \nbc01\t0\t*\tLeft they the.\n",
    )
    write(tmp_path / "CoLA", "test.tsv", "index\tsentence\n0\tBill left.\n")
    splits = data.load(tmp_path / "CoLA")
    assert (
        splits["train"]["label"][:] == [1, 0]
        and splits["train"]["sentence"][0] == "They left."
    )
    assert splits["test"][0] == {"sentence": "Bill left.", "label": -1, "idx": 0}


def test_a_row_that_lacks_a_field_is_left_out_with_a_word_and_its_number_with_it(
    tmp_path,
):
    text = "id\tsentence1\tsentence2\tlabel\n1\tA?\tB?\tentailment\n2\t3\n3\tC?\tD?\tentailment\n"
    write(tmp_path / "RTE", "dev.tsv", text)
    with pytest.warns(
        UserWarning, match="1 rows of .*dev.tsv lack a field and are left out.*row 1"
    ):
        assert data.load("glue/rte", folder=tmp_path)["validation"]["idx"][:] == [0, 2]


def test_mnlis_halves_are_not_exchanged_and_pairs_without_agreement_have_no_label(
    tmp_path,
):
    for name in ("dev_matched", "dev_mismatched"):
        rows = f"0\t{name}\tB.\tneutral\n1\tA.\tB.\t-\n"
        write(
            tmp_path / "MNLI",
            f"{name}.tsv",
            f"index\tsentence1\tsentence2\tgold_label\n{rows}",
        )
    for name in ("test_matched", "test_mismatched"):
        write(
            tmp_path / "MNLI",
            f"{name}.tsv",
            f"index\tsentence1\tsentence2\n0\t{name}\tB.\n",
        )
    splits = data.load("glue/mnli", folder=tmp_path)
    first = {
        split: rows["premise"][0].replace("dev", "validation")
        for split, rows in splits.items()
    }
    assert all(split == text for split, text in first.items()) and len(first) == 4
    assert splits["validation_matched"]["label"][:] == [1, -1] and splits["test_matched"][
        "label"
    ][:] == [-1]


@pytest.mark.parametrize(
    ("folder", "header", "value", "label"),
    [
        ("STS-B", "sentence1\tsentence2\tscore", "3.25", 3.25),
        ("RTE", "sentence1\tsentence2\tlabel", "neutral", None),
        ("RTE", "sentence1\tsentence2\tlabel", "-1", -1),
        ("RTE", "sentence1\tsentence2\tlabel", "2", None),
        ("RTE", "text\tsentence2\tlabel", "0", None),
    ],
)
def test_a_label_or_a_header_of_another_task_is_refused(
    tmp_path, folder, header, value, label
):
    write(tmp_path / folder, "train.tsv", f"{header}\nA.\tB.\t{value}\n")
    if label is not None:
        assert data.load(tmp_path / folder)["train"]["label"][:] == [label]
        return
    with pytest.raises(
        ValueError, match="has the (label|score) '|has no column 'sentence1'"
    ):
        data.load(tmp_path / folder)


def test_the_sts_benchmarks_own_files_with_ragged_ends(tmp_path):
    start = 'main-captions\tMSRvid\t2012test\t0024\t2.500\tA girl, styling.\tA "girl" brushes.\n'
    rows = (
        start
        + "main-news\tMSRpar\t2012\t0005\t4.0\tHe spoke.\tHe said.\thttp://a\thttp://b\n"
    )
    found = data.load(write(tmp_path, "sts-test.csv", rows))["test"]
    assert found["label"][:] == [2.5, 4.0] and found["sentence2"][:] == [
        'A "girl" brushes.',
        "He said.",
    ]


@pytest.mark.real_data
@real_data
@pytest.mark.parametrize("task", list(glue.TASKS))
def test_every_task_in_the_hubs_schema(task):
    schema = json.loads(real("hub_schemas.json").read_text())[f"glue/{task}"]
    folder = (
        real("glue_data") if task == "mrpc" else real("hub_form_samples", "glue")
    )  # the samples lack MRPC
    for split, rows in data.load(f"glue/{task}", folder=folder).items():
        assert split in schema["splits"] and set(rows.column_names) == set(
            schema["features"]
        )
        expected = schema["features"]["label"]
        names = getattr(rows.features["label"], "names", None)
        assert names == (expected["label_names"] if isinstance(expected, dict) else None)
        assert (set(rows["label"]) == {-1}) == ("test" in split)


# Running text


def test_sentences_end_where_they_end():
    text = 'Dr. No met J. Smith at 5.30 p.m. today. "Really?" It cost 3.5 dollars, e.g. for tea! Was it I? Yes.'
    first = "Dr. No met J. Smith at 5.30 p.m. today."
    assert split_sentences(text) == [
        first,
        '"Really?"',
        "It cost 3.5 dollars, e.g. for tea!",
        "Was it I?",
        "Yes.",
    ]
    assert split_sentences("") == []


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Il est tard. Évidemment. À bientôt…",
            ["Il est tard.", "Évidemment.", "À bientôt…"],
        ),
        ("¿Qué hora es? ¡Tarde! Ya.", ["¿Qué hora es?", "¡Tarde!", "Ya."]),
        ("今天下雨。我们走吧！好吗？", ["今天下雨。", "我们走吧！", "好吗？"]),
        ("É. Zola wrote it… but late. No", ["É. Zola wrote it… but late.", "No"]),
    ],
)
def test_sentences_end_beyond_ascii(text, sentences):
    assert split_sentences(text) == sentences


def test_hard_wrapped_lines_are_joined_and_others_are_not():
    sentence = "It was a long day and no one came to the shop before the sun had gone"
    wrapped = "\n".join([f"{sentence}\ndown behind the hill."] * 3 + [sentence] * 6)
    assert list(units(wrapped, "paragraph"))[0] == f"{sentence} down behind the hill."
    plain = "One.\nTwo is longer than one.\nThree is a paragraph of its own, and it has a good length.\nFour.\nFive.\n"
    assert len(list(units(plain, "paragraph"))) == len(list(units(plain, "line"))) == 5
    people = [
        f"{name} bought the {colour} kite for a friend"
        for name in ("Clara", "Amos")
        for colour in "abc"
    ]
    assert list(units("\n".join(people))) == people  # lines without a stop


def test_a_folder_of_novels(tmp_path):
    write(tmp_path, "austen.txt", "\ufeffIt was late.\r\nNo one came. She slept.\r\n\r\n")
    write(tmp_path, "doyle.txt", "He smoked.\n")
    for name in ("README", "LICENSE", ".hidden"):
        write(tmp_path, f"{name}.txt", "Not this one.\n")
    novels = data.load(tmp_path)["train"]
    assert novels["text"][:] == [
        "It was late.",
        "No one came.",
        "She slept.",
        "He smoked.",
    ]


def test_wikitext_headings_are_left_out(tmp_path):
    text = " \n = Lobster = \n \n A lobster is blue . It swims . \n\n = = Use = = \n It is food . \n"
    write(tmp_path, "wiki.valid.raw", text)
    assert data.load(tmp_path)["validation"]["text"][:] == [
        "A lobster is blue .",
        "It swims .",
        "It is food .",
    ]
    paragraphs = data.load(tmp_path, unit="paragraph")["validation"]["text"][:]
    assert paragraphs == ["A lobster is blue . It swims .", "It is food ."]


# Tables, JSON, Parquet, and what `save_to_disk` wrote


def test_every_kind_of_file_gives_the_same(tmp_path):
    rows = Dataset.from_list(
        [
            {"sentence": 'He said "no", twice.', "label": "bad"},
            {"sentence": "NA", "label": "good"},
        ]
    )
    rows.to_csv(tmp_path / "a.csv", index=False)
    rows.to_parquet(tmp_path / "b.parquet")
    rows.to_json(tmp_path / "c.jsonl")
    write(tmp_path, "d.tsv", 'sentence\tlabel\nHe said "no", twice.\tbad\nNA\tgood\n')
    rows.save_to_disk(tmp_path / "f")
    DatasetDict({"train": rows}).save_to_disk(tmp_path / "g")
    for name in ("a.csv", "b.parquet", "c.jsonl", "d.tsv", "f", "g"):
        train = data.load(tmp_path / name)["train"]
        assert train.features["label"].names == ["bad", "good"], name
        assert train[:] == {
            "sentence": ['He said "no", twice.', "NA"],
            "label": [0, 1],
        }, name


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "label,text\n1,a b\n0\n", "Expected 2 columns, got 1: 0"),
        (
            "a.csv",
            "text,label\nhello, world,1\nbye, world,0\n",
            "Expected 2 columns, got 3",
        ),
        (
            "a.csv",
            'text,label\n"ball,0\nbox,1\n',
            "A quote in .* is never closed",
        ),
        ("a.tsv", 'text\tlabel\n"a\tb"\t1\nc\t0\n', "Expected 2 columns, got 3"),
        (
            "a.csv",
            "It rains today.,1\nHe left us.,0\n",
            "names no columns, so its row would be lost",
        ),
        ("a.txt", "one\ttwo\tthree\n1\t2\t3\n", "is no running text"),
    ],
)
def test_what_would_lose_a_row_or_a_column_is_refused(tmp_path, name, text, says):
    with pytest.raises(ValueError, match=says):
        data.load(write(tmp_path, name, text))


def test_zhangs_files_keep_their_first_row_and_count_from_zero(tmp_path):
    amazon = '"2","Great","A ""fine"" CD."\n"1","Bad","No."\n'
    found = data.load(
        write(tmp_path / "amazon_review_polarity_csv", "train.csv", amazon)
    )["train"]
    assert found[:] == {
        "label": [1, 0],
        "title": ["Great", "Bad"],
        "content": ['A "fine" CD.', "No."],
    }


def test_files_of_one_split_have_the_same_columns_of_the_same_kinds(tmp_path):
    write(tmp_path, "train1.csv", "text,label\nball,3\n")
    write(tmp_path, "train2.csv", "text,label\nbox,4\n")
    assert data.load(tmp_path)["train"]["label"][:] == [3, 4]
    for other in ("words,label\nbox,1\n", "text,label\nbox,1.5\n"):
        write(tmp_path, "train2.csv", other)
        with pytest.raises(
            ValueError, match="have other columns, or other kinds of values"
        ):
            data.load(tmp_path)


@pytest.mark.parametrize("second", ["train2", "test"])
def test_permuted_classes_are_refused_within_a_split_and_across(tmp_path, second):
    for name, classes in (("train1", ["no", "yes"]), (second, ["yes", "no"])):
        features = Features({"text": Value("string"), "label": ClassLabel(names=classes)})
        Dataset.from_dict({"text": ["a"], "label": [0]}, features=features).to_parquet(
            tmp_path / f"{name}.parquet"
        )
    with pytest.raises(ValueError, match="kinds of values|are numbered as"):
        data.load(tmp_path)


def test_squads_nested_file_gives_each_question_its_own_paragraph(tmp_path):
    def asked(number, text, start):
        found = [] if text is None else [{"text": text, "answer_start": start}]
        more = (
            {"plausible_answers": [{"text": "kite", "answer_start": 6}]}
            if text is None
            else {}
        )
        return {
            "id": str(number),
            "question": f"what {number} ?",
            "answers": found,
        } | more

    paragraphs = [
        {"context": "a red kite", "qas": [asked(1, "red", 2), asked(2, None, 0)]},
        {"context": "a blue drum", "qas": [asked(3, "blue", 2)]},
    ]
    write(
        tmp_path,
        "dev.json",
        json.dumps({"data": [{"title": "Toys", "paragraphs": paragraphs}]}),
    )
    rows = data.load(tmp_path)["validation"]
    assert rows["id"][:] == ["1", "2", "3"] and rows["title"][:] == ["Toys"] * 3
    assert rows["context"][:] == ["a red kite", "a red kite", "a blue drum"]
    assert [answers["text"] for answers in rows["answers"]] == [
        ["red"],
        [],
        ["blue"],
    ]  # no plausible ones


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("test1.csv", "test"),
        ("my_test.csv", "test"),
        ("dev2.csv", "validation"),
        ("valid.v2.csv", "validation"),
    ],
)
def test_a_split_is_found_beside_whatever_is_no_letter(name, split, tmp_path):
    for file in (
        "train1.csv",
        name,
        f"._{name}",
    ):  # the last as macOS writes them, and no text
        write(tmp_path, file, "text,label\na,1\n" if file[0] != "." else "\0")
    assert {split: len(rows) for split, rows in data.load(tmp_path).items()} == {
        "train": 1,
        split: 1,
    }


# Names, the hub, and text for a tokenizer


def test_without_network_the_answer_comes_in_seconds_and_names_what_works(
    monkeypatch, tmp_path
):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv(
        "HF_ENDPOINT", "http://192.0.2.1"
    )  # an address that never answers (RFC 5737)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    start = time.perf_counter()
    with pytest.raises(
        FileNotFoundError, match="hub cannot be reached; use .*toyshop/.*folder="
    ):
        data.load("glue/sst2")
    assert time.perf_counter() - start < 30  # the hub's own patience is minutes


def test_sentences_of_a_split():
    rows = [
        {"premise": "A.", "hypothesis": "B.", "label": 1},
        {"premise": "A.", "hypothesis": " ", "label": 0},
    ]
    for split in (rows, Dataset.from_list(rows)):
        assert data.sentences(split) == ["A.", "B."]
        assert data.sentences(split, distinct=False) == ["A.", "B.", "A."]
        assert data.sentences(split, columns="hypothesis") == ["B."]
    assert data.sentences([]) == [] and data.sentences(["A.", "B.", "A."]) == ["A.", "B."]
    with pytest.raises(
        ValueError, match="no column 'text'; the columns are premise, hypothesis, label"
    ):
        data.sentences(rows, columns="text")


@pytest.fixture
def asked(monkeypatch):
    """What `datasets` is asked for, and whether it may ask the hub; it answers with two lines of text."""

    def load_dataset(name, configuration):
        calls.append((name, configuration, config.HF_HUB_OFFLINE))
        lines = [" = A = \n", "It is late . No one came . \n"]
        return DatasetDict(
            {"train": Dataset.from_dict({"text": lines, "sentence": lines})}
        )

    calls = []
    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "reachable", lambda *patience: True)
    return calls


def test_a_short_name_of_the_hub_is_its_data_set_in_its_configuration_unless_another_is_given(
    asked,
):
    for name in ("wikitext", "wikitext-103", "snli"):
        data.load(name)
    data.load("wikitext", config="wikitext-103-raw-v1")
    assert [call[:2] for call in asked] == [
        ("Salesforce/wikitext", "wikitext-2-raw-v1"),
        ("Salesforce/wikitext", "wikitext-103-raw-v1"),
        ("stanfordnlp/snli", None),
        ("Salesforce/wikitext", "wikitext-103-raw-v1"),
    ]


def test_glue_of_the_hub_is_like_its_files(asked):
    assert data.load("glue/sst2")["train"]["sentence"][1] == "It is late . No one came ."
    assert asked[-1][:2] == ("nyu-mll/glue", "sst2")
