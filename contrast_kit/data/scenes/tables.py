"""Rows of each task and split, and the regions: read from `data/scenes`, where the scripts that made them lie."""

from typing import Any

from contrast_kit._util import choose
from contrast_kit.data.pictures import Pictures, stack_pictures
from contrast_kit.data.scenes.shelf import COLOURS, GOODS, SPLITS, image_ids, read

TASKS = ("captions", "vqa", "gqa", "nlvr2")


def rows(task: str, split: str) -> list[dict[str, Any]]:
    """All rows of one split. `image_id` (or `left` and `right`) names their pictures.

    | task | columns beside those |
    |---|---|
    | captions | `text`; `facts`, what it claims, for `truth` |
    | vqa | `question`, `answers` (ten customers'), `answer`, `answer_type`, `question_type`, `question_id`; … |
    | gqa | `question`, `answer`, `program`, `group`, `question_id`, `entailed` (ids), `valid`, `plausible` |
    | nlvr2 | `sentence`, `label` (1 true), `identifier`, `statement` |

    In vqa, `answer` is the most frequent of the ten, `true_answer` what a perfect eye would say, and `complement` the
    `question_id` of the same question on another picture, where the true answer is another.

    Raises ValueError, naming what exists, for an unknown task or split.

    >>> sorted(rows("captions", "test")[0])
    ['facts', 'image_id', 'text']
    """
    choose(dict.fromkeys(TASKS), task, "task of scenes")
    choose(SPLITS, split, "split of scenes")
    return read(f"{task}/{split}")


def pictures() -> Pictures:
    """The regions of all 5,000 scenes, as a small detector sees them; `Regions(rows, tokenizer, scenes.pictures())`.

    Features have mean 0 and deviation 1 over the regions of the *training* scenes.
    """
    regions = stack_pictures(read("regions"), GOODS, COLOURS)
    return regions.standardised(image_ids("train"))
