"""Settings against print: the papers' own tables of settings, transcribed cell by cell, and read."""

import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import REAL, real_data

import contrast_kit as ck
from contrast_kit import papers
from contrast_kit._util import shipped
from contrast_kit.commands import recipes, train
from contrast_kit.objectives import CAPT, METHODS
from contrast_kit.tasks import protocols

COCO_LM_6 = """
Max Steps | 125K | 1.95M | 1.95M
Peak Learning Rate | 5e-4 | 2e-4 | 1e-4
Batch Size | 2048 | 2048 | 2048
Warm-Up Steps | 10K | 10K | 10K
Sequence Length | 512 | 512 | 512
Relative Position Encoding Buckets | 32 | 64 | 128
Relative Position Encoding Max Distance | 128 | 128 | 256
Adam ε | 1e-6 | 1e-6 | 1e-6
Adam (β1, β2) | (0.9, 0.98) | (0.9, 0.98) | (0.9, 0.98)
Clip Norm | 2.0 | 2.0 | 2.0
Dropout | 0.1 | 0.1 | 0.1
Weight Decay | 0.01 | 0.01 | 0.01
"""
"""COCO-LM, table 6: base, base++, large++."""
COCO_LM_7 = """
Max Epochs | {2, 3, 5, 10} | {2, 3, 5}
Peak Learning Rate, base | {2e-5, 3e-5, 4e-5, 5e-5} | {1e-5, 2e-5, 3e-5, 4e-5}
Peak Learning Rate, large++ | {7e-6, 1e-5, 2e-5, 3e-5} | {5e-6, 7e-6, 1e-5, 2e-5}
Batch Size | {16, 32} | 32
Learning Rate Decay | Linear | Linear
Warm-Up Proportion | {6%, 10%} | 6%
Sequence Length | 512 | 512
Adam ε | 1e-6 | 1e-6
Adam (β1, β2) | (0.9, 0.98) | (0.9, 0.98)
Clip Norm | - | -
Dropout | 0.1 | 0.1
Weight Decay | 0.01 | 0.01
"""
"""COCO-LM, table 7: GLUE's small tasks, its large tasks."""
COCO_LM_8 = """
Max Epochs | {2, 3}
Peak Learning Rate, base | {2e-5, 3e-5, 4e-5, 5e-5}
Peak Learning Rate, large++ | {7e-6, 1e-5, 2e-5, 3e-5}
Batch Size | {16, 32}
Learning Rate Decay | Linear
Warm-Up Proportion | {6%, 10%}
Sequence Length | 512
Adam ε | 1e-6
Adam (β1, β2) | (0.9, 0.98)
Clip Norm | -
Dropout | 0.1
Weight Decay | 0.01
"""
"""COCO-LM, table 8: SQuAD."""
CAPT_4 = """
Number of Layers | 6 | 24
Attention heads | 4 | 16
Hidden size | 256 | 1024
FFN inner hidden size | 1024 | 4096
Aggregation layer inner hidden size | 1024 | 4096
Aggregation layer output hidden size | 256 | 1024
Dropout | 0.1 | 0.1
Batch Size | 2k | 8k
Max Steps | 200k | 500k
Warmup Steps | 10k | 30k
Peak Learning Rate | 5e-4 | 6e-4
Learning Rate Decay | Linear | Linear
Weight Decay | 0.01 | 0.01
Adam ε | 1e-6 | 1e-6
Adam β1 | 0.9 | 0.9
Adam β2 | 0.98 | 0.98
"""
"""CAPT, table 4: small, large."""


def number(text: str):
    """A printed value: "125K", "1.95M", "6%", "{2, 3}", "(0.9, 0.98)", "-"."""
    text = text.strip()
    if text[0] in "{(":
        return tuple(number(part) for part in text[1:-1].split(","))
    if text == "-":
        return None
    if not text[0].isdigit():
        return text.lower()
    scale = {"K": 1e3, "k": 1e3, "M": 1e6, "%": 0.01}.get(text[-1], 1)
    return float(text.rstrip("KkM%")) * scale


