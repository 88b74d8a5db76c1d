"""load: one name, one schema, wherever the text comes from; and a clear answer where it is not there."""

import time
from pathlib import Path

import pytest
from conftest import REAL, real_data

from contrast_kit import data
from contrast_kit.data import Texts, glue, hub, train_tokenizer
from contrast_kit.data.prose import split_sentences, units


def real(*parts):
    return Path(REAL, *parts)


# GLUE in its zip layout


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode())


def test_quotes_and_byte_order_marks_and_line_ends(tmp_path):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    text = header + '1\t5\t6\t"Hi he said .\tHe said " hi .\r\n0\t7\t8\tA\u2028b\tC\r\n'
    write(tmp_path / "MRPC", "train.tsv", text)
    train = data.load("glue/mrpc", folder=tmp_path)["train"]
    assert train[:] == {
        "sentence1": ['"Hi he said .', "A\u2028b"],
        "sentence2": ['He said " hi .', "C"],
        "label": [1, 0],
        "idx": [0, 1],
    }


def test_cola_has_no_header_but_in_its_test_file(tmp_path):
    write(tmp_path / "CoLA", "train.tsv", "gj04\t1\t\tThey left.\nbc01\t0\t*\tLeft they the.\n")
    write(tmp_path / "CoLA", "test.tsv", "index\tsentence\n0\tBill left.\n")
    splits = data.load(tmp_path / "CoLA")
    assert splits["train"]["label"][:] == [1, 0] and splits["train"]["sentence"][0] == "They left."
    assert splits["test"][0] == {"sentence": "Bill left.", "label": -1, "idx": 0}


def test_a_row_that_lacks_a_field_is_left_out_and_its_number_with_it(tmp_path):
    text = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\tA?\tB?\t1\n2\t3\n3\t5\t6\tC?\tD?\t0\n"
    write(tmp_path / "QQP", "dev.tsv", text)
    assert data.load("glue/qqp", folder=tmp_path)["validation"]["idx"][:] == [0, 2]


def test_a_task_is_known_from_inside_its_folder(tmp_path, monkeypatch):
    write(tmp_path / "RTE", "train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tIt rains.\tIt is wet.\tentailment\n")
    monkeypatch.chdir(tmp_path / "RTE")
    for name in (".", "train.tsv", "../RTE"):
        assert data.load(name)["train"][0]["label"] == 0


def test_a_label_of_another_task_is_refused(tmp_path):
    write(tmp_path / "RTE", "train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tneutral\n")
    with pytest.raises(ValueError, match="label 'neutral'; rte wants one of entailment, not_entailment"):
        data.load("glue/rte", folder=tmp_path)
    write(tmp_path / "SST-2", "train.tsv", "text\tlabel\nx\t1\n")
    with pytest.raises(ValueError, match="no column 'sentence'"):
        data.load("glue/sst2", folder=tmp_path)


