"""SQuAD 2.0: windows and places, answers, the threshold, EM and F1 as the official script defines them."""

import re
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from byte_pairs import byte_pairs
from conftest import make_encoder

import contrast_kit as ck
from contrast_kit import tasks
from contrast_kit.data import toyshop
from contrast_kit.data.squad import Windows
from contrast_kit.tasks import answers, protocols, squad
from contrast_kit.tasks.span import Span


@pytest.fixture(scope="module")
def questions():
    return toyshop.rows("squad", "train")[:300]


@pytest.fixture(scope="module")
def vocabulary(questions):
    lines = [row["context"] for row in questions] + [row["question"] for row in questions]
    return ck.data.train_tokenizer(lines, vocab_size=900)


def question(context, text=None, **more):
    found = {"text": [], "answer_start": []}
    if text is not None:
        found = {"text": [text], "answer_start": [context.index(text)]}
    return {"id": "1", "question": "who ?", "context": context, "answers": found} | more


# Windows


@pytest.mark.parametrize("train", [ck.data.train_tokenizer, byte_pairs])
def test_every_answer_is_read_back_from_its_places(questions, train):
    lines = [row[name] for row in questions for name in ("context", "question")]
    tokenizer = train(lines, 900)
    windows = Windows(questions, tokenizer, max_length=512)
    assert len(windows) == len(questions)
    places = zip(windows.start.tolist(), windows.end.tolist(), strict=True)
    for i, (row, place) in enumerate(zip(windows.rows, places, strict=True)):
        assert windows.answer(i, *place) == (row["answers"]["text"] or [""])[0]


def test_a_long_paragraph_becomes_windows_that_share_the_stride(questions, vocabulary):
    context = " ".join(row["context"] for row in questions[:12])
    needle = context[1200:1210].strip()
    windows = Windows([question(context, needle)], vocabulary, max_length=60, stride=20)
    assert len(windows) > 4 and set(windows.row_of.tolist()) == {0}
    assert int(windows.lengths.max()) <= 60
    tokens = []
    for first, length in zip(windows.starts, windows.lengths, strict=True):
        here = slice(first, first + length)
        inside = windows.answerable[here].clone()
        inside[0] = False
        spans = windows.offsets[here][inside].tolist()
        if tokens:
            assert tokens[-20:] == spans[:20]  # what two windows share
            spans = spans[20:]
        tokens += spans
    whole = vocabulary(context, add_special_tokens=False, return_offsets_mapping=True)
    # together they are the paragraph, nothing twice or lost
    assert [tuple(span) for span in tokens] == whole["offset_mapping"]
    assert (windows.start > 0).any() and (windows.start == 0).any()


def test_only_the_paragraph_and_cls_can_answer(questions, vocabulary):
    batch = Windows(questions[:9], vocabulary).batch(range(9))
    tokens = [
        vocabulary.convert_ids_to_tokens(row.tolist()) for row in batch["input_ids"]
    ]
    for row, allowed in zip(tokens, batch["answerable"].tolist(), strict=True):
        question_end = row.index("[SEP]")
        assert allowed[0] and not any(allowed[1 : question_end + 1])
        last = row.index("[SEP]", question_end + 1)
        assert all(allowed[question_end + 1 : last]) and not any(allowed[last:])


@pytest.mark.parametrize("start", [-1, 1, 9])
def test_answers_that_are_not_where_they_are_said_to_be_are_refused(vocabulary, start):
    row = question("a kite", answers={"text": ["a kite"], "answer_start": [start]})
    with pytest.raises(
        ValueError,
        match=f"Row 1: the answer 'a kite' is not at character {start} of its context",
    ):
        Windows([question("a kite"), row], vocabulary)


# The objective


def test_the_loss_is_the_mean_of_two_cross_entropies_over_the_paragraph_and_cls(
    questions, vocabulary
):
    objective = Span(make_encoder(vocabulary, max_length=256), dropout=0.0).eval()
    with torch.no_grad():
        objective.out.weight.mul_(40)
        batch = Windows(questions[:7], vocabulary, 256).batch(range(7))
        hidden, by_hand, right = objective.encoder(batch), 0.0, 0
        for b in range(7):
            found = []
            for i, name in enumerate(("start", "end")):
                scores = {}
                for t in batch["answerable"][b].nonzero().flatten().tolist():
                    scores[t] = float(
                        hidden[b, t] @ objective.out.weight[i] + objective.out.bias[i]
                    )
                total = np.logaddexp.reduce(list(scores.values()))
                by_hand += (total - scores[int(batch[name][b])]) / 14
                found.append(max(scores, key=scores.get))
            right += found == [int(batch["start"][b]), int(batch["end"][b])]
        parts = objective(batch)
    assert float(parts["loss"]) == pytest.approx(by_hand, rel=1e-4)
    assert float(parts["exact"]) == pytest.approx(right / 7)


