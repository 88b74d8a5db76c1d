"""Names of classes get the integers of their task, not of the alphabet; files are read as their authors meant."""

import json
import signal
from pathlib import Path

import pytest
from conftest import REAL, real_data
from datasets import ClassLabel, Dataset, DatasetDict

from contrast_kit import data
from contrast_kit.data import Texts, glue, labels, train_tokenizer
from contrast_kit.data.prose import split_sentences
from contrast_kit.data.rows import as_rows, column


def write(folder, name, text):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


# Named labels

NAMED = [task for task in glue.TASKS.values() if task.label_names]


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "tsv"])
@pytest.mark.parametrize("task", NAMED, ids=lambda task: task.name)
def test_every_named_task_of_glue_gets_glues_integers_from_every_kind_of_file(task, form, tmp_path):
    rows = [{"text": f"Text {name}", "label": name} for name in reversed(task.label_names)]
    file = tmp_path / task.folder.replace("-", "_") / f"some.{form}"
    file.parent.mkdir()
    if form in ("csv", "tsv"):
        Dataset.from_list(rows).to_csv(file, sep="," if form == "csv" else "\t", index=False)
    else:
        file.write_text(json.dumps(rows) if form == "json" else "\n".join(map(json.dumps, rows)))
    found = data.load(file)["train"]
    assert found.features["label"].names == list(task.label_names) == glue.TASKS[task.name].features()["label"].names
    assert found["label"][:] == list(reversed(range(len(task.label_names))))


def test_multinlis_own_json_lines(tmp_path):
    gold = ["neutral", "-", "entailment", "contradiction"]
    rows = [{"gold_label": name, "sentence1": f"p{i}", "sentence2": f"h{i}"} for i, name in enumerate(gold)]
    write(tmp_path, "multinli_1.0_dev_matched.jsonl", "\n".join(map(json.dumps, rows)))
    found = data.load(tmp_path)["validation_matched"]
    assert found[:] == {"premise": ["p0", "p2", "p3"], "hypothesis": ["h0", "h2", "h3"], "label": [1, 0, 2]}
    assert found.features["label"].names == ["entailment", "neutral", "contradiction"]
    write(tmp_path, "test.jsonl", '{"sentence1": "p", "sentence2": "h"}')  # beside them: no column of labels at all
    beside = data.load(tmp_path)
    assert beside["validation_matched"]["label"][:] == [1, 0, 2] and "label" not in beside["test"].column_names
    write(tmp_path, "multinli_1.0_dev_mismatched.jsonl", json.dumps(rows[0]))
    assert data.load(tmp_path)["validation_mismatched"]["label"][:] == [1]
    unlabelled = [{**row, "gold_label": "hidden"} for row in rows]
    write(tmp_path, "test.jsonl", json.dumps(unlabelled[0]))
    beside = data.load(tmp_path)
    assert beside["validation_matched"]["label"][:] == [1, 0, 2] and beside["test"]["label"][:] == [-1]
    nobody = write(tmp_path / "nobody", "dev.jsonl", json.dumps({**rows[0], "gold_label": "-"}))
    assert len(data.load(nobody)["validation"]) == 0, "no class of its own"
    write(tmp_path / "test", "test.jsonl", "\n".join(map(json.dumps, unlabelled)))
    assert data.load(tmp_path / "test")["test"]["label"][:] == [-1] * 4


def test_the_labels_of_every_split_decide_together(tmp_path):
    write(tmp_path, "train.jsonl", '{"text": "a", "label": "entailment"}\n{"text": "b", "label": "contradiction"}')
    write(tmp_path, "dev.jsonl", '{"text": "c", "label": "Neutral"}')
    splits = data.load(tmp_path)
    assert splits["train"]["label"][:] == [0, 2] and splits["validation"]["label"][:] == [1]