def test_missing_files_and_tasks_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds neither SST-2/ nor train.tsv"):
        data.load("glue/sst2", folder=tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder .*nowhere"):
        data.load("glue/sst2", folder=tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no GLUE task 'sst'; did you mean 'sst2'"):
        data.load("glue/sst")
    write(tmp_path / "RTE", "train.tsv", "")
    with pytest.raises(ValueError, match=r"several tasks \(RTE\)"):
        data.load(tmp_path)


@pytest.mark.real_data
@real_data
@pytest.mark.parametrize(
    ("task", "sizes", "positives"),
    [
        ("sst2", {"train": 67349, "validation": 872, "test": 1821}, {"train": 37569, "validation": 444}),
        ("mrpc", {"train": 3668, "validation": 408, "test": 1725}, {"train": 2474, "validation": 279}),
        ("rte", {"train": 2490, "validation": 277, "test": 3000}, {"train": 1241, "validation": 131}),
    ],
)
def test_real_glue_counts_and_labels(task, sizes, positives):
    splits = data.load(f"glue/{task}", folder=real("glue_data"))
    assert {split: len(rows) for split, rows in splits.items()} == sizes
    for split, count in positives.items():
        assert sum(splits[split]["label"]) == count
    assert set(splits["test"]["label"]) == {-1}


@pytest.mark.real_data
@real_data
def test_real_sts_b():
    splits = data.load(real("glue_data", "STS-B"))
    assert {split: len(rows) for split, rows in splits.items()} == {
        "train": 5749,
        "validation": 1500,
        "test": 1379,
    }
    scores = splits["train"]["label"][:]
    assert min(scores) >= 0 and max(scores) == 5 and round(sum(scores) / len(scores), 2) == 2.70


@pytest.mark.real_data
@real_data
@pytest.mark.parametrize("task", list(glue.TASKS))
def test_every_task_in_the_hubs_schema(task):
    import json

    schema = json.loads(real("hub_schemas.json").read_text())[f"glue/{task}"]
    # the samples have every task but MRPC
    folder = real("glue_data") if task == "mrpc" else real("hub_form_samples", "glue")
    splits = data.load(f"glue/{task}", folder=folder)
    for split, rows in splits.items():
        assert split in schema["splits"]
        assert set(rows.column_names) == set(schema["features"])
        names = getattr(rows.features["label"], "names", None)
        expected = schema["features"]["label"]
        assert names == (expected["label_names"] if isinstance(expected, dict) else None)
        assert all(text for column in glue.TASKS[task].columns for text in rows[column])
        assert (set(rows["label"]) == {-1}) == ("test" in split)


# Running text


def test_sentences_end_where_they_end():
    text = 'Dr. No met J. Smith at 5.30 p.m. today. "Really?" It cost 3.5 dollars, e.g. for tea! Was it I? Yes.'
    assert split_sentences(text) == [
        "Dr. No met J. Smith at 5.30 p.m. today.",
        '"Really?"',
        "It cost 3.5 dollars, e.g. for tea!",
        "Was it I?",
        "Yes.",
    ]
    assert split_sentences("") == []


@pytest.mark.parametrize(("piece", "count"), [("Doe J. et al. ", 8_000), (".", 8_000)])
def test_the_time_for_sentences_grows_as_the_text_does(piece, count):
    """Abbreviations and rows of dots, where a search from each stop to the last sentence's end took minutes."""
    begun = time.process_time()
    assert len(split_sentences(piece * count + "a")) == 1
    assert time.process_time() - begun < 3


def test_hard_wrapped_lines_are_joined_and_others_are_not():
    sentence = "It was a long day and no one came to the shop before the sun had gone"
    wrapped = "\n".join([f"{sentence}\ndown behind the hill."] * 3 + [sentence] * 6)
    assert list(units(wrapped, "paragraph"))[0] == f"{sentence} down behind the hill."
    plain = "One.\nTwo is longer than one.\nThree is a paragraph of its own, and it has a good length.\nFour.\nFive.\n"
    assert len(list(units(plain, "paragraph"))) == 5
    assert len(list(units(plain, "line"))) == 5
    with pytest.raises(ValueError, match="unit must be"):
        list(units(plain, "word"))


def test_a_folder_of_novels(tmp_path):
    write(tmp_path, "austen.txt", "\ufeffIt was late.\r\nNo one came. She slept.\r\n\r\n")
    write(tmp_path, "doyle.txt", "He smoked.\n")
    for name in ("README", "LICENSE"):
        write(tmp_path, f"{name}.txt", "Not this one.\n")
    novels = data.load(tmp_path)["train"]
    assert novels["text"][:] == ["It was late.", "No one came.", "She slept.", "He smoked."]
    assert novels["topic"][:] == [0, 0, 0, 1] and novels.features["topic"].names == ["austen", "doyle"]


def test_wikitext_headings(tmp_path):
    write(
        tmp_path,
        "wiki.valid.raw",
        " \n = Lobster = \n \n A lobster is blue . It swims . \n\n = = Use = = \n It is food . \n",
    )
    assert data.load(tmp_path)["validation"]["text"][:] == [
        "A lobster is blue .",
        "It swims .",
        "It is food .",
    ]
    with_headings = data.load(tmp_path, headings=True, unit="paragraph")["validation"]["text"][:]
    assert with_headings == ["= Lobster =", "A lobster is blue . It swims .", "= = Use = =", "It is food ."]


@pytest.mark.real_data
@real_data
def test_real_novels_and_wikitext():
    novels = data.load(real("corpus", "english_novels"))["train"]
    assert len(novels.features["topic"].names) == 13 and 70_000 < len(novels) < 110_000
    assert not any("\ufeff" in text or "\r" in text or "\n" in text for text in novels["text"])
    wikitext = data.load(real("corpus", "wikitext-2"))
    assert set(wikitext) == {"validation", "test"}
    assert not any(text.startswith("= ") for text in wikitext["validation"]["text"])


# Tables, JSON and Parquet


def test_csv_tsv_json_and_parquet_give_the_same(tmp_path):
    from datasets import Dataset

    rows = [{"sentence": 'He said "no", twice.', "label": "bad"}, {"sentence": "NA", "label": "good"}]
    Dataset.from_list(rows).to_csv(tmp_path / "a.csv", index=False)
    Dataset.from_list(rows).to_parquet(tmp_path / "b.parquet")
    Dataset.from_list(rows).to_json(tmp_path / "c.jsonl")
    write(tmp_path, "d.tsv", 'sentence\tlabel\nHe said "no", twice.\tbad\nNA\tgood\n')
    for name in ("a.csv", "b.parquet", "c.jsonl", "d.tsv"):
        train = data.load(tmp_path / name)["train"]
        assert train.features["label"].names == ["bad", "good"]
        assert train[:] == {"sentence": ['He said "no", twice.', "NA"], "label": [0, 1]}, name


def test_files_that_make_no_sense_are_named(tmp_path):
    write(tmp_path, "bad.json", "{not json")
    with pytest.raises(ValueError, match="neither JSON nor JSON lines"):
        data.load(tmp_path / "bad.json")
    lines = '{"text": "a"}\n\n{"text": "b" "label": 1}\n'
    for name, text in {"lines.jsonl": lines, "list.json": '[{"text": "a"},\n\n{"text": "b" "label": 1}]'}.items():
        write(tmp_path, name, text)
        with pytest.raises(ValueError, match="Expecting ',' delimiter: line 3 column 14"):
            data.load(tmp_path / name)
    write(tmp_path, "empty.txt", " \n")
    with pytest.raises(ValueError, match="holds no text"):
        data.load(tmp_path / "empty.txt")
    write(tmp_path, "image.png", "x")
    with pytest.raises(ValueError, match="known endings are"):
        data.load(tmp_path / "image.png")
    (tmp_path / "void").mkdir()
    with pytest.raises(FileNotFoundError, match="holds no file ending in"):
        data.load(tmp_path / "void")
    write(tmp_path / "two", "a.csv", "text,label\nball,0\n")
    write(tmp_path / "two", "b.csv", "words,label\nbox,1\n")
    with pytest.raises(ValueError, match=r"other columns \(text, label and words, label\)"):
        data.load(tmp_path / "two")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.json", "train.tsv"])
def test_another_encoding_is_said(tmp_path, name):
    (tmp_path / name).write_bytes("sentence\tlabel\ngr\xfcn\t1\n".encode("latin-1"))
    options = {"folder": tmp_path} if name == "train.tsv" else {}
    with pytest.raises(ValueError, match=f"{name} is not UTF-8 text"):
        data.load("glue/sst2" if options else tmp_path / name, **options)
    for encoding in ("utf-16-le", "utf-16-be"):  # without its mark, and in English, it can be read as UTF-8
        (tmp_path / name).write_bytes("sentence\tlabel\nIt is late.\t1\n".encode(encoding))
        with pytest.raises(ValueError, match=rf"{name} is not UTF-8 text \(byte .*read_text\('{encoding}'\), 'utf-8'"):
            data.load("glue/sst2" if options else tmp_path / name, **options)


def test_a_label_that_is_missing_moves_no_other_class(tmp_path):
    write(tmp_path, "a.csv", "text,label\nball,0\nbox,\nkite,1\n")
    with pytest.raises(ValueError, match="Row 1 of 'train' has an empty label"):
        data.load(tmp_path / "a.csv")
    write(tmp_path, "a.json", '[{"text": "ball", "label": "bad"}, {"text": "box", "label": null}]')
    train = data.load(tmp_path / "a.json")["train"]
    assert train["label"][:] == [0, None] and train.features["label"].names == ["bad"]


def test_a_folder_called_glue_is_a_folder(tmp_path, monkeypatch):
    write(tmp_path / "glue" / "SST-2", "train.tsv", "sentence\tlabel\nfine\t1\n")
    monkeypatch.chdir(tmp_path)
    assert data.load("glue/SST-2")["train"]["sentence"][:] == ["fine"]


@pytest.mark.real_data
@real_data
def test_real_tables_and_json():
    kitchen = data.load(real("transfer", "amazon_kitchen"))  # quoted fields that go over several lines
    assert len(kitchen["train"]) == 1700 and len(kitchen["validation"]) == 300
    assert sum(kitchen["train"]["label"]) == 850
    pairs = data.load(real("paraphrase", "paranmt_1000.txt"), columns=("sentence1", "sentence2"))
    assert len(pairs["train"]) == 1000 and pairs["train"][0]["sentence2"].startswith("i would not like")
    assert len(data.load(real("vl", "nlvr2", "balanced_dev.json"))["validation"]) == 2300
    squad = data.load(real("hub_form_samples", "squad_v2"))["train"]
    assert squad.column_names == ["id", "title", "context", "question", "answers"]
    folder = real("hub_form_samples", "yelp_polarity", "yelp_review_polarity_csv")
    assert data.load(folder, columns=("label", "text"))["test"].column_names == ["label", "text"]
    mnli = data.load(real("hub_form_samples", "multi_nli", "multinli_1.0"))
    assert set(mnli) == {"train", "validation_matched", "validation_mismatched"}


# Names, the hub, and text for a tokenizer


@pytest.mark.parametrize("option", [{"unit": "line"}, {"headings": True}, {"labels": ["no", "yes"]}, {"config": "x"}])
def test_an_option_that_nothing_reads_is_refused(option, tmp_path):
    for name in ("toyshop/sst2", "scenes/captions", "docstrings", "glue/rte"):
        with pytest.raises(ValueError, match=f"'{name}' is read without {next(iter(option))}="):
            data.load(name, **option)
    if "config" in option:
        write(tmp_path, "a.txt", "One. Two.")
        with pytest.raises(ValueError, match="is read without config="):
            data.load(tmp_path, **option)


@pytest.mark.parametrize("option", [{"unit": "line"}, {"headings": True}, {"quoted": True}, {"labels": ["no", "yes"]}])
def test_an_option_of_the_other_kind_of_file_is_refused(option, tmp_path):
    write(tmp_path, "a.txt", "One. Two.")
    write(tmp_path, "b.csv", "text,label\nFine,yes\n")
    reads, refuses = ("a.txt", "b.csv") if "unit" in option or "headings" in option else ("b.csv", "a.txt")
    data.load(tmp_path / reads, **option)
    with pytest.raises(ValueError, match=f"is read without {next(iter(option))}="):
        data.load(tmp_path / refuses, **option)


@pytest.mark.parametrize("name", ["glue/sst2", "wikitext", "squad", "nobody/nothing"])
def test_without_network_the_answer_comes_in_seconds_and_names_what_works(name, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://192.0.2.1")  # an address that never answers (RFC 5737)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    start = time.perf_counter()
    with pytest.raises(FileNotFoundError, match="hub cannot be reached; use .*toyshop/.*folder=") as error:
        data.load(name)
    assert time.perf_counter() - start < 30  # the hub's own patience is minutes
    assert "Repo id" not in str(error.value)


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "some/long/path", "texts.csv"])
def test_a_path_that_is_not_there_is_called_so(name):
    with pytest.raises(FileNotFoundError, match="There is no file or folder"):
        data.load(name)


@pytest.mark.parametrize("task", ["sst2", "mnli", "stsb"])
def test_toyshop_has_glues_schema(task):
    splits = data.load(f"toyshop/{task}")
    assert splits["train"].features == glue.TASKS[task].features()
    with pytest.raises(ValueError, match="There is no task 'none' of a shop; there are sst2"):
        data.load("toyshop/none")


def test_names_that_are_listed():
    names = data.available()
    assert {"docstrings", "docstrings/pairs", "wikitext", "toyshop/sst2", "othershop/mnli"} <= set(names)
    assert {f"glue/{task}" for task in glue.TASKS} <= set(names)


def test_sentences_of_a_split():
    from datasets import Dataset

    rows = [
        {"premise": "A.", "hypothesis": "B.", "label": 1},
        {"premise": "A.", "hypothesis": " ", "label": 0},
    ]
    for split in (rows, Dataset.from_list(rows)):
        assert data.sentences(split) == ["A.", "B."]
        assert data.sentences(split, distinct=False) == ["A.", "B.", "A."]
        assert data.sentences(split, columns="hypothesis") == ["B."]
    assert data.sentences([]) == [] and data.sentences(["A.", "B.", "A."]) == ["A.", "B."]
    with pytest.raises(ValueError, match="no column 'text'; the columns are premise, hypothesis, label"):
        data.sentences(rows, columns="text")
    with pytest.raises(TypeError, match="several splits"):
        data.sentences({"train": rows})


@pytest.mark.real_data
@real_data
def test_from_a_real_folder_to_a_batch():
    train = data.load("glue/mrpc", folder=real("glue_data"))["train"]
    texts = Texts(train, train_tokenizer(data.sentences(train)))
    assert texts.label_names == ["not_equivalent", "equivalent"] and len(texts) == 3668
    assert texts.batch(range(8))["label"].tolist() == train["label"][:8]


# --- what a reader's own files hold ---------------------------------------------------------------------


def test_classes_from_one_are_counted_anew_in_all_splits_or_in_none(tmp_path):
    """Each file alone would be numbered by what it happens to hold."""
    for name, text in {"train": "0,bad\n1,good\n", "validation": "1,fine\n1,nice\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = data.load(tmp_path)
    assert found["train"]["label"][:] == [0, 1] and found["validation"]["label"][:] == [1, 1]
    for name, text in {"train": "1,a\n2,b\n3,c\n", "validation": "2,d\n3,e\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = data.load(tmp_path)
    assert found["train"]["label"][:] == [0, 1, 2] and found["validation"]["label"][:] == [1, 2]


def test_a_column_that_the_first_row_lacks_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a b"}\n{"text": "c d", "label": 1}\n')
    assert data.load(tmp_path / "a.jsonl")["train"]["label"][:] == [None, 1]
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": "bad"}\n{"text": "c"}\n{"text": "e", "label": "good"}\n')
    assert data.load(tmp_path / "b.jsonl")["train"]["label"][:] == [0, None, 1]


def test_rows_of_which_the_first_has_no_label_keep_theirs(lines=("a red kite", "a blue drum")):
    rows = [{"text": lines[0]}, {"text": lines[1], "label": 1}]
    assert Texts(rows, train_tokenizer(lines, vocab_size=60)).labels.tolist() == [-1, 1]


def test_a_table_with_a_field_too_many_is_refused_not_cut(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nhello, world,1\nbye world,0\nso on,1\n")
    with pytest.raises(ValueError, match="is not an even table"):
        data.load(tmp_path / "a.csv")


def test_a_stray_quote_in_a_tsv_swallows_no_row(tmp_path):
    (tmp_path / "a.tsv").write_text(
        'sentence\tlabel\tnote\n"Well begun\t1\tx\na\t0\tx\t\nb\t1\tx\nend" he said\t0\tx\nc\t1\tx\n'
    )
    assert data.load(tmp_path / "a.tsv")["train"]["sentence"][:] == ['"Well begun', "a", "b", 'end" he said', "c"]


def test_lines_without_a_stop_are_not_glued_together(tmp_path):
    lines = [
        f"{name} bought the {colour} kite for a friend"
        for name in ("Clara", "Amos")
        for colour in ("red", "tan", "dun")
    ]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    assert data.load(tmp_path / "a.txt")["train"]["text"][:] == lines
    wrapped = "The kite that Clara\nbought was red and\nthe friend of Amos\nliked what she saw\nof it in the air.\n"
    (tmp_path / "b.txt").write_text(wrapped)
    assert data.load(tmp_path / "b.txt")["train"]["text"][:] == [" ".join(wrapped.split())]


@pytest.mark.parametrize(
    ("name", "text", "options", "words"),
    [
        ("a.jsonl", '{"text": "a"}\n', dict(columns=("text",)), "columns"),
        ("a.jsonl", '{"text": "a"}\n', dict(quoted=True), "quoted"),
        ("a.jsonl", '{"text": "a", "label": 1}\n', dict(labels=("bad", "good")), "are no names"),
        ("a.csv", "Review,Sentiment\nfine,1\n", dict(columns=("text", "label")), "names its columns .Review"),
        ("a.csv", '"' + "x" * 140_000, {}, "the quote in line 1 is left open"),
    ],
)
def test_an_option_that_a_file_does_not_take_is_refused(tmp_path, name, text, options, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=words):
        data.load(tmp_path / name, **options)


def test_packed_files_that_are_left_out_are_named(tmp_path):
    write(tmp_path, "train.jsonl.gz", "any")
    said = "train.jsonl.gz in .* cannot be read while packed: unpack it first"
    with pytest.warns(UserWarning, match=said), pytest.raises(FileNotFoundError, match="holds no file ending in"):
        data.load(tmp_path)
    write(tmp_path, "validation.jsonl", '{"text": "a kite"}')
    with pytest.warns(UserWarning, match=said):
        assert set(data.load(tmp_path)) == {"validation"}
    with pytest.warns(UserWarning, match=said):
        assert len(data.Stream(tmp_path, train_tokenizer(["a kite"], 60))) == 1


def test_files_of_another_kind_that_are_left_out_are_named(tmp_path):
    write(tmp_path, "train.csv", "text,label\na,1\n")
    write(tmp_path, "config.json", '{"a": 1}')
    for note in ("notes.txt", "sources.txt"):  # more than there are tables
        write(tmp_path, note, "From the web.\n")
    with pytest.warns(UserWarning, match=r"not config.json, notes.txt, sources.txt"):
        assert data.load(tmp_path)["train"]["text"][:] == ["a"]
    write(tmp_path, "validation.jsonl", '{"text": "b", "label": 0}\n')
    with pytest.raises(ValueError, match=r"validation.jsonl and train.csv: write all splits as files of one kind"):
        data.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        *(
            (f"{test}.csv", "test")
            for test in ("test1", "test (1)", "test set", "TEST", "my_test", "2024-test", "testing")
        ),
        *((f"{other}.csv", "validation") for other in ("eval", "dev2", "validation1", "valid.v2", "val")),
    ],
)
def test_a_split_is_found_beside_whatever_is_no_letter(name, split, tmp_path):
    for file in ("train1.csv", name, f"._{name}"):  # the last as macOS writes them, and no text
        write(tmp_path, file, "text,label\na,1\n" if file[0] != "." else "\0")
    assert {split: len(rows) for split, rows in data.load(tmp_path).items()} == {"train": 1, split: 1}


@pytest.mark.parametrize("name", ["testset.csv", "mytest.csv", "devset.csv"])
def test_a_split_inside_a_longer_word_is_warned_about(name, tmp_path):
    for file in ("reviews.csv", name):
        write(tmp_path, file, "text,label\na,1\n")
    with pytest.warns(UserWarning, match=f"{name} is read as training data"):
        assert len(data.load(tmp_path)["train"]) == 2


def test_titles_of_novels_are_not_warned_about(tmp_path, recwarn):
    for title in ("The Greatest Gift", "The Devil's Dictionary", "Emma"):
        write(tmp_path, f"{title}.txt", "It was late.\n")
    assert len(data.load(tmp_path)["train"]) == 3 and not recwarn.list


# What the hub has, without a hub


@pytest.fixture
def asked(monkeypatch):
    """What `datasets` is asked for, and whether it may ask the hub; it answers with two lines of text."""
    from datasets import Dataset, DatasetDict, config

    def load_dataset(name, configuration):
        calls.append((name, configuration, config.HF_HUB_OFFLINE))
        return DatasetDict({"train": Dataset.from_dict({"text": [" = A = \n", "It is late . No one came . \n"]})})

    calls = []
    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr(config, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub, "reachable", lambda *patience: True)
    return calls


def test_a_short_name_of_the_hub_is_its_data_set_in_its_configuration_unless_another_is_given(asked):
    for name in ("wikitext", "wikitext-103", "snli"):
        data.load(name)
    data.load("wikitext", config="wikitext-103-raw-v1")
    assert [call[:2] for call in asked] == [
        ("Salesforce/wikitext", "wikitext-2-raw-v1"),
        ("Salesforce/wikitext", "wikitext-103-raw-v1"),
        ("stanfordnlp/snli", None),
        ("Salesforce/wikitext", "wikitext-103-raw-v1"),
    ]


def test_wikitext_of_the_hub_is_cut_like_its_files_and_nothing_else_of_the_hub_is(asked):
    assert data.load("wikitext")["train"]["text"][:] == ["It is late .", "No one came ."]
    whole = data.load("wikitext", unit="paragraph", headings=True)["train"]["text"][:]
    assert whole == ["= A =", "It is late . No one came ."]
    assert data.load("yelp")["train"]["text"][1] == "It is late . No one came . \n"
    with pytest.raises(ValueError, match="'yelp' is read without unit="):
        data.load("yelp", unit="line")


def test_glue_of_the_hub_is_asked_for_by_its_task_and_loses_its_trailing_blanks(asked, monkeypatch):
    from datasets import Dataset, DatasetDict

    def load_dataset(*names):
        asked.append(names)
        return DatasetDict({"train": Dataset.from_dict({"sentence": ["hide "], "label": [0]})})

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    assert data.load("glue/sst2")["train"]["sentence"][:] == ["hide"] and asked == [("nyu-mll/glue", "sst2")]


def test_what_the_hubs_cache_holds_is_read_without_asking_and_the_hub_may_be_asked_again(asked, monkeypatch):
    from datasets import config
    from huggingface_hub import constants

    monkeypatch.setattr(hub, "reachable", lambda *patience: False)
    monkeypatch.setattr(hub, "cached", lambda name, kind: True)
    data.load("yelp")
    assert asked[-1][2] is True and config.HF_HUB_OFFLINE is constants.HF_HUB_OFFLINE is False


def test_only_a_cache_with_a_snapshot_makes_the_hub_unnecessary(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    place = tmp_path / "models--some--model" / "snapshots"
    place.mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="hub cannot be reached"):
        hub.require("some/model", kind="model", local="a folder")
    (place / "1a2b").mkdir()
    hub.require("some/model", kind="model", local="a folder")
    with pytest.raises(FileNotFoundError, match="hub cannot be reached"):
        hub.require("some/model", kind="dataset", local="a folder")


# GLUE's files once more


def test_one_file_of_a_glue_folder_is_one_split(tmp_path):
    header = "index\tsentence1\tsentence2\tlabel\n"
    for name in ("train", "dev"):
        write(tmp_path / "RTE", f"{name}.tsv", f"{header}0\t{name}.\tIt is wet.\tentailment\n")
    found = data.load(tmp_path / "RTE" / "dev.tsv")
    assert set(found) == {"validation"} and found["validation"]["sentence1"][:] == ["dev."]


def test_mnlis_halves_are_not_exchanged_and_pairs_without_agreement_have_no_label(tmp_path):
    for name in ("dev_matched", "dev_mismatched"):
        text = f"index\tsentence1\tsentence2\tgold_label\n0\t{name}\tB.\tneutral\n1\tA.\tB.\t-\n"
        write(tmp_path / "MNLI", f"{name}.tsv", text)
    for name in ("test_matched", "test_mismatched"):
        write(tmp_path / "MNLI", f"{name}.tsv", f"index\tsentence1\tsentence2\n0\t{name}\tB.\n")
    splits = data.load("glue/mnli", folder=tmp_path)
    assert {split: rows["premise"][0].replace("dev", "validation") for split, rows in splits.items()} == {
        split: split for split in ("validation_matched", "validation_mismatched", "test_matched", "test_mismatched")
    }
    assert splits["validation_matched"]["label"][:] == [1, -1] and splits["test_matched"]["label"][:] == [-1]


def test_scores_are_not_rounded_and_a_class_too_many_is_refused(tmp_path):
    write(tmp_path / "STS-B", "train.tsv", "index\tsentence1\tsentence2\tscore\n0\tA.\tB.\t3.25\n")
    assert data.load(tmp_path / "STS-B")["train"]["label"][:] == [3.25]
    write(tmp_path / "SST-2", "train.tsv", "sentence\tlabel\na\t-1\nb\t1\n")
    assert data.load(tmp_path / "SST-2")["train"]["label"][:] == [-1, 1]
    write(tmp_path / "SST-2", "train.tsv", "sentence\tlabel\na\t2\n")
    with pytest.raises(ValueError, match="has the label '2'; sst2 wants one of negative, positive"):
        data.load(tmp_path / "SST-2")


# SQuAD's own files


def test_squads_nested_file_gives_each_question_its_own_paragraph(tmp_path):
    import json

    def asked(number, text, start):
        found = [] if text is None else [{"text": text, "answer_start": start}]
        more = {"plausible_answers": [{"text": "kite", "answer_start": 6}]} if text is None else {}
        return {"id": str(number), "question": f"what {number} ?", "answers": found} | more

    paragraphs = [
        {"context": "a red kite", "qas": [asked(1, "red", 2), asked(2, None, 0)]},
        {"context": "a blue drum", "qas": [asked(3, "blue", 2)]},
    ]
    write(tmp_path, "dev.json", json.dumps({"data": [{"title": "Toys", "paragraphs": paragraphs}]}))
    rows = data.load(tmp_path)["validation"]
    assert rows["id"][:] == ["1", "2", "3"] and rows["title"][:] == ["Toys"] * 3
    assert rows["context"][:] == ["a red kite", "a red kite", "a blue drum"]
    assert rows["answers"][:] == [
        {"text": ["red"], "answer_start": [2]},
        {"text": [], "answer_start": []},  # those of people who were misled are no answers
        {"text": ["blue"], "answer_start": [2]},
    ]


def test_the_other_shop_has_its_own_rows_and_columns_may_be_named_anew(tmp_path):
    from contrast_kit.data import toyshop

    for shop in ("toyshop", "othershop"):
        assert data.load(f"{shop}/stsb")["train"][7] == pytest.approx(toyshop.rows("stsb", "train", shop)[7])
    write(tmp_path / "CoLA", "train.tsv", "gj04\t1\t\tThey left.\n")
    found = data.load(tmp_path / "CoLA" / "train.tsv", columns=("from", "good", "star", "text"))["train"]
    assert found["text"][:] == ["They left."] and found["good"][:] == [1]
