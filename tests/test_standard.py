"""The standard tests: similarity, BLiMP by pseudo-log-likelihood, the table of all."""

import json
import math
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
import torch
from conftest import REAL, make_encoder

import contrast_kit as ck
from contrast_kit.__main__ import main
from contrast_kit.tasks.standard import report as reports
from contrast_kit.tasks.standard.similarity import random_twin, tf_idf

# STS


def graded(texts, scores):
    """Pairs of neighbouring texts with these scores."""
    pairs = zip(texts, texts[1:], scores, strict=False)
    return [{"sentence1": a, "sentence2": b, "label": float(y)} for a, b, y in pairs]


def test_similarity_by_hand_beside_two_that_have_learnt_nothing(encoder, texts):
    rows, few = graded(texts[:9], [1, 5, 2, 4, 3, 0, 2, 1]), texts[:3]
    first, second, scores = zip(*(row.values() for row in rows), strict=True)
    vectors = (encoder.encode(list(side)) for side in (first, second))
    cosines = ck.geometry.pair_cosines(*vectors)
    unscored = rows[0] | {"label": -1}
    found = ck.tasks.standard.sts(encoder, [*rows, unscored])
    assert found["encoder"] == pytest.approx(100 * ck.tasks.spearman(cosines, scores))
    assert list(found) == ["encoder", "random weights", "TF-IDF"]
    twin = random_twin(encoder, seed=1)
    assert not torch.equal(twin.encode(few), encoder.encode(few))
    assert twin.pooling == encoder.pooling
    assert torch.equal(twin.encode(few), random_twin(encoder, seed=1).encode(few))
    other = SimpleNamespace(encode=lambda texts: encoder.encode(texts).numpy())
    theirs = ck.tasks.standard.sts(other, rows)  # as a SentenceTransformer
    del found["random weights"]
    assert theirs == found


def test_tf_idf_by_hand():
    texts = ["red kite", "red drum", "a kite"]
    red = kite = math.log(4 / 3) + 1  # scikit-learn: ln((1 + N) / (1 + df)) + 1
    drum = math.log(4 / 2) + 1
    cosine = red * red / (math.hypot(red, kite) * math.hypot(red, drum))
    found = tf_idf([texts[0], texts[2]], [texts[1], texts[1]])
    assert found.tolist() == pytest.approx([cosine, 0.0])


MINI = Path(REAL or "", "models", "all-MiniLM-L6-v2")
SCORED = [
    Path(REAL or "", *where, "sts-test.csv")
    for where in (("STSBenchmark",), ("STS", "STSBenchmark"))
]
SCORED += [Path(REAL or "", "glue_data", "STS-B", "original", "sts-test.tsv")]


@pytest.mark.full
@pytest.mark.real_data
@pytest.mark.skipif(
    not any(file.is_file() for file in SCORED),
    reason="the scores of STS-B's test set are not there",
)
def test_sts_b_test_of_all_minilm_is_the_published_82_03():
    """Its model card's entry in mteb's table: STSBenchmark, split test, cosine, Spearman × 100."""
    file = next(file for file in SCORED if file.is_file())
    rows = ck.data.load(file)["test"]
    assert len(rows) == 1_379
    found = ck.tasks.standard.sts(ck.Encoder.from_pretrained(MINI), rows)
    assert round(found["encoder"], 2) == 82.03 and round(found["TF-IDF"], 2) == 68.93


# BLiMP


def score_by_loops(encoder, text, hidden=lambda ids, place, i: i == place):
    """Salazar et al. 2020, eq. 1, token by token; `hidden` says which are masked."""
    ids = encoder.tokenizer(text)["input_ids"]
    total = 0.0
    for place in range(1, len(ids) - 1):
        masked = [
            encoder.tokenizer.mask_token_id if hidden(ids, place, i) else id
            for i, id in enumerate(ids)
        ]
        with torch.no_grad():
            scores = encoder.model(torch.tensor([masked])).logits[0, place].double()
        total += (scores[ids[place]] - scores.exp().sum().log()).item()
    return total


def test_pseudo_log_likelihood_by_loops(encoder, texts):
    encoder.eval()
    found = ck.tasks.standard.pseudo_log_likelihoods(encoder, texts[:6])
    assert found.tolist() == pytest.approx(
        [score_by_loops(encoder, text) for text in texts[:6]], abs=1e-4
    )


@pytest.fixture(scope="module")
def of_pieces():
    """An encoder whose tokenizer knows three words whole, and others by pieces. Neighbours matter to it."""
    found = make_encoder(
        ck.data.train_tokenizer(
            ["the red kite"] * 9 + ["bcfgjlmnopqsuvwxyz"], vocab_size=70
        )
    ).eval()
    with torch.no_grad():
        for weight in found.parameters():
            weight.mul_(10)
    return found


