"""Tables as spreadsheets, R and shells write them: rows that are cut, other separators and line ends, long fields."""

import csv
import json

import pytest

from contrast_kit import data


def load(folder, text, name="a.csv", **options):
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return data.load(folder / name, **options)["train"]


@pytest.mark.parametrize("rows", ["1,a b\n0\n1,e f\n", '1,"a\nb"\n0\n', "1,a\n\n0,b,c\n"])
def test_a_row_that_is_cut_is_refused_by_its_line_not_filled_with_an_empty_text(tmp_path, rows):
    line = 3 if rows.startswith("1,a b") else 4
    with pytest.raises(ValueError, match=rf"a.csv is not an even table \(line {line} .*as many fields as the first"):
        load(tmp_path, "label,text\n" + rows)


def test_separators_at_the_end_and_fields_that_others_leave_empty_may_lack(tmp_path):
    assert load(tmp_path, "text,label\na,1,\nb,0,\n")[:] == {"text": ["a", "b"], "label": [1, 0]}
    rows = "text\tlabel\tlabel1\tlabel2\na\t1\tx\t\nb\t0\ty\n"  # as MultiNLI's are
    assert load(tmp_path, rows, "a.tsv")[1] == {"text": "b", "label": 0, "label1": "y", "label2": ""}
    with pytest.raises(ValueError, match="line 3 ends after 2 of 4 fields"):
        load(tmp_path, rows.replace("\ty\n", "\n"), "a.tsv")


def test_a_lone_cr_ends_no_row_where_nothing_is_quoted(tmp_path):
    found = load(tmp_path, "label\ttext\r\n1\ta b\rc d\r\n0\te f\r\n", "a.tsv")
    assert found[:] == {"label": [1, 0], "text": ["a b\rc d", "e f"]}
    for name, between in (("a.tsv", "\t"), ("a.csv", ",")):  # old Macs' files have no other line ends
        found = load(tmp_path, f"label{between}text\r1{between}a b\r0{between}c\r", name)
        assert found[:] == {"label": [1, 0], "text": ["a b", "c"]}


@pytest.mark.parametrize("start", ["", "\ufeff", "sep=;\n", "sep=;\r\n"])
def test_excels_semicolons(tmp_path, start):
    found = load(tmp_path, start + 'text;label;score\na, b;1;4,5\n"c; d";0;3\n')
    assert found[:] == {"text": ["a, b", "c; d"], "label": [1, 0], "score": [4.5, 3.0]}
    assert load(tmp_path, "sep=|\ntext|label\na, b; c|1\n")[:] == {"text": ["a, b; c"], "label": [1]}
    assert load(tmp_path, "text,label\na;b,1\n")[:] == {"text": ["a;b"], "label": [1]}


def test_blanks_around_the_names_of_columns_are_no_part_of_them(tmp_path):
    assert load(tmp_path, "text, label \na b, 1\nc d, 0\n")[:] == {"text": ["a b", "c d"], "label": [1, 0]}


def test_a_text_may_be_longer_than_the_standard_librarys_limit(tmp_path):
    long, limit = "x" * 140_000, csv.field_size_limit()
    for start in ("", "label,text\n"):
        assert load(tmp_path, f'{start}1,"{long}"\n0,"b"\n')["text"][:] == [long, "b"]
    assert csv.field_size_limit() == limit


def test_a_quote_that_is_left_open_is_found_by_its_line(tmp_path):
    with pytest.raises(ValueError, match="the quote in line 3 is left open"):
        load(tmp_path, 'label,text\n1,a\n0,"b\n1,c\n')
    assert len(load(tmp_path, 'label,text\n1,a\n0,"b\n1,c\n', quoted=False)) == 3
    with pytest.raises(ValueError, match="a.csv is empty: give a file with a row of column names"):
        load(tmp_path, "\n")


def test_what_a_column_holds_is_asked_of_the_whole_column(tmp_path):
    """Else a long file's numbers stay numbers up to the part in which the first word stands."""
    rows = "".join(f"{at},a\n" for at in range(300_000))
    found = load(tmp_path, f"id,text\n{rows}x7,b\n")
    assert found["id"][:2] == ["0", "1"] and found["id"][-1] == "x7"


@pytest.mark.parametrize("order", ["little", "big"])
def test_another_unicode_is_named_and_the_remedy_works(tmp_path, order):
    text = "text,label\ngr\xfcn,1\n"
    file, mark = tmp_path / "a.csv", b"\xff\xfe" if order == "little" else b"\xfe\xff"
    with pytest.raises(ValueError, match="not UTF-8") as error:
        load(tmp_path, mark + text.encode("utf-16-le" if order == "little" else "utf-16-be"))
    exec(str(error.value).partition("for example with ")[2].rstrip("."), {"path": file})
    assert data.load(file)["train"][0] == {"text": "gr\xfcn", "label": 1}


