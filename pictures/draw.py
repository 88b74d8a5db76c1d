"""The pictures of the README: what a contrast does, in three views, and a thumbnail of each notebook's own figures.

    make pictures

`learning.gif` is one training that runs here (about half a minute); the thumbnails come from the stored outputs.
"""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import torch
from matplotlib.figure import Figure
from PIL import Image, ImageChops

import contrast_kit as ck
from contrast_kit.data import Paraphrased, toyshop
from contrast_kit.plots.histograms import DASHED, RANDOM, SIMILAR, density
from contrast_kit.plots.style import FAINT, INK, STYLE, colour, marker

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "notebooks"
STEPS = (0, 2, 4, 7, 10, 14, 18, 23, 28, 34, 40, 48, 57, 68, 80, 95, 110, 130, 150)
SHOWN = {  # which figure of a notebook, counted from 0
    "00": 3,
    "01": 0,
    "02": 2,
    "02b": 2,
    "03": 9,
    "04": 2,
    "05": 2,
    "06": 9,
    "07": 4,
    "07b": 3,
    "08": 4,
    "09": 2,
    "09b": 1,
    "10": 1,
    "10b": 0,
    "11": 3,
    "12": 1,
    "13": 0,
    "13b": 0,
}
FROM = {"05": (0.1, 0.2), "10": (0.7, 0)}
"""Which part of it, from the left and from the top, where that is not the upper left one."""
WIDE, HIGH = 240, 150  # pixels of a thumbnail


def training() -> tuple[dict[str, list], list[str]]:
    """The run of the README, watched: 96 sentences of 6 meanings, and pairs that nobody trained on."""
    pairs = toyshop.probe_pairs(6000)
    told = toyshop.families(6, 16, seed=3)
    sentences, labels = sum(told.values(), []), [good for good, said in told.items() for _ in said]
    first, second = zip(*toyshop.probe_pairs(600, seed=1), strict=True)
    tokenizer = ck.data.train_tokenizer(sum(pairs, ()), vocab_size=2000)
    encoder = ck.Encoder.tiny(tokenizer, pooling="mean")

    def look() -> dict[str, torch.Tensor]:
        a, b = encoder.encode(first), encoder.encode(second)
        similar, random = ck.geometry.pair_cosines(a, b), ck.geometry.random_pair_cosines(a, n=5000)
        return {"sentences": encoder.encode(sentences), "similar": similar, "random": random}

    frames = [look()]

    def camera(run: ck.Run) -> None:
        if run.steps in STEPS:
            frames.append(look())

    objective = ck.objectives.CSSL(encoder, tau=0.05)
    texts = Paraphrased.of_pairs(pairs, tokenizer)
    ck.fit(objective, texts, steps=STEPS[-1], batch_size=64, lr=2e-3, progress=False, callback=camera)
    return {what: [frame[what] for frame in frames] for what in frames[0]}, labels


def on_a_circle(moments: int, texts: int = 6) -> Iterator[np.ndarray]:
    """Two views of each text as free points on a circle, moved by the gradient of NT-Xent: [2 · texts, 2] each time."""
    angles = torch.rand(2 * texts, generator=torch.Generator().manual_seed(11)) * 2 * torch.pi
    angles.requires_grad_()
    for _ in range(moments):
        points = torch.stack([angles.cos(), angles.sin()], dim=1)
        yield points.detach().numpy()
        for _ in range(2):
            points = torch.stack([angles.cos(), angles.sin()], dim=1)
            loss = ck.losses.nt_xent(points[:texts], points[texts:], tau=0.5)
            (slope,) = torch.autograd.grad(loss, angles)
            angles.data -= 0.5 * slope.clamp(-0.2, 0.2)