def test_chunks_and_padding_change_nothing(questions, vocabulary):
    from contrast_kit.training.gradient import gradient

    windows = Windows(questions[:8], vocabulary, 256)

    def grads(batch, **options):
        objective = Span(make_encoder(vocabulary, max_length=300), dropout=0.0)
        parts, _ = gradient(objective, [batch], **options)
        return parts["loss"], objective.out.weight.grad

    whole = windows.batch(range(8))
    wider, fills = dict(whole), {"input_ids": windows.pad_id, "token_type_ids": 0}
    fills |= {"attention_mask": 0, "maskable": False, "answerable": False}
    for name in fills.keys() & whole.keys():
        wider[name] = torch.nn.functional.pad(whole[name], (0, 9), value=fills[name])
    expected = grads(whole)
    for other in (grads(whole, chunk_size=3), grads(wider)):
        for one, two in zip(expected, other, strict=True):
            assert torch.allclose(one, two, atol=1e-5)


# EM and F1


def official(prediction, golds):
    """The script's definition, transcribed otherwise: characters one by one, words counted off."""
    marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

    def words(text):
        kept = "".join(" " if c.isspace() else c for c in text.lower() if c not in marks)
        # an article is a whole word: no letter, digit or underscore beside it
        for article in ("a", "an", "the"):
            kept = re.sub(rf"(?<!\w){article}(?!\w)", " ", kept)
        return [word for word in kept.split(" ") if word]

    ems, f1s, said = [], [], words(prediction)
    for gold in [gold for gold in golds if words(gold)] or [""]:
        wanted = words(gold)
        left, same = list(wanted), 0
        for word in said:
            if word in left:
                left.remove(word)
                same += 1
        ems.append(said == wanted)
        f1s.append(
            2 * same / (len(said) + len(wanted)) if said and wanted else said == wanted
        )
    return max(ems), max(f1s)


def test_em_and_f1_equal_an_independent_transcription_on_1000_random_predictions():
    rng, rows, predictions = Random(1), [], {}
    bits = [
        *[
            "the",
            "a",
            "An",
            "kite",
            "Kite",
            "red-hot",
            "U.S.",
            "don't",
            "7,000",
            "theory",
            "—",
            "é",
            "drum",
            "?",
        ],
        "  ",
        "\t",
        "",
    ]
    for i in range(1000):
        golds = [
            " ".join(rng.choices(bits, k=rng.randint(1, 5)))
            for _ in range(rng.randint(0, 3))
        ]
        said = rng.choice([*golds, " ".join(rng.choices(bits, k=rng.randint(0, 5)))])
        rows.append(
            {"id": str(i), "answers": {"text": golds, "answer_start": [0] * len(golds)}}
        )
        predictions[str(i)] = said
    each = np.array(
        [official(predictions[row["id"]], row["answers"]["text"]) for row in rows]
    )
    has = np.array([bool(row["answers"]["text"]) for row in rows])
    scores = answers.score(predictions, rows)
    for name, part in {"": each, "HasAns_": each[has], "NoAns_": each[~has]}.items():
        found = [scores[f"{name}{metric}"] for metric in ("exact", "f1", "total")]
        assert found == pytest.approx([*100 * part.mean(0), len(part)])
    assert (
        15 < scores["exact"] < 85 and scores["f1"] > scores["exact"]
    )  # neither all nor none


def test_the_best_of_several_golds_counts():
    row = {
        "id": "1",
        "answers": {"text": ["in the attic", "attic", "the"], "answer_start": [0, 0, 0]},
    }
    assert answers.golds(row) == [
        "in the attic",
        "attic",
    ]  # "the" is nothing once normalised
    assert answers.scores_of("The attic!", row) == (1.0, 1.0)
    assert answers.scores_of("an attic room", row) == (0.0, pytest.approx(2 / 3))
    with pytest.raises(ValueError, match="occurs twice"):
        answers.score({"1": ""}, [row, row])


# No answer


def test_the_threshold_is_the_best_of_all():
    """Against a loop over every threshold that makes a difference, ties among the null scores included."""
    rng = np.random.default_rng(2)
    for _ in range(30):
        rows, said = [], {}
        for i in range(25):
            text = ["kite"] if rng.random() < 0.6 else []
            rows.append(
                {"id": str(i), "answers": {"text": text, "answer_start": [0] * len(text)}}
            )
            said[str(i)] = (
                "kite" if rng.random() < 0.6 else "drum",
                float(rng.integers(-4, 5)),
            )
        tried = [-np.inf, *sorted({null for _, null in said.values()})]
        f1s = [answers.score(answers.apply_threshold(said, t), rows)["f1"] for t in tried]
        best = answers.best_threshold(said, rows)
        assert answers.score(answers.apply_threshold(said, best), rows)[
            "f1"
        ] == pytest.approx(max(f1s))