def test_within_words_the_rest_of_a_word_is_masked_too(of_pieces):
    """Kauf and Ivanova 2023; here by the ## of WordPiece, in the code by the tokenizer's account of words."""
    inside = lambda id: of_pieces.tokenizer.convert_ids_to_tokens(id).startswith("##")  # noqa: E731

    def after(ids, place, i):
        return i >= place and all(inside(id) for id in ids[place + 1 : i + 1])  # noqa: E731

    whole, split = "the red kite", "the drums dry"
    parts = [
        sum(map(inside, of_pieces.tokenizer(text)["input_ids"]))
        for text in (whole, split)
    ]
    assert parts[0] == 0 and parts[1] > 3
    plain, found = (
        ck.tasks.standard.pseudo_log_likelihoods(of_pieces, [whole, split], whole_words=x)
        for x in (False, True)
    )
    loops = [score_by_loops(of_pieces, text, after) for text in (whole, split)]
    assert found.tolist() == pytest.approx(loops, abs=1e-4)
    assert found[0] == plain[0] and abs(found[1] - plain[1]) > 0.1


def test_words_of_the_other_side_of_a_pair_stay_visible(of_pieces, monkeypatch):
    """The first words of both sides have the number 0."""
    seen, plain = [], type(of_pieces).forward

    def forward(self, view):
        seen.extend(view["input_ids"].tolist())
        return plain(self, view)

    monkeypatch.setattr(type(of_pieces), "forward", forward)
    pair = [("kite", "red")]
    ck.tasks.standard.pseudo_log_likelihoods(of_pieces, pair, whole_words=True)
    assert [row.count(of_pieces.tokenizer.mask_token_id) for row in seen] == [1, 1]


