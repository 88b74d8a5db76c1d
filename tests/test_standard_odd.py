"""The standard tests on what real files and models hold: pairs, empty lines, other headers, heads taken off."""

import math

import pytest
import torch
from conftest import ONE_LAYER, make_encoder
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

import contrast_kit as ck
from contrast_kit.tasks.standard.controls import TfIdf, random_twin

PAIRS = [("a red kite", "it flies"), ("the small drum", "the door")]


@pytest.fixture
def bert(tokenizer):
    """An encoder that reads token types, with weights so large that they make a difference."""
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})  # which makes token types
    config = BertConfig(vocab_size=len(tokenizer), **ONE_LAYER, pad_token_id=tokenizer.pad_token_id)
    encoder = ck.Encoder(BertForMaskedLM(config), tokenizer)
    torch.manual_seed(0)
    for weight in encoder.model.base_model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return encoder.eval()


def test_pairs_are_scored_with_their_token_types(bert):
    tokenizer, encoder = bert.tokenizer, bert
    found = ck.tasks.standard.pseudo_log_likelihoods(encoder, PAIRS)
    for (first, second), score in zip(PAIRS, found, strict=True):
        given = tokenizer(first, second, return_tensors="pt")
        assert given["token_type_ids"].any()
        total = 0.0
        for place, word in enumerate(given["input_ids"][0].tolist()):
            if word in tokenizer.all_special_ids:
                continue
            copy = dict(given) | {"input_ids": given["input_ids"].clone()}
            copy["input_ids"][0, place] = tokenizer.mask_token_id
            with torch.no_grad():
                total += encoder.mlm_logits(encoder(copy)[0, place : place + 1]).log_softmax(-1)[0, word].item()
        assert score.item() == pytest.approx(total, rel=1e-5)


def test_copies_of_one_spelling_but_other_types_are_two(bert):
    texts = ["a red [SEP] kite", ("a red", "kite")]
    assert bert.tokenizer(texts[0])["input_ids"] == bert.tokenizer(*texts[1])["input_ids"]
    alone = [ck.tasks.standard.pseudo_log_likelihoods(bert, [text]).item() for text in texts]
    assert ck.tasks.standard.pseudo_log_likelihoods(bert, texts).tolist() == pytest.approx(alone, rel=1e-5)
    assert alone[0] != pytest.approx(alone[1], rel=1e-3)


@pytest.mark.parametrize("text", ["[SEP]", "\u200b", "[CLS] [SEP]"])
def test_a_text_without_a_word_is_refused_not_best(text, tokenizer):
    with pytest.raises(ValueError, match="Text 1 holds no word to score"):
        ck.tasks.standard.pseudo_log_likelihoods(make_encoder(tokenizer), ["a red kite", text])


def test_a_text_that_is_cut_is_told(tokenizer):
    encoder = make_encoder(tokenizer)
    long = " ".join(["kite"] * encoder.max_length)
    with pytest.warns(UserWarning, match=f"1 texts are longer than {encoder.max_length} tokens"):
        ck.tasks.standard.pseudo_log_likelihoods(encoder, ["a kite", long])