def test_each_half_is_answered_by_the_threshold_of_the_other(monkeypatch):
    """One half has all answers and the other none: each half's own threshold is right there, and wrong on the other."""
    rows = [
        question(f"kite {i // 2}", None if i // 2 % 2 else "kite", id=str(i))
        for i in range(12)
    ]
    said = {row["id"]: ("kite", 0.0) for row in rows}
    chosen, real = [], answers.best_threshold

    def watched(answers, rows, *metric):
        chosen.append({row["context"] for row in rows})
        return real(answers, rows, *metric)

    monkeypatch.setattr(squad, "best_threshold", watched)
    scores = squad.evaluate_across(said, rows)
    assert (
        not chosen[0] & chosen[1] and len(chosen[0] | chosen[1]) == 6
    )  # no paragraph in both
    assert scores["f1"] == scores["exact"] == 0 and scores["best_f1"] == 50
    assert scores["total"] == 12
    with pytest.raises(ValueError, match="There are no rows"):  # of one paragraph
        squad.evaluate_across(said, rows[:2])


def test_the_best_spans_are_those_of_a_search_over_all():
    rng = np.random.default_rng(0)
    for _ in range(20):
        logits = rng.normal(size=(14, 2))
        logits[[1, 2, 3, 13]] = -np.inf  # the question, padding
        every = {
            (i, j): logits[i, 0] + logits[j, 1]
            for i in range(4, 13) for j in range(i, min(i + 4, 13))
        }  # fmt: skip
        best = sorted(every, key=lambda at: -every[at])[:5]
        found = squad.spans(logits, n=14, max_answer=4)
        assert [at[:2] for at in found[:5]] == best
        assert found[0][2] == pytest.approx(every[best[0]])


def test_of_several_windows_the_best_answer_counts(questions, vocabulary):
    objective = Span(make_encoder(vocabulary, max_length=128)).eval()
    reader = squad.Reader(objective, max_length=60, stride=20)
    with torch.no_grad():
        objective.out.weight.mul_(50)
    rows = []
    for i, row in enumerate(questions[:4]):
        context = " ".join(other["context"] for other in questions[i : i + 3])
        none = {"text": [], "answer_start": []}
        rows.append(row | {"context": context, "answers": none})
    said = reader.answers([row | {"answers": None} for row in rows])
    windows = Windows(rows, vocabulary, 60, stride=20)
    assert len(windows) > 6
    for number, row in enumerate(rows):
        nulls, best = [], []
        for i in (windows.row_of == number).nonzero().flatten().tolist():
            with torch.no_grad():
                logits = objective.logits(windows.batch([i]))[0].numpy()
            nulls.append(logits[0].sum())
            start, end, value = squad.spans(logits, 200)[0]
            best.append((value, windows.answer(i, start, end)))
        value, text = max(best)
        assert said[row["id"]] == (text, pytest.approx(min(nulls) - value, abs=1e-4))


# Runs


def test_a_reader_learns_where_the_answer_stands(vocabulary):
    """A task of one rule, so that seconds suffice: the answer is the word after "by"; without a "by" there is none."""
    names, rng, rows = ("Clara", "Otto", "Rosa", "Hugo", "Henry"), Random(0), []
    for i in range(240):
        name, toy = rng.choice(names), rng.choice(("kites", "trains", "castles"))
        context, answer = f"On Monday {name} bought six {toy} .", None
        if rng.random() < 2 / 3:
            context, answer = f"On Monday six {toy} were bought by {name} .", name
        asked = f"By whom were {toy} bought?"
        rows.append(question(context, answer, id=str(i), question=asked))
    start = make_encoder(vocabulary, num_hidden_layers=2, max_length=64)
    before = tasks.weights_hash(start)
    how = dict(epochs=10, batch_size=20, lr=4e-3, max_length=64, stride=8)
    reader = squad.fine_tune(start, rows[:200], **how)
    scores = reader.evaluate(rows[200:], reader.choose_threshold(rows[:200]))
    nothing = answers.score({row["id"]: "" for row in rows}, rows[200:])
    assert scores["f1"] > 85 > 60 > nothing["f1"] and scores["NoAns_exact"] > 80
    assert tasks.weights_hash(start) == before and reader.run.steps == 100


QUICK = dict(epochs={None: 1}, lr=1e-3, batch_size=16, seeds=(0, 1))


def test_the_protocol_runs_goes_on_and_refuses_other_settings(
    questions, vocabulary, tmp_path, monkeypatch
):
    data = {"train": questions[:32], "validation": questions[32:50]}
    start, quick = (
        make_encoder(vocabulary, max_length=256),
        replace(protocols.SQUAD, **QUICK),
    )
    go = dict(folder=tmp_path, max_length=256)
    first = squad.run(data, start, protocol=replace(quick, seeds=(0,)), **go)
    assert first.complete and first.table["steps"].tolist() == [2]
    again = squad.run(data, start, protocol=quick, **go)
    assert again.table["seed"].tolist() == [0, 1]
    assert again.summary()["rule"][0] == "median of all runs"
    assert again.table["test"][0] == first.table["test"][0]
    monkeypatch.setattr(squad, "fine_tune", None)  # another run would now be an error
    for progress in (False, True):  # a bar is no other setting
        same = squad.run(data, start, protocol=quick, progress=progress, **go)
        assert same.table["test"].tolist() == pytest.approx(again.table["test"].tolist())
    with pytest.raises(ValueError, match="choose another folder"):
        squad.run(data, start, protocol=replace(quick, lr=2e-3), **go)


def test_a_run_is_tested_on_the_validation_rows_by_f1(monkeypatch):
    rows = [question(f"a red kite {i}", "a red kite", id=str(i)) for i in range(6)]
    said = {
        row["id"]: ("kite" if int(row["id"]) % 2 else "a red kite", -1.0) for row in rows
    }
    read = []
    reader = SimpleNamespace(
        answers=lambda rows: read.append(rows) or said,
        run=SimpleNamespace(interrupted=False, steps=1),
    )
    monkeypatch.setattr(squad, "fine_tune", lambda *a, **o: reader)
    start = make_encoder(ck.data.train_tokenizer(["a red kite"], vocab_size=60))
    data = {"train": rows[:2], "validation": rows}
    row = squad.run(
        data, start, protocol=replace(protocols.SQUAD, seeds=(0,))
    ).table.iloc[0]
    scores = squad.evaluate_across(said, rows)
    assert (row["test"], row["test_exact"]) == (scores["f1"], scores["exact"]) and row[
        "test"
    ] > row["test_exact"]
    assert read == [rows]


def test_a_threshold_may_be_the_best_by_exact_answers():
    rows = [
        question(f"a red kite {i}", "a red kite" if i < 3 else None, id=str(i))
        for i in range(4)
    ]
    said = {
        "0": ("a red kite", 0.0),
        "1": ("kite", 1.0),
        "2": ("kite", 2.0),
        "3": ("kite", 0.5),
    }
    reader = squad.Reader(None)
    reader.answers = lambda rows: said
    assert (reader.choose_threshold(rows), reader.choose_threshold(rows, "exact")) == (
        2.0,
        0.0,
    )
    scores = squad.evaluate_across(said, rows)
    assert (scores["best_exact"], scores["best_f1"]) == (
        50,
        pytest.approx(100 * (1 + 2 / 3 + 2 / 3) / 4),
    )


def test_a_reader_keeps_the_windows_that_it_was_trained_with(monkeypatch):
    seen, real = [], squad.Windows
    monkeypatch.setattr(
        squad,
        "Windows",
        lambda *a, **o: seen.append((a[2], o["stride"])) or real(*a, **o),
    )
    rows = [question("a red kite and a drum " * 3, "a red kite", id="1")]
    start = make_encoder(ck.data.train_tokenizer([rows[0]["context"]], vocab_size=60))
    squad.fine_tune(start, rows, steps=1, max_length=20, stride=5).answers(rows)
    assert seen == [(20, 5), (20, 5)]


def test_a_question_is_cut_where_it_was_asked_and_loses_its_leading_blanks(vocabulary):
    long = question("clara bought a kite", "clara") | {
        "question": "  who bought it on monday in the shop ?"
    }
    cut, whole = (
        Windows([long], vocabulary, max_length=60, stride=0, max_question=n)
        for n in (3, 30)
    )
    rows = [
        vocabulary.decode(each.ids.tolist()).split(" [SEP]")[0] for each in (cut, whole)
    ]
    assert rows == ["[CLS] who bought it", "[CLS] who bought it on monday in the shop ?"]
    bpe = byte_pairs([long["question"], long["context"]] * 9, 300)
    stripped = long | {"question": long["question"].lstrip()}
    assert torch.equal(
        Windows([long], bpe, stride=0).ids, Windows([stripped], bpe, stride=0).ids
    )


def test_other_answers_are_other_data_and_the_first_person_s_is_learned(vocabulary):
    context = "clara bought a red kite"
    made = [
        Windows([question(context, text)], vocabulary)
        for text in ("red", "a red", "red kite", None)
    ]
    assert len({each.fingerprint() for each in made}) == 4
    people = {
        "text": ["red", "a red"],
        "answer_start": [context.index("red"), context.index("a red")],
    }
    both = Windows([question(context) | {"answers": people}], vocabulary)
    assert (both.start.tolist(), both.end.tolist()) == (
        made[0].start.tolist(),
        made[0].end.tolist(),
    )