def test_two_tasks_have_the_same_names_in_another_order(tmp_path):
    text = "sentence1,sentence2,label\nA,B,entailment\nC,D,not_entailment\n"
    assert data.load(write(tmp_path, "WNLI/mine.csv", text))["train"]["label"][:] == [1, 0]
    for name in ("rte_small.csv", "WNLI/rte_small.csv"):  # what stands nearest to the rows decides
        assert data.load(write(tmp_path, name, text))["train"]["label"][:] == [0, 1]
    unknown = write(tmp_path, "mine.csv", text)
    with pytest.raises(ValueError, match=r"qnli and rte and wnli, which number them differently.*labels=\("):
        data.load(unknown)
    assert data.load(unknown, labels=("not_entailment", "entailment"))["train"]["label"][:] == [1, 0]


def test_names_that_are_a_tasks_only_in_part_are_refused(tmp_path):
    rows = "text,label\na,entailment\nb,contradiction\nc,unknown\n"
    with pytest.raises(ValueError, match="only in part.*labels="):
        data.load(write(tmp_path, "a.csv", rows))
    names = ("unknown", "contradiction", "entailment")
    assert data.load(tmp_path / "a.csv", labels=names)["train"]["label"][:] == [2, 1, 0]
    with pytest.raises(ValueError, match="'unknown' is none of entailment, contradiction"):
        data.load(tmp_path / "a.csv", labels=names[:0:-1])


def test_other_names_are_alphabetical_and_numbers_in_their_own_order(tmp_path):
    three = data.load(write(tmp_path, "a.csv", "text,label\na,positive\nb,neutral\nc,negative\n"))["train"]
    assert three.features["label"].names == ["negative", "neutral", "positive"]
    rows = [{"text": "a", "label": str(number)} for number in (10, 9, 2)]
    numbers = data.load(write(tmp_path, "b.json", json.dumps(rows)))["train"]
    assert numbers.features["label"].names == ["2", "9", "10"] and numbers["label"][:] == [2, 1, 0]


def test_number_labels_of_rows_and_data_sets():
    rows = [{"text": name, "label": name} for name in ("contradiction", "entailment")] + [{"text": "", "label": None}]
    assert [row["label"] for row in data.number_labels(rows)] == [2, 0, None]
    numbered = data.number_labels(Dataset.from_list(rows))
    assert numbered["label"][:] == [2, 0, None] and isinstance(numbered.features["label"], ClassLabel)
    assert [row["label"] for row in data.number_labels(rows, ("contradiction", "entailment"))][:2] == [0, 1]
    with pytest.raises(ValueError, match="no column 'gold'"):
        data.number_labels(rows, label="gold")
    with pytest.raises(TypeError, match="leave such labels as they are"):
        data.number_labels([{"label": 1}], names=("a", "b"))
    with pytest.raises(
        ValueError, match=r"row 0 has 'contradiction': number names with data.number_labels\(splits\), all"
    ):
        Texts(rows[:2], train_tokenizer(["contradiction", "entailment"], vocab_size=60))
    assert labels.order({"Not-Entailment", "entailment"}, hint="data/QNLI") == ["entailment", "not_entailment"]


def test_number_labels_advises_its_own_argument():
    for names, given, says in (
        (("entailment", "not_entailment"), None, r"differently.*, names=\('entailment', 'not_entailment'\)"),
        (("entailment", "unknown"), None, "only in part.*, names="),
        (("ham", "spam"), ("ham", "eggs"), "'spam' is none of ham, eggs: give all names, names="),
    ):
        rows = [{"label": name} for name in names]
        for of in (rows, {"train": rows}):
            with pytest.raises(ValueError, match=says):
                data.number_labels(of, given)
    assert data.number_labels([{"label": "entailment"}], names=("entailment", "not_entailment")) == [{"label": 0}]