def write_blimp(folder, pairs, field="syntax"):
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"sentence_good": good, "sentence_bad": bad, "field": field}
        for good, bad in pairs
    ]
    (folder / f"{field}_toy.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_blimp_counts_pairs_in_the_right_order(encoder, texts, tmp_path):
    scores = ck.tasks.standard.pseudo_log_likelihoods(encoder, texts[:8])
    best = [texts[row] for row in scores.argsort(descending=True)]
    right, wrong = (
        list(zip(best, best[1:], strict=False)),
        list(zip(best[1:], best, strict=False)),
    )
    write_blimp(tmp_path, right[:3] + wrong[:1])
    write_blimp(
        tmp_path, [*wrong[:1], (best[0], best[0])], "semantics"
    )  # a tie counts half
    table = ck.tasks.standard.blimp(encoder, tmp_path, progress=False)
    assert table["accuracy"].to_dict() == {
        "semantics_toy": 0.25,
        "syntax_toy": 0.75,
        "all": 0.5,
    }
    assert table["pairs"].tolist() == [2, 4, 6]
    assert table["field"].tolist() == ["semantics", "syntax", ""]
    limited = ck.tasks.standard.blimp(encoder, tmp_path, limit=3, progress=False)
    assert limited.loc["syntax_toy", ["accuracy", "pairs"]].tolist() == [1.0, 3]
    asked = ck.tasks.standard.pseudo_log_likelihoods  # any function that scores texts
    again = ck.tasks.standard.blimp(
        lambda texts: asked(encoder, texts), tmp_path, progress=False
    )
    assert again.equals(table)


# One table


@pytest.fixture
def saved(tokenizer, tmp_path):
    return make_encoder(tokenizer, pooling="mean").save_pretrained(tmp_path / "encoder")


def real_layout(folder):
    """A folder with GLUE and BLiMP in small."""
    rows = "\n".join(
        f"{'good' if i % 2 else 'bad'} toy number {i}\t{i % 2}" for i in range(40)
    )
    scores = "\n".join(
        f"{i}\tg\tf\ty\to\ts\ts\ta ball {i}\ta ball {i // 2}\t{i % 5 + 0.5}"
        for i in range(40)
    )
    header = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n"
    for split in ("train", "dev"):
        for task, text in (
            ("SST-2", "sentence\tlabel\n" + rows),
            ("STS-B", header + scores),
        ):
            (folder / "glue_data" / task).mkdir(parents=True, exist_ok=True)
            (folder / "glue_data" / task / f"{split}.tsv").write_text(text + "\n")
    write_blimp(folder / "blimp", [("a good toy", "a toy good")])
    return folder


def test_the_command_measures_a_folder_and_writes_a_table(saved, tmp_path, capsys):
    source = str(real_layout(tmp_path / "real"))
    told = ["evaluate", str(saved), "--data", source, "--limit", "30", "--quiet"]
    assert main(told) == 0
    table = pandas.read_csv(saved / "evaluation.csv")
    assert list(dict.fromkeys(table["part"])) == ["glue", "sts", "blimp", "geometry"]
    names = table["measurement"].tolist()
    assert names[:2] == ["sst2 probe, accuracy", "stsb probe, spearman"]
    assert "STS-B validation, Spearman" in names and "BLiMP all" in names
    assert table["value"].notna().all() and "uniformity" in capsys.readouterr().out
    assert ck.Encoder.from_pretrained(saved).width == 32  # the folder still opens


def test_the_folder_that_train_wrote_is_measured(saved, tmp_path, capsys):
    """And what has no baseline has a dash, as where it says what the baseline is."""
    shutil.copytree(saved, tmp_path / "run" / "encoder")
    source = ["--data", str(real_layout(tmp_path / "real")), "--only", "geometry"]
    assert main(["evaluate", str(tmp_path / "run"), *source, "--quiet"]) == 0
    assert (tmp_path / "run" / "evaluation.csv").is_file()
    told = capsys.readouterr().out
    assert "NaN" not in told and told.count("–") == 8


def test_without_data_the_toyshop_is_measured(saved, monkeypatch):
    few = [ck.tasks.load(f"toyshop/{name}") for name in ("cola", "stsb")]
    # eight tasks take a minute
    monkeypatch.setattr(reports, "_tasks", lambda folder: few)
    table = ck.tasks.standard.evaluate(saved, limit=60, progress=False)
    table = table.set_index("measurement")
    cola = table.loc["cola probe, mcc"]
    assert cola["baseline"] == 0 and "60 rows" in cola["data"]
    similar = table.loc["toyshop/stsb validation, Spearman"]
    assert similar["baseline is"] == "TF-IDF" and "blimp" not in set(table["part"])


def probed(encoder, data):
    rows = (data.train, data.validation)
    return ck.tasks.linear_probe(encoder, *rows, task=data.task)


def test_the_numbers_of_the_report_are_those_of_the_rooms(saved, texts, tmp_path):
    encoder, source = ck.Encoder.from_pretrained(saved), real_layout(tmp_path / "real")
    write_blimp(source / "blimp", list(zip(texts[:30], texts[30:60], strict=True)))
    for first, split in ((0, "train"), (60, "dev")):
        file = source / "glue_data" / "STS-B" / f"{split}.tsv"
        rows = [
            ["x"] * 7 + [texts[first + i], texts[first + i + 1], str(i % 6)]
            for i in range(50)
        ]
        file.write_text(
            "\n".join([file.read_text().split("\n")[0], *map("\t".join, rows)])
        )
    train, dev = (
        source / "glue_data" / "SST-2" / f"{split}.tsv" for split in ("train", "dev")
    )
    lines = train.read_text().splitlines()
    train.write_text(
        "\n".join([*lines, "fine\t1", "dull\t0", "very dull\t0", "dull again\t0"])
    )
    dev.write_text("\n".join(lines[:30] + ["a good toy\t1"] * 4))
    table = ck.tasks.standard.evaluate(
        encoder, source, limit=None, pairs=29, progress=False
    )
    found = table.set_index("measurement")[
        ["value", "random weights", "baseline"]
    ].astype(float)
    told = ["stsb probe, spearman", "BLiMP all", "alignment", "uniformity"]
    assert (
        found.loc[told, "value"] != found.loc[told, "random weights"]
    ).all()  # so that an exchange is seen
    sst2, stsb = (
        ck.tasks.load(source / "glue_data" / name) for name in ("SST-2", "STS-B")
    )
    for column, each in (("value", encoder), ("random weights", random_twin(encoder))):
        of = found[column]
        assert of["sst2 probe, accuracy"] == 100 * probed(each, sst2)["accuracy"]
        assert of["stsb probe, spearman"] == pytest.approx(
            100 * probed(each, stsb)["spearman"]
        )
        minimal = ck.tasks.standard.blimp(
            each, source / "blimp", limit=29, progress=False
        )
        assert of["BLiMP all"] == 100 * minimal["accuracy"]["all"]
        similar = [row for row in stsb.validation if row["label"] >= 4]
        a, b = (
            each.encode([row[name] for row in similar])
            for name in ("sentence1", "sentence2")
        )
        assert of["alignment"] == pytest.approx(
            ck.geometry.alignment(a, b).item(), rel=1e-5
        )
        texts = {*stsb.validation["sentence1"], *stsb.validation["sentence2"]}
        assert of["uniformity"] == pytest.approx(
            ck.geometry.uniformity(each.encode(sorted(texts))).item(), rel=1e-4
        )
    scores = ck.tasks.standard.sts(encoder, stsb.validation)
    found_here = found.loc["STS-B validation, Spearman"].tolist()
    assert found_here == pytest.approx(list(scores.values()))
    right = [
        row["label"] == 0 for row in sst2.validation
    ]  # the most frequent class of the training rows
    assert found["baseline"]["sst2 probe, accuracy"] == 100 * np.mean(right)


@pytest.mark.parametrize("told", [
    {"architectures": ["BertModel"]},
    {"taught_without_words": "ELECTRA's"},
])  # fmt: skip
def test_a_folder_without_a_trained_head_gets_no_blimp(saved, tmp_path, told):
    source = write_blimp(tmp_path / "data" / "blimp", [("a", "b")]).parent
    encoder = ck.Encoder.from_pretrained(saved)
    assert ck.tasks.standard.has_word_head(encoder)
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps(config | told))
    with pytest.raises(ValueError, match="blimp also needs a trained vocabulary head"):
        ck.tasks.standard.evaluate(saved, source, parts=("blimp",), progress=False)
    vars(encoder.model.config).update(told)  # before it is saved, too
    assert not ck.tasks.standard.has_word_head(encoder)