def test_one_phenomenon_may_be_named_alone_and_counts_once(tokenizer, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_text('{"sentence_good": "a red kite", "sentence_bad": "kite a red"}\n')
    score = lambda texts: torch.arange(len(texts)).double()  # noqa: E731
    for phenomena in ("one", ["one", "one"]):
        table = ck.tasks.standard.blimp(score, tmp_path, phenomena=phenomena, progress=False)
        assert list(table.index) == ["one", "all"]
    for phenomena in (5, [["one"]], {"one": 1}):
        with pytest.raises(TypeError, match="phenomena"):
            ck.tasks.standard.blimp(score, tmp_path, phenomena=phenomena, progress=False)


def test_one_part_of_the_report_may_be_named_alone(tokenizer):
    found = ck.tasks.standard.evaluate(make_encoder(tokenizer), parts="geometry", limit=50, progress=False)
    assert set(found.table["part"]) == {"geometry"}


def test_only_a_part_that_was_asked_for_is_told_to_be_left_out(tokenizer, tmp_path):
    with pytest.raises(ValueError, match="measure: Geometry was left out") as raised:
        ck.tasks.standard.evaluate(make_encoder(tokenizer), tmp_path, parts="geometry", progress=False)
    assert "GLUE was" not in str(raised.value)


def test_nothing_to_measure_is_one_sentence_with_a_name(tokenizer, tmp_path):
    for source, name in ((None, "The toyshop"), (tmp_path, str(tmp_path))):
        with pytest.raises(ValueError, match="holds nothing to measure: BLiMP was left out: .* was given") as raised:
            ck.tasks.standard.evaluate(make_encoder(tokenizer), source, parts="blimp", progress=False)
        assert str(raised.value).startswith(f"{name} holds") and not str(raised.value).endswith("..")


def test_the_twin_has_the_same_head_and_the_same_lengths(tokenizer):
    encoder = make_encoder(tokenizer)
    encoder.normalizes = True
    ck.objectives.COCOLM(encoder)
    twin = random_twin(encoder)
    assert not twin.projection and twin.normalizes
    assert not twin.model.get_output_embeddings().bias.requires_grad
    assert random_twin(make_encoder(tokenizer)).projection


def test_texts_without_any_word_have_cosine_0():
    cosines = TfIdf(["!", "?"]).cosines(["!", "?"], ["?", "?"])
    assert cosines.tolist() == [0.0, 0.0]
    table = ck.tasks.standard.sts(Counts(), {"marks": [("!", "?", 1.0), ("?", "!", 2.0), ("!", "!", 3.0)]})
    assert math.isfinite(table.loc["TF-IDF", "marks"])


class Counts:
    def encode(self, texts, batch_size=64):
        return torch.tensor([[1.0, len(text)] for text in texts])


START = "main-captions\tMSRvid\t2012test\t0024\t"


def year(folder, pairs, scores, subset="mine"):
    home = folder / "STS12-en-test"
    home.mkdir(exist_ok=True)
    (home / f"STS.input.{subset}.txt").write_text(pairs)
    (home / f"STS.gs.{subset}.txt").write_text(scores)


@pytest.mark.parametrize(
    ("pairs", "scores", "words"),
    [
        ("a kite\ta drum\nno tab here\n", "1\n2\n", r"Line 2 of .*STS\.input\.mine\.txt is not two texts and a score"),
        ("a kite\ta drum\na\tb\n", "1\nx\n", r"Line 2 of .* is not two texts and a score, but \('a', 'b', 'x'\)"),
        ("a kite\ta drum\na\tb\n", "1\nnan\n", r"Line 2 of .* is not two texts and a score, but \('a', 'b', 'nan'\)"),
        ("", "", "STS12 mine in .* has no pair with a score: leave its file out"),
        ("a kite\ta drum\n", "\n", "STS12 mine in .* has no pair with a score: leave its file out"),
    ],
)
def test_a_line_that_is_no_pair_and_a_file_without_pairs_are_named(pairs, scores, words, tmp_path):
    year(tmp_path, pairs, scores)
    with pytest.raises(ValueError, match=words):
        ck.tasks.standard.read_sts(tmp_path)


def test_sick_with_another_header_or_a_short_line_is_named(tmp_path):
    (tmp_path / "SICK").mkdir()
    file = tmp_path / "SICK" / "SICK_test_annotated.txt"
    file.write_text("pair_ID\tfirst\tsecond\tscore\n1\ta\tb\t2\n")
    with pytest.raises(ValueError, match="has no column 'sentence_A'; its first line names pair_ID, first"):
        ck.tasks.standard.read_sts(tmp_path)
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n"
    file.write_text(f"{header}1\ta\tb\t2\n2\ta\n")
    with pytest.raises(ValueError, match="Line 3 of .* is not two texts and a score"):
        ck.tasks.standard.read_sts(tmp_path)
    file.write_text(header)
    with pytest.raises(ValueError, match="SICK-R in .* has no pair with a score"):
        ck.tasks.standard.read_sts(tmp_path)


@pytest.mark.parametrize(
    ("line", "has"),
    [
        (START + "two\tA girl.\tA woman.", "the score 'two'"),
        (START + "\tA girl.\tA woman.", "the score ''"),
        (START + "nan\tA girl.\tA woman.", "the score 'nan'"),
        (START + "2.5\tA girl.", "6 of 7 fields"),
        ("main-captions,MSRvid,2012test,0024,2.5,A girl.,A woman.", "1 of 7 fields"),
    ],
)
@pytest.mark.parametrize("before", ["", f"{START}1\tA.\tB.\thttp://c\n\n"], ids=["first", "third"])
def test_a_line_of_the_sts_benchmark_is_named_with_what_it_should_be(line, has, before, tmp_path):
    (tmp_path / "STSBenchmark").mkdir()
    file = tmp_path / "STSBenchmark" / "sts-test.csv"
    file.write_text(f"{before}{line}\n{START}1\tA.\tB.\n")
    with pytest.raises(ValueError) as told:
        ck.tasks.standard.read_sts(tmp_path)
    should = "genre, file, year, number, score (from 0 to 5) and two texts, with a tab between each two"
    assert str(told.value) == f"Line {3 if before else 1} of {file} has {has}: a line is {should}."


def test_the_sts_benchmark_may_name_its_columns_but_must_be_there(tmp_path):
    home = tmp_path / "STSBenchmark"
    home.mkdir()
    with pytest.raises(FileNotFoundError, match="no file .*sts-test.csv: get it again, or leave its folder out"):
        ck.tasks.standard.read_sts(tmp_path)
    (home / "sts-test.csv").write_text('"sentence1","sentence2","label"\n"A, or B","C",2.5\n"D","E",-1\n')
    assert ck.tasks.standard.read_sts(tmp_path) == {"STS-B": {"": [("A, or B", "C", 2.5)]}}
    (home / "sts-test.csv").write_text("")
    with pytest.raises(ValueError, match="STS-B in .* has no pair with a score"):
        ck.tasks.standard.read_sts(tmp_path)


def test_a_folder_without_rows_is_no_task(tmp_path):
    (tmp_path / "STS12-en-test").mkdir()
    with pytest.raises(FileNotFoundError, match="holds none of STS12-en-test"):
        ck.tasks.standard.read_sts(tmp_path)
    with pytest.raises(ValueError, match="The task 'mine' has no rows: leave it out"):
        ck.tasks.standard.sts(Counts(), {"mine": {}})


def test_a_score_that_is_no_number_is_not_blamed_on_the_model():
    with pytest.raises(ValueError, match="A label is not a finite number") as told:
        ck.tasks.standard.sts(Counts(), {"mine": [("a", "bb", 1.0), ("c", "dd", math.nan), ("e", "f", 2.0)]})
    assert not isinstance(told.value, ck.checks.NotFiniteError)
    with pytest.raises(ck.checks.NotFiniteError, match="A prediction is not finite: the model"):
        ck.tasks.spearman([math.nan, 1.0], [1.0, 2.0])