def test_number_labels_of_all_splits_gives_them_one_numbering():
    splits = {"train": ["neg", "neu", "pos"], "test": ["pos", "neu"]}
    splits = {split: [{"text": name, "label": name} for name in names] for split, names in splits.items()}
    numbered = data.number_labels(splits)
    assert [row["label"] for row in numbered["train"]] == [0, 1, 2] and type(numbered) is dict
    assert [row["label"] for row in numbered["test"]] == [2, 1]
    both = data.number_labels(DatasetDict({split: Dataset.from_list(rows) for split, rows in splits.items()}))
    assert isinstance(both, DatasetDict) and both["test"]["label"][:] == [2, 1]
    assert both["test"].features["label"].names == ["neg", "neu", "pos"]
    assert [row["label"] for row in data.number_labels(splits, ("pos", "neu", "neg"))["test"]] == [0, 1]
    with pytest.raises(ValueError, match="no column 'label'; the columns are text"):
        data.number_labels(splits | {"more": [{"text": "a"}]})
    with pytest.raises(ValueError, match="no rows: this is an empty dict"):
        data.number_labels({})


@pytest.mark.real_data
@real_data
def test_real_multinli_in_both_of_its_forms_agrees_with_glue():
    folder = Path(REAL, "hub_form_samples", "multi_nli", "multinli_1.0")
    lines = data.load(folder)
    names = ["entailment", "neutral", "contradiction"]
    for split, file in (("train", "train"), ("validation_matched", "dev_matched")):
        raw = [json.loads(line) for line in Path(folder, f"multinli_1.0_{file}.jsonl").read_text().splitlines()]
        assert [names[label] for label in lines[split]["label"]] == [row["gold_label"] for row in raw]
        table = data.load(folder / f"multinli_1.0_{file}.txt")[split]
        rows = dict(zip(lines[split]["premise"], lines[split]["label"], strict=True))  # the samples differ in length
        assert len(table) >= 2 and [rows[text] for text in table["premise"]] == table["label"][:]


# Files without column names


def test_cola_keeps_its_first_row_by_its_file_and_by_its_path(tmp_path):
    rows = "gj04\t1\t\tThey left.\nbc01\t0\t*\tLeft they the.\n"
    for name in ("in_domain_train.tsv", "CoLA/train.tsv"):
        train = data.load(write(tmp_path, name, rows))["train"]
        assert train["sentence"][:] == ["They left.", "Left they the."] and train["label"][:] == [1, 0], name


def test_official_amazon_and_yelp_keep_their_first_row_and_count_from_zero(tmp_path):
    amazon = write(tmp_path, "amazon/train.csv", '"2","Great","A ""fine"" CD."\n"1","Bad","No."\n')
    found = data.load(amazon)["train"]
    assert found[:] == {"label": [1, 0], "title": ["Great", "Bad"], "content": ['A "fine" CD.', "No."]}
    yelp = write(tmp_path, "yelp/test.csv", '"1","Terrible staff."\n"2","I had, well, fun."\n')
    assert data.load(yelp)["test"][:] == {"label": [0, 1], "text": ["Terrible staff.", "I had, well, fun."]}


def test_textfoolers_files_keep_their_first_row(tmp_path):
    lines = "".join(f"{i % 2} text number {i}\n" for i in range(6))
    for name in ("mr", "mr.txt"):
        found = data.load(write(tmp_path, name, lines))["train"]
        assert found["label"][:] == [0, 1] * 3 and found["text"][0] == "text number 0"
    pairs = write(tmp_path, "snli", "contradiction\tIt rains.\tIt is dry.\nneutral\tA dog.\tIt barks.\n")
    assert data.load(pairs)["train"][0] == {"label": 2, "premise": "It rains.", "hypothesis": "It is dry."}
    with pytest.raises(ValueError, match="one line has none: 'no number'"):
        data.load(write(tmp_path, "bad.txt", lines * 20 + "no number\n"))
    numbered = write(tmp_path, "list.txt", "".join(f"{i} is a number. It is fine.\n" for i in range(6)))
    assert len(data.load(numbered)["train"]) == 12  # a numbered list is prose


