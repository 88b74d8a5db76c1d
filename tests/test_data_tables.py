"""Tables as spreadsheets, R and shells write them: rows that are cut, other separators and line ends, long fields."""

import csv

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
