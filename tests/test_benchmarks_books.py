"""The encoders that come with the kit, made and examined at their smallest."""

import csv
import json
import math
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from conftest import REAL, benchmark_script, make_encoder, real_data
from torch import nn

import contrast_kit as ck
from contrast_kit.data import toyshop

FIRSTS = ("mlm", "cmlm", "electra", "post-electra", "post-coco-lm", "coco-lm")
SAID = {"post-electra": "post-electra (bf16, seed 1)"}
STARTS = {"cmlm": "half-mlm", "post-electra": "kit/books-mlm"}
STARTS["post-coco-lm"] = STARTS["post-electra"]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_each_method_is_made_once_and_cmlm_begins_with_masked_lm(
    monkeypatch, tmp_path, capsys
):
    bench, texts = benchmark_script("books"), toyshop.corpus(340)
    divided = texts[:300], texts[300:]
    monkeypatch.setitem(bench["main"].__globals__, "divided", lambda books: divided)
    homes = [bench["home"](tmp_path, "mlm", None, seed).name for seed in (0, 1)]
    assert homes == ["mlm", "mlm-seed-1"]
    assert bench["quarters"](11_000) == [2_500, 5_500, 8_000]  # of what is saved
    short = dict(save_every=1, log_every=1, batch_size=16, max_length=32)
    for name, value in short.items():
        monkeypatch.setitem(bench["TRAINING"], name, value)
    begun, fit, dropped = [], ck.fit, set()

    def watched_fit(objective, *arguments, **settings):
        dropouts = (part for part in objective.modules() if type(part) is nn.Dropout)
        dropped.update(dropout.p for dropout in dropouts)
        run = fit(objective, *arguments, **settings)
        home = Path(settings["folder"]).parent
        begun.append((home.name, (home / "seconds.csv").read_text()))
        return run

    monkeypatch.setattr(ck, "fit", watched_fit)

    def make(method):
        folders = f"--folder {tmp_path} --out {tmp_path} --keep {tmp_path}/kept/{method}"
        command = f"books.py {method} --books none --steps 2 {folders}".split()
        if method in SAID:
            command += ["--precision", "bf16", "--seed", "1"]
        monkeypatch.setattr(sys, "argv", command)
        begun.clear()
        bench["main"]()
        return begun.copy(), capsys.readouterr().out

    def written():
        names = ("encoders", "curves", "held_out")
        return [(tmp_path / f"books_{name}.csv").read_text() for name in names]

    for method in FIRSTS:
        asked, told = make(method)
        place = bench["home"](tmp_path, method, 2, int(method in SAID)).name
        # CMLM goes on from masked LM.
        first = ["half-mlm-2"] if method == "cmlm" else []
        assert [name for name, _ in asked] == [*first, place]
        plain, kept = method in ("mlm", "cmlm"), tmp_path / "kept" / method
        assert ("loss_of_frequencies" in told) == plain
        assert (kept / "copy_head.safetensors").exists() != plain
        kept = ck.Encoder.from_pretrained(kept)
        # For whoever fine-tunes it.
        assert kept.width == 256 and kept.model.config.hidden_dropout_prob == 0.1
        # Half of its steps.
        assert (tmp_path / place / "encoder-1" / "model.safetensors").is_file()
    # In the encoder and in what is made beside it, as COCO-LM's auxiliary.
    assert dropped == {0.0}
    tables = written()
    encoders = list(csv.DictReader(tables[0].splitlines()))
    assert [(row["method"], row["start"], row["steps"]) for row in encoders] == [
        (SAID.get(name, name), STARTS.get(name, "new weights"), "2") for name in FIRSTS
    ]
    assert all(float(row["seconds"]) > 0 for row in encoders)
    weights = tmp_path / f"{method}-2" / "encoder" / "model.safetensors"
    before = weights.read_bytes()
    # What is made is opened: no step is taken or noted again, and nothing recorded twice.
    again, _ = make(method)
    assert before == weights.read_bytes() and tables == written()
    assert again == [asked[-1]]


def test_processor_seconds_add_up_over_sittings(tmp_path):
    """The second sitting goes on at 100, the third, too, and repeats 150."""
    sittings = [
        (50, 10, 0),
        (100, 20, 0),
        (150, 31, 0),
        (150, 12, 0),
        (200, 20, 0),
        (150, 13, 0),
        (200, 24, 0),
    ]
    (tmp_path / "seconds.csv").write_text(
        "\n".join(",".join(map(str, row)) for row in sittings)
    )
    found = benchmark_script("books")["processor_seconds"](tmp_path)
    assert found == {50: 10, 100: 20, 150: 33, 200: 44}


