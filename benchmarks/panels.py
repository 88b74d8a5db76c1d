"""How fast the panels of ck.explore answer: each control moved again and again, as if by hand.

    python benchmarks/panels.py                          # half a minute on two cores
    python benchmarks/panels.py --only "embedding_map 5,000"

The time is the kernel's: from the moved control to the numbers and the picture that it sends, without the way to the
page and back (some 10 ms on one machine). The table has the median of the moves, and the slowest beside it; the aim is
200 ms. "map frames" asks the page itself, in a headless Chromium without a graphics card, where there is one: 20,000
points move from one map to another, drawn anew in each frame; the aim is a sixtieth of a second.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import _frames
import torch
from _bench import parser, table, write

import contrast_kit as ck
from contrast_kit.data import toyshop

AIM, FRAME = 0.2, 1 / 60
Moves = dict[str, Iterator[Callable[[], object]]]


def moves(panel: ck.explore.Panel, name: str, values: list) -> Iterator[Callable[[], object]]:
    """An endless series of functions, each moving one control to its next value."""
    return (lambda value=value: panel.set(**{name: value}) for value in itertools.cycle(values))


def encoder(words: int = 2000) -> ck.Encoder:
    return ck.Encoder.tiny(ck.data.train_tokenizer(toyshop.corpus(5000), vocab_size=words), pooling="mean")


def mask_explorer() -> Moves:
    panel = ck.explore.mask_explorer(encoder().tokenizer)
    text = panel.state["sentence"]
    shares = [share / 20 for share in range(1, 20)]
    typed = [text[:end] for end in range(20, len(text))]
    return {name: moves(panel, name, shares) for name in ("p_m", "p_c")} | {
        "a letter typed": moves(panel, "sentence", typed)
    }


def loss_playground() -> Moves:
    panel = ck.explore.loss_playground()
    dragged = [[60.0, 175.0, 290.0, 115.0, 200.0, float(angle)] for angle in range(0, 360, 7)]
    return {
        "a point dragged": moves(panel, "angles", dragged),
        "tau": moves(panel, "tau", [0.05, 0.1, 0.2, 0.5, 1.0]),
        "loss": moves(panel, "loss", ["info_nce", "nt_xent", "sup_con", "simsiam"]),
        "let go": itertools.repeat(lambda: panel.again().let_go()),
    }


def temperature_and_queue() -> Moves:
    panel = ck.explore.temperature_and_queue()
    return {
        "tau": moves(panel, "tau", [0.02, 0.05, 0.1, 0.2, 0.5, 1.0]),
        "batch": moves(panel, "batch", [16, 64, 512]),
        "queue": moves(panel, "queue", [64, 1024, 8192]),
        "positive": moves(panel, "positive", [-0.5, 0.0, 0.5, 0.9]),
    }


def embedding_map(n: int = 5000) -> Moves:
    """Two maps of n sentences of width 128."""
    model, lines = encoder(), toyshop.labelled_corpus(n)
    texts = [line["text"] for line in lines]
    spaces = {"encoder": model.encode(texts), "noise": torch.randn(n, 128)}
    topics = [line["topic"] for line in lines]
    panel = ck.explore.embedding_map(spaces, texts, topics, encode=dict.fromkeys(spaces, model))
    queries = toyshop.corpus(50, seed=1)
    return {
        "hover": moves(panel, "hovered", list(range(100))),
        "a lasso around 500": moves(panel, "chosen", [list(range(i, i + 500)) for i in range(50)]),
        "a sentence typed": moves(panel, "query", queries),
    }


def two_networks() -> Moves:
    panel = ck.explore.two_networks(ck.Encoder.from_pretrained("kit/books-mlm"))
    text = panel.state["sentence"]
    return {
        "a letter typed": moves(panel, "sentence", [text[:end] for end in range(20, len(text))]),
        "p_m": moves(panel, "p_m", [0.15, 0.3, 0.5, 0.7]),
        "tau": moves(panel, "tau", [0.05, 0.1, 0.5, 1.0]),
    }


def map_frames(n: int, frames: int) -> list[dict]:
    """Rows for the table: the page's time for a frame of the before-and-after slider."""
    draw = torch.Generator().manual_seed(0)
    spaces = {name: torch.randn(n, 16, generator=draw) for name in ("before", "after")}
    panel = ck.explore.embedding_map(spaces, list(map(str, range(n))), [i % 5 for i in range(n)])
    try:
        seen = _frames.of_the_morph(panel, frames)
    except (ImportError, RuntimeError) as error:
        print(f"map frames: {error}")
        return []
    rows = []
    for name, times in {"drawing": seen["drawn"], "from frame to frame": seen["apart"]}.items():
        seconds, slowest = statistics.median(times) / 1e3, max(times) / 1e3
        note = f"slowest of {len(times)}: {1e3 * slowest:.0f} ms" + " – too slow" * (seconds > 1.05 * FRAME)
        case = {"case": f"map frames {n:,}", "contender": name}
        rows.append(case | {"seconds": seconds, "slowest": slowest, "note": note})
    return rows


CASES: dict[str, Callable[[], Moves]] = {
    "mask_explorer": mask_explorer,
    "loss_playground": loss_playground,
    "temperature": temperature_and_queue,
    "embedding_map 5,000": embedding_map,
    "two_networks": two_networks,
}


def timed(each: Iterator[Callable[[], object]], times: int) -> list[float]:
    """Seconds of each move, after one that warms up."""
    next(each)()
    seconds = []
    for move in itertools.islice(each, times):
        start = time.perf_counter()
        move()
        seconds.append(time.perf_counter() - start)
    return seconds


def main(arguments: list[str] | None = None) -> list[dict]:
    """Move every control of every panel; print and write the table."""
    options = parser("panels", __doc__).parse_args(arguments)
    times, rows, start = 3 if options.tiny else 4 * options.rounds, [], time.perf_counter()
    for case, make in CASES.items():
        if options.only and case not in options.only:
            continue
        mine = []
        for name, each in make().items():
            seconds = timed(each, times)
            slowest = max(seconds)
            note = f"slowest of {times}: {1e3 * slowest:.0f} ms" + " – too slow" * (slowest > AIM)
            row = {"case": case, "contender": name, "seconds": statistics.median(seconds), "slowest": slowest}
            mine.append(row | {"note": note})
        print(table(mine), flush=True)
        rows += mine
    if not options.only or "map frames" in options.only:
        mine = map_frames(*((500, 10) if options.tiny else (20_000, 180)))
        print(table(mine) if mine else "", flush=True)
        rows += mine
    record = write("panels", rows, options.out, time.perf_counter() - start, aim=AIM)
    print(f"\n{record['device']}, {record['threads']} threads; wrote {options.out / 'panels.json'} and .png")
    return rows


if __name__ == "__main__":
    main()