def test_the_sts_benchmarks_own_files_with_ragged_ends(tmp_path):
    start = 'main-captions\tMSRvid\t2012test\t0024\t2.500\tA girl, styling.\tA "girl" brushes.\n'
    rows = start + "main-news\tMSRpar\t2012\t0005\t4.0\tHe spoke.\tHe said.\thttp://a\thttp://b\n"
    for name in ("sts-test.csv", "sts-test.tsv"):
        found = data.load(write(tmp_path, name, rows))["test"]
        assert found["label"][:] == [2.5, 4.0] and found["sentence2"][:] == ['A "girl" brushes.', "He said."]
    with pytest.raises(ValueError, match="Line 3 of .* has 3 of 7 fields: a line is genre"):
        data.load(write(tmp_path, "cut-test.csv", rows + "main\tMSR\t2012\n"))
    with pytest.raises(ValueError, match="Line 3 of .*word-test.csv has the score 'two': a line is genre"):
        data.load(write(tmp_path, "word-test.csv", rows + start.replace("2.500", "two")))


def test_a_first_line_that_names_nothing_is_refused_in_a_sentence_that_works(tmp_path):
    file = write(tmp_path, "pairs.tsv", "It rains today.\tRain falls.\nHe left us.\tHe went.\n")
    with pytest.raises(ValueError, match=r"names no columns: give the names of its 2 columns, columns=\('column1'"):
        data.load(file)
    found = data.load(file, columns=("sentence1", "sentence2"))["train"]
    assert found["sentence1"][:] == ["It rains today.", "He left us."]
    with pytest.raises(ValueError, match="has 2 columns, but columns= names 3"):
        data.load(file, columns=("a", "b", "c"))
    named = write(tmp_path, "named.tsv", "one\ttwo\nA.\tB.\n")
    assert data.load(named, columns=("one", "two"))["train"]["one"][:] == ["A."]  # not a row of data


def test_an_uneven_table_is_refused_in_a_sentence_that_works(tmp_path):
    file = write(tmp_path, "a.csv", "text,label\nball,0\nbox,1,2\n")
    with pytest.raises(ValueError, match="give each row as many fields as the first"):
        data.load(file)
    file = write(tmp_path, "b.csv", 'text,label\n"ball,0\nbox,1\n')
    with pytest.raises(ValueError, match="try quoted=False"):
        data.load(file)
    assert data.load(file, quoted=False)["train"]["label"][:] == [0, 1]


# Text that is not quite text


def test_printed_bytes_become_text(tmp_path):
    csv = write(tmp_path, "a.csv", 'label,text\n0,b\'caf\\xc3\\xa9\'\n1,"b""it\'s"""\n')
    assert data.load(csv)["train"]["text"][:] == ["café", "it's"]
    lines = write(tmp_path, "a.jsonl", "\n".join(json.dumps({"text": t}) for t in ("b'one'", "b'two'")))
    assert data.load(lines)["train"]["text"][:] == ["one", "two"]
    prose = write(tmp_path, "a.txt", "b'One came.'\nb'Two left.'\n")
    assert data.load(prose)["train"]["text"][:] == ["One came.", "Two left."]
    mixed = write(tmp_path, "b.txt", "b'One came.'\nTwo left.\n")
    assert data.load(mixed, unit="line")["train"]["text"][:] == ["b'One came.'", "Two left."]


def test_markdown_without_headings_and_code(tmp_path):
    text = "# Emma\n## Jane Austen\n\nShe was handsome. She was clever.\n\n```\nprint(1)\n```\n#1 is text\n"
    file = write(tmp_path, "emma.md", text)
    kept = ["She was handsome.", "She was clever.", "#1 is text"]
    assert data.load(file)["train"]["text"][:] == kept
    assert data.load(file, headings=True, unit="line")["train"]["text"][:2] == ["# Emma", "## Jane Austen"]
    write(tmp_path / "both", "notes.md", text)
    write(tmp_path / "both", "a.csv", "text,label\nball,0\n")
    assert data.load(tmp_path / "both")["train"]["label"][:] == [0]  # notes beside data are no data