@pytest.mark.filterwarnings("ignore")
def test_a_run_that_was_stopped_is_not_taken_for_a_whole_one(monkeypatch, tmp_path):
    bench = benchmark_script("books")
    texts = toyshop.corpus(340)
    monkeypatch.setitem(
        bench["main"].__globals__, "divided", lambda books: (texts[:300], texts[300:])
    )
    monkeypatch.setitem(bench["TRAINING"], "batch_size", 16)
    fit = ck.fit

    def stopped(*arguments, **settings):
        run = fit(*arguments, **settings | {"steps": 1, "folder": None, "resume": False})
        run.interrupted = True
        return run

    monkeypatch.setattr(ck, "fit", stopped)
    monkeypatch.setattr(
        sys,
        "argv",
        ["books.py", "mlm", "--books", "none", "--folder", str(tmp_path), "--steps", "2"],
    )
    with pytest.raises(KeyboardInterrupt):
        bench["main"]()
    assert not (tmp_path / "mlm-2" / "encoder").exists()
    monkeypatch.setattr(ck, "fit", fit)
    monkeypatch.setitem(
        bench["main"].__globals__, "divided", None
    )  # the sentences are kept
    bench["main"]()
    assert (tmp_path / "mlm-2" / "encoder").is_dir()
    assert list(bench["processor_seconds"](tmp_path / "mlm-2")) == [
        1,
        2,
    ]  # of both sittings


@pytest.mark.full
@real_data
@pytest.mark.filterwarnings("ignore")
def test_the_exam_asks_each_encoder_and_new_weights_and_goes_on(
    monkeypatch, tmp_path, tokenizer
):
    bench = benchmark_script("books_exam")
    make_encoder(tokenizer).save_pretrained(tmp_path / "encoder")
    for name, value in {"CHOSEN_ON": 20, "RATES": bench["RATES"][:2]}.items():
        monkeypatch.setitem(bench["main"].__globals__, name, value)
    sizes = "--tasks mrpc stsb --rows 20 --epochs 1 --limit 20 --pairs 1"
    folders = f"{tmp_path}/encoder --data {REAL} --out {tmp_path}"
    command = f"books_exam.py {folders} {sizes}".split()
    monkeypatch.setattr(sys, "argv", [*command, "--seeds", "0"])
    bench["main"]()
    rows = read(tmp_path)
    tuned = [row for row in rows if row["part"] == "fine-tuned"]
    assert [row["encoder"] for row in tuned] == [tmp_path.name] * 2 + ["new weights"] * 2
    assert all(float(row["lr"]) in bench["RATES"] for row in tuned)
    parts = {"glue", "sts", "blimp", "geometry", "fine-tuned"}
    assert {row["part"] for row in rows} == parts
    both = [tmp_path.name, "new weights"]
    assert {row["encoder"] for row in rows} >= {*both, "TF-IDF", "chance"}
    within = [row for row in rows if "within words" in row["measurement"]]
    assert [row["encoder"] for row in within] == both
    monkeypatch.setattr(sys, "argv", [*command, "--seeds", "0", "1"])
    bench["main"]()
    again = read(tmp_path)
    assert (
        again[: len(rows)] == rows
        and [row["seed"] for row in again[len(rows) :]] == ["1"] * 4
    )


@pytest.mark.filterwarnings("ignore")
def test_minimal_pairs_are_asked_of_the_copy_head_beside_an_encoder(tokenizer, tmp_path):
    bench, texts = benchmark_script("books_exam"), toyshop.corpus(20)
    kept = {
        kind: kind(make_encoder(tokenizer))
        for kind in (ck.objectives.COCOLM, ck.objectives.ELECTRA)
    }
    (tmp_path / "blimp").mkdir()
    pairs = [
        {"sentence_good": good, "sentence_bad": bad}
        for good, bad in zip(texts, texts[1:], strict=False)
    ]
    (tmp_path / "blimp" / "toy.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    table = bench["Results"](
        tmp_path / "exam.csv", ("encoder", "part", "measurement", "sizes", "seed")
    )
    for kind, objective in kept.items():
        torch.nn.init.normal_(objective.copy_head.w.weight)
        home = str(objective.save_pretrained(tmp_path / kind.__name__))
        scores = bench["copied"](objective.eval(), texts)
        if kind is ck.objectives.COCOLM:  # its own reading, one text at a time
            alone = [
                sum(math.log(found.p_copy) for found in objective.correct([text])[0])
                for text in texts
            ]
            assert scores.tolist() == pytest.approx(alone, rel=1e-4)
        options = Namespace(data=tmp_path, pairs=19)
        for _ in range(2):  # measured once
            bench["detected"](kind.__name__, home, options, table)
        right = 100 * (scores[:-1] > scores[1:]).double().mean().item()
        assert float(table.rows[-1]["value"]) == pytest.approx(right, abs=0.01)
    bench["detected"](
        "alone",
        str(make_encoder(tokenizer).save_pretrained(tmp_path / "alone")),
        options,
        table,
    )
    assert len(table.rows) == 2


