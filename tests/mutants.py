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
SPANS = "test_masking.py", "crosses_neither or leaves_the_earlier"
SIMSIAM = "h_a, h_b = h_a.detach(), h_b.detach()"
SAME_TEXT = "same_text(positive, ids) & ~positive"
COPIES = "test_losses_contrast.py", "with_ids_it_is_left_out or left_out_of_the_queue"

MUTANTS = [  # what, file, the right text, the mistake, test file, its tests
    ("queue in tiling", "losses/contrast.py", "n * (n + len(queue)), a", "n * n, a", "test_fast.py", "queue_counts"),
    ("softplus", "fast/contrast.py", "F.softplus(x, threshold=40.0)", "F.softplus(x)", "test_fast.py", "keeps_its_digits"),
    ("softplus of panels", "fast/panels.py", ", threshold=40.0", "", "test_fast.py", "keeps_its_digits"),
    ("spans jump", "masking/spans.py", BLOCKED, "blocked = ahead & ~free", *SPANS),
    ("spans cross [SEP]", "masking/spans.py", BLOCKED,
     "blocked = ((ahead & selected).cumsum(dim=1) > 0) | (ahead & ~maskable)", *SPANS),
    ("spans cross spans", "masking/spans.py", BLOCKED,
     "blocked = ((ahead & ~maskable).cumsum(dim=1) > 0) | (ahead & selected)", *SPANS),
    ("spans overwrite", "masking/spans.py", BLOCKED, "blocked = (ahead & ~maskable).cumsum(dim=1) > 0", *SPANS),
    ("train after callback", "training/fit.py", "callback(result)\n                        self.objective.train()",
     "callback(result)", "test_training.py", "callback_that_evaluates"),
    ("weights as setting", "training/checkpoint.py", "sum(p.numel() for p in objective.parameters())", "0",
     "test_training.py", "are_settings_too"),
    ("dropout as setting", "training/checkpoint.py", '"dropout": dropout}', '"dropout": []}',
     "test_training.py", "are_settings_too"),
    ("warm-up down", "training/settings.py", "warmup = round(", "warmup = int(", "test_training.py", "warm_up_is_rounded"),
    ("warm-up up", "training/settings.py", "warmup = round(", "warmup = math.ceil(", "test_training.py", "warm_up_is_rounded"),
    ("explicit mnli", "tasks/metrics.py", 'if halves and "mnli" not in scores:', "if halves:",
     "test_odd_input.py", "explicit_mnli"),
    ("kNN ties", "tasks/probes.py", " + 1e-4 * cosine", "", "test_odd_input.py", "nearer_neighbours"),
    ("kNN without majority", "tasks/probes.py", "torch.ones_like(cosine) + 1e-4 * cosine", "torch.exp(50 * cosine)",
     "test_tasks.py", "nearest_by_cosine or probes_find"),
    ("digest", "data/intact.py", ".read_bytes()) != known]", ".read_bytes()) == '']", "test_training.py", "changed_byte"),
    ("digest unread", "training/checkpoint.py", "if problem := damage(newest):", "if problem := None:",
     "test_training.py", "changed_byte"),
    ("stop-gradient", "losses/no_negatives.py", "if stop_gradient:", "if not stop_gradient:",
     "test_losses_contrast.py", "simsiam_gradients or only_the_predictor"),
    ("half a stop-gradient", "losses/no_negatives.py", SIMSIAM, "h_a = h_a.detach()",
     "test_losses_contrast.py", "simsiam_gradients or only_the_predictor"),
    ("same text, NT-Xent", "losses/contrast.py", f"itself | ({SAME_TEXT})", "itself", *COPIES),
    ("same text, InfoNCE", "losses/one_direction.py", SAME_TEXT, "positive & ~positive", *COPIES),
    ("same text, tiles", "fast/contrast.py", "groups=rows, half=half", "half=half", "test_fast.py", "are_the_plain_form"),
    ("same text, CMLM", "objectives/cmlm.py", "if self.config.ignore_duplicates else None", "and None",
     "test_objectives_cmlm.py", "copies_of_a_text"),
    ("complement of [MASK]s", "objectives/cmlm.py", 'views["T0"]["selected"], generator',
     'views["T0"]["input_ids"] == self.encoder.tokenizer.mask_token_id, generator', "test_objectives_cmlm.py", "complementary"),
    ("no complement", "masking/masks.py", "maskable & ~selected, p", "maskable, p", "test_masking.py", "both_views"),
]  # fmt: skip


def copied(folder: Path) -> Path:
    """The repository in another folder, without what git, the environment and runs left in it."""
    out = shutil.ignore_patterns(".*", "__pycache__", "notebooks", "runs", "site", "*.egg-info")
    return Path(shutil.copytree(ROOT, folder / "copy", ignore=out))


def fate(copy: Path, file: str, right: str, mistake: str, test: str, names: str) -> str:
    """What becomes of one mutant."""
    place = copy / "contrast_kit" / file
    before = place.read_text()
    if right not in before:
        return "NOT THERE: the line has changed"
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", f"tests/{test}", "-k", names]
    place.write_text(before.replace(right, mistake))
    try:
        done = subprocess.run(command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}, capture_output=True)
    finally:
        place.write_text(before)
    return {0: "SURVIVED", 1: "killed"}.get(done.returncode, f"NO TEST: pytest returned {done.returncode}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        for what, *mutant in MUTANTS:
            if all(word in what for word in sys.argv[1:]):
                print(f"{what:<24} {fate(copy, *mutant)}", flush=True)