def test_sst2_ends_where_its_sentences_end(tmp_path):
    write(tmp_path / "SST-2", "train.tsv", "sentence\tlabel\nhide new secretions \t0\n")
    write(tmp_path / "SST-2", "test.tsv", "index\tsentence\n0\tuneasy mishmash\n")
    splits = data.load(tmp_path / "SST-2")
    assert splits["train"]["sentence"][:] == ["hide new secretions"]
    tokenizer = train_tokenizer(["hide new secretions"], vocab_size=300, kind="bpe")
    assert Texts(splits["train"], tokenizer)[0]["input_ids"][-2] != tokenizer("a ")["input_ids"][-2]
    hub = glue.without_trailing_blanks(
        type(splits)({"train": Dataset.from_dict({"sentence": ["hide "], "label": [0]})}), glue.TASKS["sst2"]
    )
    assert hub["train"]["sentence"][:] == ["hide"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Il est tard. Évidemment. À bientôt…", ["Il est tard.", "Évidemment.", "À bientôt…"]),
        ("Привет. Как дела? Хорошо.", ["Привет.", "Как дела?", "Хорошо."]),
        ("¿Qué hora es? ¡Tarde! Ya.", ["¿Qué hora es?", "¡Tarde!", "Ya."]),
        ("Er kam. «Ja.» Öl brennt.", ["Er kam.", "«Ja.»", "Öl brennt."]),
        ("今天下雨。我们走吧！好吗？", ["今天下雨。", "我们走吧！", "好吗？"]),
        ("यह घर है। वह गया।", ["यह घर है।", "वह गया।"]),
        ("É. Zola wrote it… but late. No", ["É. Zola wrote it… but late.", "No"]),
    ],
)
def test_sentences_end_beyond_ascii(text, sentences):
    assert split_sentences(text) == sentences


# Rows without an end


class Endless:
    """A data set that has a length, and an answer for every number."""

    def __len__(self):
        return 3

    def __getitem__(self, at):
        return {"text": f"a ball {at}", "label": at}


def test_a_data_set_without_index_error_is_walked_through_once():
    def too_long(*_):
        raise TimeoutError("it walks on and on")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(20)
    try:
        assert len(as_rows(Endless())) == 3 and column(Endless(), "label") == [0, 1, 2]
        assert len(Texts(Endless(), train_tokenizer(["a ball 0 1 2"], vocab_size=60))) == 3
        assert data.sentences(Endless()) == ["a ball 0", "a ball 1", "a ball 2"]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_column_is_read_whole_not_row_by_row(monkeypatch):
    rows = Dataset.from_dict({"label": [1, 0, 1], "text": ["a", "b", "c"]}).shuffle(seed=0)
    wanted = [rows[at]["label"] for at in range(3)]

    def walked(*_):
        raise AssertionError("a walk through a Column takes up to 400 times as long")

    monkeypatch.setattr(type(rows["label"]), "__iter__", walked)
    assert column(rows, "label") == wanted


def test_names_that_differ_in_case_or_blanks_are_one_class():
    rows = [{"text": "a", "label": name} for name in ("spam", "Spam", "ham", "ham ")]
    numbers = [row["label"] for row in data.number_labels(rows)]
    assert numbers == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="Row 1 has an empty label"):
        data.number_labels([{"label": "spam"}, {"label": ""}])