def learning(file: Path) -> None:
    """The three views, frame by frame."""
    seen, labels = training()
    film = ck.plots.animation(
        {f"step {step}": x for step, x in zip(STEPS, seen["sentences"], strict=True)}, labels
    )
    half = max(np.abs(at).max() for at in film.maps.values()) * 1.06
    pictures = []
    for step, at, points, similar, random in zip(
        STEPS, film.maps.values(), on_a_circle(len(STEPS)), seen["similar"], seen["random"], strict=True
    ):
        figure = Figure(figsize=(9.2, 3.15), dpi=90, layout="constrained")
        circle, plane, cosines = figure.subplots(1, 3)
        _circle(circle, points)
        _map(plane, at, labels, half)
        _cone(cosines, similar.numpy(), random.numpy())
        circle.set_title("the circle: pull partners, push others")
        plane.set_title(f"the map: six meanings, step {step}")
        cosines.set_title("the cone: it opens")
        pictures.append(_picture(figure))
    palette = pictures[len(pictures) // 2].quantize(64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    last = [2500 if picture is few[-1] else 220 for picture in few]
    few[0].save(file, save_all=True, append_images=few[1:], duration=last, loop=0, optimize=True)


def _circle(panel, points: np.ndarray) -> None:
    turn = np.linspace(0, 2 * np.pi, 361)
    panel.plot(np.cos(turn), np.sin(turn), color=FAINT, linewidth=1.2, zorder=0)
    half = len(points) // 2
    for i in range(half):
        both = points[[i, i + half]]
        panel.plot(*both.T, color=colour(i), linewidth=1.2, zorder=1)
        panel.scatter(*both.T, s=60, color=colour(i), marker=marker(i), edgecolors="white", linewidths=0.6, zorder=2)
    panel.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal", xticks=[], yticks=[])
    panel.spines[:].set_visible(False)


def _map(panel, at: np.ndarray, labels: list[str], half: float) -> None:
    for i, good in enumerate(dict.fromkeys(labels)):
        here = at[[label == good for label in labels]]
        panel.scatter(*here.T, s=20, color=colour(i), marker=marker(i), edgecolors="white", linewidths=0.4)
    panel.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xticks=[], yticks=[])


def _cone(panel, similar: np.ndarray, random: np.ndarray) -> None:
    for words, cosines, tone in (("another meaning", random, RANDOM), ("same meaning", similar, SIMILAR)):
        grid, height = density(cosines)
        panel.fill_between(grid, height / height.max(), color=tone, alpha=0.3, linewidth=0)
        panel.plot(grid, height / height.max(), color=tone, linewidth=1.8, label=words)
        panel.plot([cosines.mean()] * 2, [0, 1.05], color=tone, linewidth=1.2, linestyle=DASHED)
    panel.set(xlim=(-0.6, 1.0), ylim=(0, 1.4), yticks=[], xlabel="cosine of two sentences")
    panel.legend(loc="upper left", handlelength=1.2, labelcolor=INK)


def _picture(figure: Figure) -> Image.Image:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    return Image.open(drawn).convert("RGB")


def thumbnails(folder: Path) -> None:
    """One stored figure of each notebook, small."""
    folder.mkdir(exist_ok=True)
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        number = notebook.stem.partition("_")[0]
        figure = stored(notebook)[SHOWN[number]]
        chosen = Image.open(io.BytesIO(base64.b64decode(figure))).convert("RGB")
        chosen = chosen.crop(ImageChops.invert(chosen).getbbox())  # without the white around it
        # A part, as large as it is in the notebook: a whole figure this small could not be read.
        wide, high = min(chosen.width, 2 * WIDE - 16), min(chosen.height, 2 * HIGH - 16)
        across, down = FROM.get(number, (0, 0))
        left, top = int(across * (chosen.width - wide)), int(down * (chosen.height - high))
        part = chosen.crop((left, top, left + wide, top + high))
        sheet = Image.new("RGB", (2 * WIDE, 2 * HIGH), "white")
        sheet.paste(part, ((sheet.width - part.width) // 2, (sheet.height - part.height) // 2))
        few = sheet.quantize(64, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(folder / f"{notebook.stem}.png", optimize=True)


def stored(notebook: Path) -> list[str]:
    """The PNG pictures among the stored outputs, in base64."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shown = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return ["".join(data["image/png"]) for data in shown if "image/png" in data]


if __name__ == "__main__":
    torch.set_num_threads(1)
    with matplotlib.rc_context(fname=STYLE):
        thumbnails(HERE / "thumbnails")
        learning(HERE / "learning.gif")
    for made in sorted(HERE.rglob("*.[gp][in][fg]")):
        print(f"{made.relative_to(HERE.parent)}: {made.stat().st_size / 1000:.0f} kB")