def read(folder):
    with (folder / "books_exam.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_pre_training_beside_the_trainer_learns_as_much_of_the_same_texts(
    monkeypatch, tmp_path
):
    from datasets import Dataset

    rows = Dataset.from_dict({"text": toyshop.corpus(1_200)})
    monkeypatch.setattr(ck.data, "load", lambda name: {"train": rows})
    bench = benchmark_script("pretraining")
    names, batch, read, told = bench["one"].__globals__, 32, [], []
    monkeypatch.setitem(names, "BATCH", batch)
    monkeypatch.setitem(
        names, "held_out_loss", lambda encoder, unseen, texts: {"of": encoder}
    )
    for name in bench["CONTENDERS"]:
        found = bench["one"](
            name, Namespace(steps=4, words=300, precision="float32", books=None)
        )
        told.append(found["tokens_a_second"] * found["seconds"])
        read.append(found["of"])
    loss = [books_loss(encoder, rows["text"][:100]) for encoder in read]
    assert min(told) > 4 * batch * 5 and max(told) < 1.2 * min(
        told
    )  # tokens, in whatever batches they come
    assert loss == pytest.approx([loss[0]] * 6, abs=0.2) and max(loss) < math.log(300)


def books_loss(encoder, unseen):
    return benchmark_script("books")["held_out_loss"](
        encoder, unseen, ck.data.Texts(unseen, encoder.tokenizer)
    )["loss"]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_ten_minutes_from_tokens_to_encoders(monkeypatch, tmp_path):
    bench, texts, fit = benchmark_script("ten_minutes"), toyshop.corpus(700), ck.fit
    toy = dict(num_hidden_layers=1, hidden_size=32, num_attention_heads=2)
    for name, value in {
        "divided": lambda books: (texts[:600], texts[600:]),
        "SHAPE": toy | {"intermediate_size": 64},
        "WORDS": 300,
        "LENGTH": 24,
        "TRAINING": bench["TRAINING"] | dict(batch_size=16, max_length=24, log_every=1),
    }.items():
        monkeypatch.setitem(bench["main"].__globals__, name, value)
    (tmp_path / "blimp").mkdir()
    pair = json.dumps({"sentence_good": texts[0], "sentence_bad": texts[1]})
    (tmp_path / "blimp" / "toy.jsonl").write_text("\n".join([pair] * 30))
    home = tmp_path / "home"

    def run(*options):
        command = ["ten_minutes.py", *options, "--folder", str(home)]
        monkeypatch.setattr(sys, "argv", command)
        bench["main"]()

    run("prepare", "--books", "none", "--data", str(tmp_path))
    assert len((home / "blimp" / "toy.jsonl").read_text().splitlines()) == 20

    def pulled(objective, *arguments, callback, **options):
        stop = [callback, ck.Run.stop][type(objective) is ck.objectives.ELECTRA]
        return fit(objective, *arguments, callback=stop, **options)

    monkeypatch.setattr(ck, "fit", pulled)
    with pytest.raises(SystemExit, match="goes on"):
        run("train", "--seconds", "4")
    monkeypatch.setattr(ck, "fit", fit)
    rows = (home / "ten_minutes.csv").read_text()
    run("train", "--seconds", "4")
    assert (home / "ten_minutes.csv").read_text().startswith(rows)
    table = ck.data.recorded("ten_minutes", home).set_index(["stage", "part"])["value"]
    for stage, share in bench["STAGES"].items():
        assert table[stage, "steps"] >= 1
        assert table[stage, "seconds"] < 4 * share + 2  # cut, or at its last step
        kept = next((home / stage / "encoder").glob("*.safetensors"))
        assert b"F16" in kept.read_bytes()[:9999]
    parts = {"BLiMP", "loss_of_frequencies", "copy_acc_replaced", "clm_acc_replaced"}
    assert parts | {"contrast"} <= {part for _, part in table.index}