def test_half_an_emoji_is_refused_by_its_row(tmp_path):
    lines = ['{"text": "a", "tags": ["b"]}\n', '{"text": "a \\ud83d", "tags": ["b"]}\n', '{"text": "c", "tags": []}\n']
    with pytest.raises(ValueError, match="Row 1 of .*a.jsonl has half a character.*column 'text': write it whole"):
        load(tmp_path, "".join(lines), "a.jsonl")
    with pytest.raises(ValueError, match="Row 0 .*column 'tags'"):
        load(tmp_path, lines[1].replace("b", "\\ud83d").replace("a \\ud83d", "a"), "b.jsonl")
    tokenizer = data.train_tokenizer(["a b c"], vocab_size=60)
    for make in (data.Texts, lambda rows, tokenizer: data.Stream(iter(rows), tokenizer)):
        with pytest.raises(ValueError, match="Row 1 of column 'text' has half a character"):
            make(["a", "b \ud83d"], tokenizer)
    whole = load(tmp_path, '{"text": "a \\ud83d\\ude00"}\n', "c.jsonl")
    assert whole["text"][:] == ["a \U0001f600"]


def jsonl(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_nested_json_of_two_kinds_is_refused_by_its_column(tmp_path):
    for one, two in (({"n": 1}, {"n": "x"}), ([1], ["x"]), (2**70, 1)):
        with pytest.raises(ValueError, match="a.jsonl holds values .* inside its column 'meta'.*leave that column out"):
            load(tmp_path, jsonl({"text": "a", "meta": one}, {"text": "b", "meta": two}), "a.jsonl")
    with pytest.raises(ValueError, match="must hold a list of objects"):
        load(tmp_path, '{"data": [1, 2]}', "a.json")


def test_files_of_one_split_have_one_kind_of_values(tmp_path):
    write = lambda name, text: (tmp_path / name).write_text(text)  # noqa: E731
    write("train1.csv", "text,label,id\na,3,1\n"), write("train2.csv", "text,id,label\nb,2,3.5\n")
    found = data.load(tmp_path)["train"]
    assert found[:] == {"text": ["a", "b"], "label": [3.0, 3.5], "id": [1, 2]}
    write("train2.csv", "text,id,label\nb,x7,3\n")
    with pytest.raises(ValueError, match="'id' holds whole numbers in .*train1.csv and text in .*train2.csv: give it"):
        data.load(tmp_path)


def test_shards_of_classes_keep_their_names_and_are_not_mixed(tmp_path):
    from datasets import ClassLabel, Dataset, Features, Value

    def shard(name, classes, label, number):
        features = Features({"text": Value("string"), "label": ClassLabel(names=classes), "id": Value(number)})
        Dataset.from_dict({"text": ["a"], "label": [label], "id": [1]}, features=features).to_parquet(tmp_path / name)

    shard("train1.parquet", ["no", "yes"], 1, "int64"), shard("train2.parquet", ["no", "yes"], 0, "float64")
    found = data.load(tmp_path)["train"]
    assert found["label"][:] == [1, 0] and found.features["label"].names == ["no", "yes"] and found["id"][:] == [1, 1]
    shard("train2.parquet", ["yes", "no"], 0, "int64")
    with pytest.raises(ValueError, match="the classes no, yes in .* and the classes yes, no in .*train2"):
        data.load(tmp_path)


def test_a_class_behind_its_text_is_found_and_named_columns_are_left_as_they_are(tmp_path):
    assert load(tmp_path, "It is fine.,1\nIt is bad.,0\n")[:] == {
        "text": ["It is fine.", "It is bad."],
        "label": [1, 0],
    }
    found = load(tmp_path, "1,It is bad.\n2,It is fine.\n", columns=("label", "text"))
    assert found["label"][:] == [1, 2]  # counted from 0 only where the layout is recognized as Amazon's or Yelp's


def test_quotes_enclose_a_tab_and_a_line_of_blanks_is_no_row(tmp_path):
    assert load(tmp_path, 'text\tlabel\n"a\tb"\t1\nc\t0\n', "a.tsv")["text"][:] == ["a\tb", "c"]
    assert load(tmp_path, "text,label\na,1\n  \nb,0\n")["text"][:] == ["a", "b"]
    with pytest.raises(ValueError, match="the quote in line 2 is left open"):
        load(tmp_path, 'sep=;\n"text;label\na;1\n')


def test_tabs_between_fields_of_a_csv(tmp_path):
    rows = "".join(f"a, b, and c\t{at}\tx\n" for at in range(3))
    assert load(tmp_path, "text\tlabel\tnote\n" + rows)["text"][:] == ["a, b, and c"] * 3
