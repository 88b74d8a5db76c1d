"""Mistakes made on purpose, to see that a test notices each: `python tests/mutants.py [word …]`.

A mutant is one line of the kit with a likely mistake in it. Here is a table of them, each with the test that should
fail. The kit and its tests are copied to a temporary folder; there one mutant at a time is put in place of the right
line, its test is run, and the line is put back. *Killed* is good: the test failed. A mutant that survived is a mistake
that nobody would notice, so write the test that kills it. pytest does not collect this file; words choose mutants.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCKED = "blocked = (ahead & ~free).cumsum(dim=1) > 0"
SPANS = "masking: crosses_neither or leaves_the_earlier"
DETACH = "h_a, h_b = h_a.detach(), h_b.detach()"
SIMSIAM = "losses_contrast: simsiam_gradients or only_the_predictor"
SAME_TEXT = "same_text(positive, ids) & ~positive"
COPIES = "losses_contrast: with_ids_it_is_left_out or left_out_of_the_queue"
VOTES = "1 + 1e-4 * cosine"

MUTANTS = [  # what, file, the right text, the mistake, the test's file and names
    ("queue in tiling", "losses/contrast.py", "n * (n + len(queue)), a", "n * n, a", "fast: queue_counts"),
    ("softplus", "fast/contrast.py", "F.softplus(x, threshold=40.0)", "F.softplus(x)", "fast: keeps_its_digits"),
    ("softplus of panels", "fast/panels.py", ", threshold=40.0", "", "fast: keeps_its_digits"),
    ("spans jump", "masking/spans.py", BLOCKED, "blocked = ahead & ~free", SPANS),
    ("spans cross [SEP]", "masking/spans.py", BLOCKED,
     "blocked = ((ahead & selected).cumsum(dim=1) > 0) | (ahead & ~maskable)", SPANS),
    ("spans cross spans", "masking/spans.py", BLOCKED,
     "blocked = ((ahead & ~maskable).cumsum(dim=1) > 0) | (ahead & selected)", SPANS),
    ("spans overwrite", "masking/spans.py", BLOCKED, "blocked = (ahead & ~maskable).cumsum(dim=1) > 0", SPANS),
    ("train after callback", "training/fit.py", "random.restore()\n                        self.objective.train()",
     "random.restore()", "training: callback_that_evaluates"),
    ("contrast's weights N times", "training/gradient.py", "leaves if distributed.rank() else None", "None",
     "processes: learned"),
    ("weights as setting", "training/checkpoint.py", "sum(p.numel() for p in objective.parameters())", "0",
     "training: are_settings_too"),
    ("dropout as setting", "training/checkpoint.py", '"dropout": dropout}', '"dropout": []}',
     "training: are_settings_too"),
    ("warm-up down", "training/settings.py", "warmup = round(", "warmup = int(", "training: warm_up_is_rounded"),
    ("warm-up up", "training/settings.py", "warmup = round(", "warmup = math.ceil(", "training: warm_up_is_rounded"),
    ("explicit mnli", "tasks/metrics.py", 'if halves and "mnli" not in scores:', "if halves:",
     "odd_input: explicit_mnli"),
    ("kNN ties", "tasks/probes.py", VOTES, "torch.ones_like(cosine)", "odd_input: nearer_neighbours"),
    ("kNN without majority", "tasks/probes.py", VOTES, "torch.exp(50 * cosine)", "tasks: nearest_by_cosine or outvote"),
    ("digest", "data/intact.py", ".read_bytes()) != known]", ".read_bytes()) == '']", "training: changed_byte"),
    ("digest unread", "training/checkpoint.py", "if problem := damage(newest):", "if problem := None:",
     "training: changed_byte"),
    ("stop-gradient", "losses/no_negatives.py", "if stop_gradient:", "if not stop_gradient:", SIMSIAM),
    ("half a stop-gradient", "losses/no_negatives.py", DETACH, "h_a = h_a.detach()", SIMSIAM),
    ("same text, NT-Xent", "losses/contrast.py", f"itself | ({SAME_TEXT})", "itself", COPIES),
    ("same text, InfoNCE", "losses/one_direction.py", SAME_TEXT, "positive & ~positive", COPIES),
    ("same text, tiles", "fast/contrast.py", "groups=rows, half=half", "half=half", "fast: are_the_plain_form"),
    ("same text, CMLM", "objectives/cmlm.py", 'duplicates(facts, self.config.ignore_duplicates)', "None",
     "objectives_cmlm: copies_of_a_text"),
    ("complement of [MASK]s", "objectives/cmlm.py", 'views["T0"]["selected"], generator',
     'views["T0"]["input_ids"] == self.encoder.tokenizer.mask_token_id, generator', "objectives_cmlm: complementary"),
    ("tuned from the start", "tasks/grid.py", "_tuned(begin, train", "_tuned(start, train",
     "tasks_protocols: post_training_ended"),
    ("selected by test rows", "tasks/grid.py", "best, at = planned.held.validation,", "best, at = planned.held.test,",
     "tasks_protocols: held_out_for_it"),
    ("masked is replaced", "objectives/coco_lm/token_losses.py", "copy_logits, ids == original, real, reduction",
     "copy_logits, ~selected, real, reduction", "objectives_coco_lm: detection_asks"),
    ("random words all over", "objectives/coco_lm/auxiliary.py", 'torch.where(view["selected"], words, ids)', "words",
     "objectives_coco_lm: replacements_are"),
    ("id of the text before", "objectives/capt_pairs.py", 'facts(views["clean"], views)',
     'facts(batch | {"matched": views["clean"]["matched"]}, views)', "objectives_vision: contrast_knows"),
    ("no complement", "masking/masks.py", "maskable & ~selected, p", "maskable, p", "masking: both_views"),
]  # fmt: skip


def copied(folder: Path) -> Path:
    """The repository in another folder, without what git, the environment and runs left in it."""
    out = shutil.ignore_patterns(".*", "__pycache__", "notebooks", "runs", "site", "*.egg-info")
    return Path(shutil.copytree(ROOT, folder / "copy", ignore=out))


def outcome(copy: Path, test: str) -> int:
    """What pytest returns for the tests of a file with these words in their names: 0 if they pass, 1 if one fails."""
    file, names = test.split(": ")
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", f"tests/test_{file}.py", "-k", names]
    return subprocess.run(command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True).returncode


def fate(copy: Path, file: str, right: str, mistake: str, test: str) -> str:
    """What becomes of one mutant."""
    place = copy / "contrast_kit" / file
    before = place.read_text()
    if right not in before:
        return "NOT THERE: the line has changed"
    place.write_text(before.replace(right, mistake))
    try:
        returned = outcome(copy, test)
    finally:
        place.write_text(before)
    return {0: "SURVIVED", 1: "killed"}.get(returned, f"NO TEST: pytest returned {returned}")


def main() -> None:
    chosen = [mutant for mutant in MUTANTS if all(word in mutant[0] for word in sys.argv[1:])]
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        for test in dict.fromkeys(mutant[-1] for mutant in chosen):
            if returned := outcome(copy, test):
                sys.exit(f"Without a mutant, {test} does not pass: pytest returned {returned}.")
        for what, *mutant in chosen:
            print(f"{what:<24} {fate(copy, *mutant)}", flush=True)


if __name__ == "__main__":
    main()
