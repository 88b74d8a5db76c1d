"""Make the files of the scenes: `python data/scenes/make.py FOLDER`; the same rows on every machine.

The scenes are drawn first, and the rest looks at them: `scenes.parquet` must lie in `data/scenes` before the others are
made. What the detector sees is the same for one version of torch, numpy, Pillow and scikit-learn and one kind of
processor.
"""

import sys
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow.parquet import write_table

from contrast_kit.data.scenes.shelf import SHELVES, SPLITS, image_ids, scene
from contrast_kit.data.toyshop import Stock
from contrast_kit.data.toyshop.grammar import sentence
from contrast_kit.data.toyshop.words import pick

sys.path.append(str(Path(__file__).parents[1] / "toyshop"))  # its questions, and what follows from its records

from ask import vqa  # noqa: E402
from compose import gqa  # noqa: E402
from detector import detect, train_detector  # noqa: E402
from records import clause_beginning_otherwise  # noqa: E402
from shelves import Facts, draw_scene  # noqa: E402
from statements import nlvr2  # noqa: E402

_TOLD = {"colour": 0.8, "size": 0.5, "price": 0.25}  # how often a fact tells a detail


def draw_facts(rng, scene):
    """One to three facts of a scene, each a `Stock` of all toys on one shelf that fit its description.

    No toy is mentioned twice.
    """
    facts = []
    left = list(scene.toys)
    for _ in range(pick(rng, (1, 2, 2, 3))):
        if not left:
            break
        toy = pick(rng, left)
        details = [name for name, share in _TOLD.items() if rng.random() < share]
        same = {name: getattr(toy, name) for name in ("good", "shelf", *details)}
        alike = [other for other in scene.toys if same.items() <= vars(other).items()]
        if set(alike) <= set(left):
            left = [other for other in left if other not in alike]
            facts.append(Stock(len(alike), **same | {"shelf": SHELVES[toy.shelf]}))
    return tuple(facts)


def tell(facts: Facts, rng: Random) -> str:
    """One sentence that claims all `facts`, each in one of the toyshop's ways to tell of stock.

    >>> from random import Random
    >>> tell((Stock(2, "drum", SHELVES[0], colour="red"), Stock(1, "kite", SHELVES[2])), Random(0))
    'The shop keeps two red drums on the top shelf, and a kite stands on the bottom shelf.'
    """
    clauses = [clause_beginning_otherwise(fact, rng, "look ") for fact in facts]
    return sentence(", and ".join(clauses))


def captions(split: str) -> list[dict[str, Any]]:
    """Two different captions of every scene of a split, as rows: `text`, `image_id`, `facts`."""
    rows = []
    for image_id in image_ids(split):
        rng = Random(f"captions/{image_id}")
        texts = {}
        while len(texts) < 2:
            facts = draw_facts(rng, scene(image_id))
            texts.setdefault(tell(facts, rng), [asdict(fact) for fact in facts])
        rows += [
            {"text": text, "image_id": image_id, "facts": texts[text]} for text in texts
        ]
    return rows


def statements(split: str) -> list[dict[str, Any]]:
    """Rows of nlvr2. No sentence stands in two splits: the smaller ones choose first."""
    names = list(SPLITS)
    taken = {row["sentence"] for later in names[names.index(split) + 1 :] for row in statements(later)}
    return nlvr2(split, taken)


MAKERS = {"captions": captions, "vqa": vqa, "gqa": gqa, "nlvr2": statements}


SEEN = {
    "image_id": pa.int32(),
    "regions": pa.list_(pa.list_(pa.float32())),
    "boxes": pa.list_(pa.list_(pa.float32())),
    "objects": pa.list_(pa.int8()),
    "object_confidence": pa.list_(pa.float32()),
    "attributes": pa.list_(pa.int8()),
    "attribute_confidence": pa.list_(pa.float32()),
}


def write(table: pa.Table, folder: str, name: str, **options: Any) -> None:
    """Write a file."""
    file = Path(folder, f"{name}.parquet")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_table(table, file, compression="zstd", compression_level=19, use_dictionary=False, **options)


def main(folder: str) -> None:
    """Write the scenes, the regions, and a file for each split of each task."""
    numbers = [number for split in SPLITS.values() for number in split]
    drawn = [draw_scene(Random(f"scenes/{number}"), number) for number in numbers]
    write(pa.Table.from_pylist([asdict(each) for each in drawn]), folder, "scenes")
    for task, make in MAKERS.items():
        for split in SPLITS:
            write(pa.Table.from_pylist(make(split)), folder, f"{task}/{split}")
    seen = pa.Table.from_pylist(detect(train_detector(), drawn), pa.schema(SEEN))
    write(seen, folder, "regions", use_byte_stream_split=True)


if __name__ == "__main__":
    main(sys.argv[1])