def test_what_programs_write_for_no_value_is_no_class(tmp_path):
    """R writes NA, pandas nan, Python None; as a class it would be one more, and might move the others."""
    for word in ("NA", "N/A", "nan", "null", "None", "#N/A"):
        for others in ("1,0", "4.5,3.25"):
            rows = "".join(f"a,{label}\n" for label in (*others.split(","), word))
            with pytest.raises(
                ValueError, match=f"Row 2 of 'train' has the label '{word}' where others are numbers: fill"
            ):
                data.load(write(tmp_path, "a.csv", "text,label\n" + rows))
        named = [{"text": word, "label": name} for name in ("neg", word, "pos")]
        with pytest.raises(ValueError, match=rf"Row 1 has the label '{word}', .* leave the row out; .* names=\("):
            data.number_labels(named)
        file = write(tmp_path, "b.json", json.dumps(named))
        with pytest.raises(ValueError, match=r"Row 1 of 'train' has the label .* labels=\("):
            data.load(file)
        found = data.load(file, labels=("neg", word, "pos"))["train"]  # it is a class, then
        assert found["label"][:] == [0, 1, 2] and found["text"][:] == [word] * 3
        assert data.load(write(tmp_path, "test.csv", f"text,label\na,{word}\n"))["test"]["label"][:] == [-1]


def test_minus_one_as_a_string_is_no_label_either(tmp_path):
    rows = [{"text": "a", "label": name} for name in ("0", "1", "-1")]
    found = data.load(write(tmp_path, "a.json", json.dumps(rows)))["train"]
    assert found["label"][:] == [0, 1, -1] and found.features["label"].names == ["0", "1"]
    assert [row["label"] for row in data.number_labels(rows)] == [0, 1, -1]
    signs = [{"text": "a", "label": name} for name in ("1", "-1")]  # as many programs write two classes
    assert [row["label"] for row in data.number_labels(signs)] == [1, 0]
    assert [row["label"] for row in data.number_labels(rows, names=("-1", "0", "1"))] == [1, 2, 0]
    test = write(tmp_path, "test.json", json.dumps(rows[2:]))
    assert data.load(test)["test"]["label"][:] == [-1]


def test_rows_that_hold_labels_alone_are_numbered(tmp_path):
    found = data.number_labels(Dataset.from_dict({"label": ["spam", "ham"]}))
    assert found["label"] == [1, 0] and found.features["label"].names == ["ham", "spam"]
    assert data.load(write(tmp_path, "test.csv", 'label\n""\n""\n'))["test"]["label"][:] == [-1, -1]


@pytest.mark.parametrize("value", [2, 0.5, True])
def test_labels_that_are_no_names_are_not_numbered(value):
    with pytest.raises(TypeError, match=f"Names of classes are numbered, and {value} is none: leave such labels"):
        data.number_labels([{"label": value}, {"label": value}])
    with pytest.raises(ValueError, match="No row has a label, so there is nothing to number"):
        data.number_labels([{"label": None}])


def test_a_label_beside_a_gold_label_is_the_label(tmp_path):
    rows = [{"text": "a", "gold_label": "neutral", "label": 0}, {"text": "b", "gold_label": "neutral", "label": 1}]
    assert data.load(write(tmp_path, "a.json", json.dumps(rows)))["train"]["label"][:] == [0, 1]


def test_names_in_the_large_strings_of_other_libraries_are_names(tmp_path):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(
        {"text": ["a", "b"], "label": pyarrow.array(["positive", "negative"], pyarrow.large_string())}
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    found = data.load(tmp_path / "a.parquet")["train"]
    assert found["label"][:] == [1, 0] and found.features["label"].names == ["negative", "positive"]


def test_empty_labels_of_training_rows_are_no_secret(tmp_path):
    with pytest.raises(ValueError, match="Row 0 of 'train' has the label 'NA'"):
        data.load(write(tmp_path, "train.csv", "text,label\na,NA\nb,NA\n"))


def test_the_halves_of_a_test_split_may_be_unlabelled_and_classes_in_another_order_leave_them_so(tmp_path):
    for name in ("test_matched", "test_mismatched"):
        write(tmp_path, f"{name}.csv", "text,label\na,\n")
    assert {split: rows["label"][:] for split, rows in data.load(tmp_path).items()} == {
        "test_matched": [-1],
        "test_mismatched": [-1],
    }
    named = Dataset.from_dict({"label": [0, 1, -1]}).cast_column("label", ClassLabel(names=["bad", "good"]))
    assert labels.in_order({"test": named}, ("good", "bad"))["test"]["label"][:] == [1, 0, -1]