def read(table: str, column: int) -> dict:
    lines = [line.split("|") for line in table.strip().splitlines()]
    return {cells[0].strip(): number(cells[1 + column]) for cells in lines}


@pytest.mark.parametrize(
    ("column", "name"), list(enumerate(("base", "base++", "large++")))
)
def test_coco_lms_table_6(column, name):
    printed, plan = (
        read(COCO_LM_6, column),
        ck.Training(**papers.training("COCO-LM", name)),
    )
    model = papers.coco_lm_model(name)
    assert printed == {
        "Max Steps": plan.steps,
        "Peak Learning Rate": plan.lr,
        "Batch Size": plan.batch_size,
        "Warm-Up Steps": round(plan.warmup * plan.steps),
        "Sequence Length": plan.max_length,
        "Relative Position Encoding Buckets": model["buckets"],
        "Relative Position Encoding Max Distance": model["max_distance"],
        "Adam ε": plan.eps,
        "Adam (β1, β2)": plan.betas,
        "Clip Norm": plan.clip,
        "Dropout": 0.1,
        "Weight Decay": plan.weight_decay,
    }


def fine_tuning_agrees(training: dict, printed: dict) -> None:
    names = ("decay", "max_length", "eps", "betas", "clip", "weight_decay")
    lines = (
        "Learning Rate Decay|Sequence Length|Adam ε|Adam (β1, β2)|Clip Norm|Weight Decay"
    )
    assert [training[name] for name in names] == [
        printed[line] for line in lines.split("|")
    ]
    for objective in (ck.objectives.FineTune, ck.tasks.Span):
        assert objective.Config().dropout == printed["Dropout"]


def as_grid(printed: dict, model: str) -> dict:
    lines = {
        "epochs": "Max Epochs",
        "batch_size": "Batch Size",
        "warmup": "Warm-Up Proportion",
    }
    values = {name: printed[line] for name, line in lines.items()}
    values["lr"] = printed[f"Peak Learning Rate, {model}"]
    return {name: x if isinstance(x, tuple) else (x,) for name, x in values.items()}


@pytest.mark.parametrize("model", ["base", "large++"])
def test_coco_lms_tables_7_and_8(model):
    plan = {"base": protocols.COCO_LM, "large++": protocols.COCO_LM_LARGE}[model]
    for column, tasks_of in enumerate(
        (("cola", "rte", "mrpc", "stsb"), ("mnli", "qqp", "qnli", "sst2"))
    ):
        printed = read(COCO_LM_7, column)
        fine_tuning_agrees(plan.training(None), printed)
        for task in tasks_of:
            assert plan.grid_for(task) == as_grid(printed, model)
    printed = read(COCO_LM_8, 0)
    fine_tuning_agrees(protocols.SQUAD.training(None), printed)
    assert plan.grid_for("squad") == as_grid(printed, model)
    for task in (
        "cola",
        "mnli",
    ):  # the protocol's own point lies on the grid that it stands for
        own, grid = plan.training(None), plan.grid_for(task)
        assert (
            own["lr"] in grid["lr"]
            and own["epochs"] in grid["epochs"]
            and own["batch_size"] in grid["batch_size"]
        )


@pytest.mark.parametrize(("column", "name"), list(enumerate(("small", "large"))))
def test_capts_table_4(column, name):
    from contrast_kit.encoder.build import SHAPES

    printed, plan = read(CAPT_4, column), ck.Training(**papers.training("CAPT", name))
    shape, capt = SHAPES[name], CAPT.paper(name)
    assert plan.batch_size == round(
        printed.pop("Batch Size") * 1.024
    )  # "2k" as RoBERTa means it
    assert printed == {
        "Number of Layers": shape["num_hidden_layers"],
        "Attention heads": shape["num_attention_heads"],
        "Hidden size": shape["hidden_size"],
        "FFN inner hidden size": shape["intermediate_size"],
        "Aggregation layer inner hidden size": capt.inner,
        "Aggregation layer output hidden size": shape["hidden_size"],
        "Dropout": 0.1,
        "Max Steps": plan.steps,
        "Warmup Steps": round(plan.warmup * plan.steps),
        "Peak Learning Rate": plan.lr,
        "Learning Rate Decay": plan.decay,
        "Weight Decay": plan.weight_decay,
        "Adam ε": plan.eps,
        "Adam β1": plan.betas[0],
        "Adam β2": plan.betas[1],
    }


# The command line at the papers' scales


@pytest.mark.parametrize("scale", ["base", "large"])
@pytest.mark.parametrize("method", METHODS)
def test_the_scales_of_the_papers_train_by_print_or_say_whose_value_it_is(method, scale):
    recipe = recipes.recipe(method, scale)
    training = dict(recipe.training)
    if "chunk_size" in training:  # memory, not a setting of the paper
        assert training["batch_size"] % training.pop("chunk_size") == 0
    table = recipes.TABLES[scale][method]
    ours = {name: table.get("training", {}).get(name) for name in training}
    printed = papers.training(*table["source"]) if "source" in table else {}
    own = {name: value for name, value in ours.items() if value is not None}
    assert training == printed | own and (recipe.ours or not own)
    mine = table.get("source", [None])[0] == METHODS[method].in_tables
    assert recipe.ours or mine  # another's setting is named
    assert ck.Training.of(recipe.training) and METHODS[method].Config(**recipe.config)


def test_steps_on_the_command_line_replace_a_recipes_epochs():
    asked = train.parse(["cmlm", "--scale", "base", "--steps", "7"]).training
    assert ck.Training.of(asked).steps == 7 and asked["epochs"] is None
    assert ck.Training.of(train.parse(["cmlm", "--scale", "base"]).training).epochs == 3
    assert (
        ck.Training.of(
            train.parse(["coco-lm", "--scale", "base", "--epochs", "2"]).training
        ).steps
        is None
    )


# The papers' texts, where they are at hand

PRINTED = {
    "coco_lm": (COCO_LM_6, COCO_LM_7, COCO_LM_8),
    "capt": (CAPT_4,),
}


def text_of(paper):
    """A paper on one line, where its text is at hand."""
    file = Path(REAL).parent / "papers" / f"{paper}.txt"
    if not file.exists():
        pytest.skip("the papers' texts are not at hand")
    return re.sub(r"[\s\u00a0]+", " ", re.sub(r"<[^>]+>", " ", file.read_text()))


@pytest.mark.real_data
@real_data
@pytest.mark.parametrize("paper", PRINTED)
def test_the_transcribed_numbers_stand_in_the_papers(paper):
    text = text_of(paper)
    for table in PRINTED[paper]:
        for line in table.strip().splitlines():
            name, *cells = (cell.strip() for cell in line.split("|"))
            name = (
                name.partition(",")[0]
                .replace("β1", "")
                .replace("β2", "")
                .split("(")[0]
                .split(" ε")[0]
                .strip()
            )
            assert name in text, name
            for cell in cells:
                assert cell in text, (name, cell)


@pytest.mark.real_data
@real_data
@pytest.mark.parametrize("paper", papers.available())
def test_every_row_of_the_tables_stands_in_the_paper(paper):
    """As the file has it, but for MNLI's two columns, which COCO-LM prints as one."""
    text = text_of(paper)
    text = re.sub(
        r" ?\((\d+\.\d+)\)", r"±\1", re.sub("[—–]", "-", text.replace("’", "'"))
    )
    for number in papers.available()[paper].keys() - (
        {1} if paper == "scl" else set()
    ):  # sizes, in other units there
        ends = []
        for row in (
            pd.read_csv(shipped("papers") / f"{paper}_{number}.csv", dtype=str)
            .fillna("-")
            .to_dict("records")
        ):
            keys = [row.pop(key) for key in list(row) if key in papers.KEYS]
            if paper == "coco_lm" and number < 4:
                row = {"MNLI": f"{row.pop('MNLI-m')}/{row.pop('MNLI-mm')}", **row}
            between = rf"(?:.{{0,25}} )?{f'(?:{keys[0]} )?' if keys[0].isdigit() else ''}"
            found = re.search(
                rf"{re.escape(keys[-1])} {between}{re.escape(' '.join(row.values()))}",
                text,
            )
            assert found, (number, row)
            ends.append(found.end())
        assert ends == sorted(ends), number
