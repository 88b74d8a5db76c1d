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
    ("coinciding pairs left out", "geometry/spread.py", ".sum() / len(distance)", ".sum() / int((distance > 0).sum())",
     "geometry: coincide"),
    ("triplets the other way", "geometry/cosines.py", "((with_positive > with_negative)",
     "((with_positive < with_negative)", "geometry: positive_is_closer"),
    ("macro F1 of what is said", "tasks/metrics.py", "labels=np.unique(labels), average", "average",
     "tasks: macro_f1_is"),
    ("almost constant", "tasks/metrics.py", "1e-7 * float(np.abs(values).max())", "0", "tasks: macro_f1_is"),
    ("neighbours' median", "tasks/probes.py", "y[nearest].double().mean(1)", "y[nearest].double().median(1).values",
     "tasks: not_the_middle"),
    ("probed on training rows", "tasks/probes.py", "first_rows(data.validation, limit)",
     "first_rows(data.train, limit)", "tasks: a_probe_learns"),
    ("limit of the test", "tasks/probes.py", "first_rows(data.validation, limit)", "data.validation",
     "tasks: a_probe_learns"),
    ("ridge upside down", "tasks/probes.py", "alpha=1 / strength", "alpha=strength", "tasks_print: standardises"),
    ("folds of the first rows", "tasks/probes.py", ".permutation(len(y))[:MOST_ROWS]",
     ".permutation(np.arange(len(y))[:MOST_ROWS])", "tasks_print: cross_validation_sees"),
    ("folds without strata", "tasks/probes.py", "KFold if task.regression else StratifiedKFold", "KFold",
     "tasks_print: cross_validation_sees"),
    ("median of a type", "tasks/vision.py", "values[names == name].mean()", "np.median(values[names == name])",
     "tasks_vision: a_type_has"),
    ("rare answers learnt", "tasks/priors.py", " if a in frequent]", "]", "tasks_vision: rarer"),
    ("level of a summary", "tasks/results.py", '(runs, "test"), level)', '(runs, "test"))', "tasks_protocols: level"),
    ("level of differences", "tasks/results.py", '"difference"), level)', '"difference"))', "tasks_protocols: level"),
    ("differences by run", "tasks/results.py", 'independent_observations(pairs.assign(difference=d), "difference")',
     "d.to_numpy()", "tasks_protocols: differences_count"),
    ("population's deviation", "tasks/results.py", '"sd": d.std(ddof=1)', '"sd": d.std(ddof=0)',
     "tasks_protocols: differences_count"),
    ("highest of the chosen", "tasks/results.py", 'row |= {"highest": test.max()', 'row |= {"highest": reported.max()',
     "tasks_protocols: lowest_and"),
    ("scores of the test only", "tasks/results.py", "runs[metric].tolist()", 'runs["test"].tolist()',
     "tasks_protocols: lowest_and"),
    ("matched in MNLI-mm", "tasks/submission.py", '9_847, "test_mismatched"', '9_847, "test_matched"',
     "tasks_search: each_file_of_mnli"),
    ("AX from the test rows", "tasks/submission.py", '1_104, "ax"', '1_104, "test_matched"',
     "tasks_search: each_file_of_mnli"),
    ("QQP in words", "tasks/submission.py", '"mrpc", "qqp", "wnli")', '"mrpc", "wnli")', "tasks_search: what_fills"),
    ("STS-B filled with 0", "tasks/submission.py", '"stsb": 2.5', '"stsb": 0', "tasks_search: what_fills"),
    ("seeds from the start", "tasks/submission.py", "begin = post_train(", "post_train(",
     "tasks_search: its_own_post_training"),
    ("noise alike in all draws", "tasks/planned.py", "seed=planned.draw)", "seed=0)",
     "tasks_protocols: noise_of_its_own"),
    ("noise by seed", "tasks/planned.py", "seed=planned.draw)", "seed=planned.seed)",
     "tasks_protocols: noise_of_its_own"),
    ("draws without strata", "tasks/planned.py", "seed, stratified=protocol.stratified, per_class", "seed, per_class",
     "tasks_protocols: by_class_and"),
    ("draws not per class", "tasks/planned.py", ", per_class=protocol.per_class)", ")",
     "tasks_protocols: by_class_and"),
    ("fraction without seed", "tasks/planned.py", "[protocol.split_seed, 2]", "[0, 2]", "tasks_protocols: a_part_of"),
    ("held out without strata", "tasks/planned.py", "protocol.stratified and not data.task.regression", "False",
     "tasks_protocols: one_split"),
    ("half without seed", "tasks/splits.py", "draw(labels, half, [seed, 1]", "draw(labels, half, [0, 1]",
     "tasks_protocols: one_split"),
    ("selected without seed", "tasks/splits.py", "draw(labels, count, [seed, 2]", "draw(labels, count, [0, 2]",
     "tasks_protocols: one_split"),
    ("half of a pair", "tasks/baselines.py", '" ".join(parts)', "parts[0]", "tasks_protocols: a_pair_is_joined"),
    ("source chosen by its test", "tasks/sweeps.py", "source.train, held.validation", "source.train, held.test",
     "tasks_protocols: a_source_model"),
    ("source of seed 0", "tasks/sweeps.py", "seed, size = protocol.seeds[0]", "seed, size = 0",
     "tasks_protocols: a_source_model"),
    ("SQuAD by exact answers", "tasks/squad.py", '"test": scores.pop("f1")', '"test": scores.pop("exact")',
     "squad: rows_by_f1"),
    ("SQuAD on training rows", "tasks/squad.py",
     'evaluate_across(reader.answers(data["validation"]), data["validation"])',
     'evaluate_across(reader.answers(data["train"]), data["train"])', "squad: rows_by_f1"),
    ("best exact by F1", "tasks/squad.py", "best_threshold(answers, rows, metric))", "best_threshold(answers, rows))",
     "squad: best_by_exact"),
    ("threshold by F1 alone", "tasks/squad.py", "best_threshold(self.answers(rows), rows, metric)",
     "best_threshold(self.answers(rows), rows)", "squad: best_by_exact"),
    ("stride of the training", "tasks/squad.py", "start.tokenizer, length, stride=stride)",
     "start.tokenizer, length, stride=128)", "squad: keeps_the_windows"),
    ("stride of the reader", "tasks/squad.py", "Reader(objective, run, length, stride)",
     "Reader(objective, run, length)", "squad: keeps_the_windows"),
    ("hard pairs of one seed", "tasks/scoreboard.py", "hard_pairs(pairs, seed)", "hard_pairs(pairs)",
     "tasks_scoreboard: drawn_by_its_seed"),
    ("probe's own strength", "tasks/scoreboard.py", ", strength=PROBE_STRENGTH)", ")",
     "tasks_scoreboard: drawn_by_its_seed"),
    ("clean for noisy", "tasks/scoreboard.py", "return _encode_view(encoder, batch), _encode_view(encoder, noisy)",
     "return _encode_view(encoder, noisy), _encode_view(encoder, batch)", "tasks_scoreboard: drawn_by_its_seed"),
    ("RTE's words", "tasks/prompting.py", '{sentence2:lower}", ("Yes", "No"), max',
     '{sentence2:lower}", ("No", "Yes"), max', "tasks_prompting: label_words"),
    ("CoLA's words", "tasks/prompting.py", '("incorrect", "correct")', '("correct", "incorrect")',
     "tasks_prompting: label_words"),
    ("temperature of wordings", "paraphrase/base.py", "temperature=temperature, seed=2 * seed + k", "seed=2 * seed + k",
     "paraphrase: no_two_seeds"),
    ("wordings of two seeds", "paraphrase/base.py", "seed=2 * seed + k", "seed=seed + k", "paraphrase: no_two_seeds"),
    ("copies of two seeds", "paraphrase/base.py", "seed=seed * copies + copy", "seed=seed + copy",
     "paraphrase: no_two_seeds"),
    ("first text twice", "paraphrase/base.py", "column: again[column][i]", "column: again[columns[0]][i]",
     "paraphrase: no_two_seeds"),
    ("digits exchanged", "papers/cmlm.py", "20 | TAPT | 0.0860", "20 | TAPT | 0.0680", "papers_print: every_row"),
    ("columns exchanged", "papers/capt.py", "60.48 60.93", "60.93 60.48", "papers_print: every_row"),
    ("majority of the test rows", "standard/report.py", 'np.asarray(train["label"])', 'np.asarray(test["label"])',
     "standard: numbers_of_the_report"),
    ("similar above 4 only", "standard/report.py", "row[2] >= SIMILAR", "row[2] > SIMILAR",
     "standard: numbers_of_the_report"),
    ("controls exchanged", "standard/report.py", '["encoder", "random weights", "TF-IDF"], task',
     '["encoder", "TF-IDF", "random weights"], task', "standard: numbers_of_the_report"),
    ("BLiMP of random weights", "standard/report.py", "home, **options) for each in (self.encoder, self.random)",
     "home, **options) for each in (self.random, self.encoder)", "standard: numbers_of_the_report"),
    ("dot products for mteb", "standard/harness.py",
     "torch.nn.functional.normalize(torch.atleast_2d(torch.as_tensor(x).float()), dim=-1)",
     "torch.atleast_2d(torch.as_tensor(x).float())", "standard: whatever_the_lengths"),
    ("sides of an interval", "plots/intervals.py", "[[estimate - low], [high - estimate]]",
     "[[high - estimate], [estimate - low]]", "plots_intervals: unequal_sides"),
    ("level of a figure", "plots/differences.py", "pooled_interval(table, m, reference, level)",
     "pooled_interval(table, m, reference, 0.95)", "plots_differences: of_the_level"),
    ("medians as bars", "plots/bars.py", "mean, color = scores.mean()", "mean, color = np.median(scores)",
     "plots: not_medians"),
    ("medians as marks", "plots/planes.py", "*seeds.mean(axis=0)", "*np.median(seeds, axis=0)", "plots: not_medians"),
    ("numbers in other cells", "plots/matrices.py", "panel.text(j, i, number(value)", "panel.text(i, j, number(value)",
     "plots: its_own_cell"),
    ("smoother curves", "plots/curves.py", "len(raw) // 25", "len(raw) // 5", "plots: 25th"),
    ("share of deviation", "plots/maps.py", "sigma**2 / max((sigma**2).sum(), 1e-300)",
     "sigma / max(sigma.sum(), 1e-300)", "plots: share_of_the_variance"),
    ("perplexity unread", "plots/maps.py", "TSNE(perplexity=perplexity, ", "TSNE(", "plots: reach_the_methods"),
    ("neighbours unread", "plots/maps.py", "UMAP(n_neighbors=neighbors, ", "UMAP(", "plots: reach_the_methods"),
    ("turned onto the first", "plots/animations.py", "align(points, last)", "align(points, next(iter(maps.values())))",
     "plots_animations: the_one_before"),
    ("pairs of one text", "explore/_live_page.py", ".cpu(), groups=groups)", ".cpu())", "explore_live: of_two_texts"),
    ("share of the length", "explore/_spheres.py", "float(values[-3:].sum() / max(values.sum(), 1e-12))",
     "float((values[-3:].sum() / max(values.sum(), 1e-12)) ** 0.5)", "explore_live: squared_length"),
    ("[SEP] as a word", "explore/shelf.py", "weights[1:-1].mean(0)", "weights[1:].mean(0)",
     "explore_shelf: last_layer"),
    ("first layer", "explore/shelf.py", "[0, -1].mean(0)", "[0, 0].mean(0)", "explore_shelf: last_layer"),
    ("least sure", "explore/shelf.py", "sure > found[sort][0]", "sure < found[sort][0]", "explore_shelf: surest"),
    ("best loss at two", "plots/weights.py", "np.exp(-1 / tau))", "np.exp(-2 / tau))", "explore: charts_draw"),
    ("push at τ = 1", "plots/weights.py", "np.exp((negatives - negatives.max()) / tau)",
     "np.exp(negatives - negatives.max())", "explore: charts_draw"),
    ("clip=None clips", "training/fit.py", "training.clip or math.inf", "training.clip or 2.0",
     "training: clipping_limits"),
    ("noise without seed", "training/fit.py", "torch.Generator(self.device).manual_seed(self.seed)",
     "torch.Generator(self.device).manual_seed(0)", "training: noise_of_the_views_is"),
    ("dropout without seed", "training/fit.py", "manual_seed(self.seed + distributed.rank())",
     "manual_seed(distributed.rank())", "training: dropout_of_its_own"),
    ("next seed's dropout", "training/fit.py", "int(training.seed) * 1_000_003 % 2**63", "int(training.seed)",
     "training: dropout_of_its_own"),
    ("dropout after fit", "training/fit.py", "self.objective.eval()", "pass", "training: dropout_is_off"),
    ("last row", "training/fit.py", "training.log_every == 0 or last:", "training.log_every == 0:",
     "training: last_step_has"),
    ("infinite loss", "training/fit.py", 'math.isfinite(norm) and math.isfinite(parts["loss"])', "math.isfinite(norm)",
     "own_objectives: though_its_gradient"),
    ("biases at full rate", "training/fit.py", "in self.optimizer.param_groups:", "in self.optimizer.param_groups[:1]:",
     "training: rate_follows"),
    ("first step at rate 0", "training/settings.py", "min(1.0, step / warmup) if warmup else 1.0",
     "min(1.0, step / max(1, warmup))", "training: rate_follows"),
    ("fields of transformers", "training/checkpoint.py", "= now | {name: saved[name]", "= {name: saved[name]",
     "training: another_transformers"),
    ("vectors with graph", "training/gradient.py", "each_rows(vectors, torch.Tensor.detach)", "vectors",
     "own_objectives: momentum_encoder_follows"),
    ("contrast N times", "training/gradient.py", "if leaves or not distributed.rank():", "if True:",
     "own_objectives: first_process_alone"),
    ("first pass in float32", "training/gradient.py", "with torch.no_grad(), autocast():\n                piece",
     "with torch.no_grad():\n                piece", "step: precision_asked"),
    ("views in float32", "training/gradient.py", "with torch.no_grad(), autocast(), dist", "with torch.no_grad(), dist",
     "step: precision_asked"),
    ("padding is 0", "data/texts.py", 'padding_value=examples[0]["pad_id"]', "padding_value=0",
     "data_batches: padding_is"),
    ("512 tokens", "data/texts.py", "min(128, tokenizer.model", "min(512, tokenizer.model", "data_batches: cut_to_128"),
    ("ids of a part", "data/texts.py", "seen.setdefault(key,", "seen.setdefault((start, key),",
     "data_batches: a_part_at_a_time"),
    ("border of tokenizing", "data/tokens.py", "start + _AT_ONCE]", "start + _AT_ONCE - 1]",
     "data_streams: holds_what"),
    ("hash of a pair", "data/streams.py", 'digest.update(b"%d:" % len(part) + part)', "digest.update(part)",
     "data_streams: tokenized_once"),
    ("ends of documents", "data/streams.py", ', b"" if ends is None else np.packbits(ends).tobytes())', ")",
     "data_streams: documents_are_separated"),
    ("seed plus epoch", "data/batches.py", "[self.seed, epoch]", "self.seed + epoch", "data_batches: pure_function"),
    ("one pool", "data/batches.py", "_POOL = 50", "_POOL = 10**6", "data_batches: rows_of_other_pools"),
    ("short batches first", "data/batches.py", "places = random.permutation(filled // self.batch_size)",
     "places = np.arange(filled // self.batch_size)", "data_batches: no_pass_goes"),
    ("types of wordings", "data/paraphrased.py", ', "token_type_ids")', ")", "data_batches: token_types"),
    ("pairs turned", "data/paraphrased.py", '"text/0": one, "text/1": other', '"text/0": other, "text/1": one',
     "data_batches: pairs_in_a_frame"),
    ("pairs uncut", "data/paraphrased.py", '"text", max_length)', '"text")', "data_batches: pairs_in_a_frame"),
    ("wordings in any order", "data/paraphrased.py", "all_ * 31 +", "all_ +", "objectives_cssl: another_wording"),
    ("eps of BERT", "encoder/presets.py", "layer_norm_eps=1e-5", "layer_norm_eps=1e-12", "encoder: published_sizes"),
    ("two types", "encoder/presets.py", "type_vocab_size=1", "type_vocab_size=2", "encoder: published_sizes"),
    ("attention, no dropout", "encoder/relative_positions.py", "self.dropout.p if self.training else 0.0", "0.0",
     "relative_positions: weights_of_attention"),
    ("packed, no dropout", "fast/packed.py", "self.dropout.p if self.training else 0.0", "0.0",
     "relative_positions: weights_of_attention"),
    ("packed, always dropout", "fast/packed.py", "self.dropout.p if self.training else 0.0", "self.dropout.p",
     "relative_positions: weights_of_attention"),
    ("packed, one type", "fast/packed.py", 'if key == "token_type_ids"', "if False", "packed: those_of_the_padded"),
    ("pairs with dropout", "encoder/cross_modal.py", "with evaluating(self):", "if True:",
     "encoder_pairs: without_dropout"),
    ("objects, attributes", "encoder/cross_modal.py", 'found["obj"], "attributes": found["attr"]',
     'found["attr"], "attributes": found["obj"]', "encoder_pairs: shapes"),
    ("compiled for ever", "fast/options.py", "    model._compiled_call_impl = None\n", "", "faster: compiled_gives"),
    ("draws of a process", "fast/fixed_capacity.py", "exponential_(generator=generator)", "exponential_()",
     "faster: follow_the_auxiliary"),
    ("rounded products", "fast/tiles.py", "x.float() @ y.float()", "(x @ y).float()", "fast: reaches_every_product"),
    ("float32 queue", "fast/contrast.py", "groups=groups, half=half))", "groups=groups))",
     "fast: reaches_every_product"),
    ("blocks in float32", "fast/blocked_softmax.py",
     "torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype", "states.dtype",
     "losses_words: under_autocast"),
    ("plan of short texts", "planning/measure.py", "[::-1]  # [N], longest", "[::1]  # [N], longest",
     "planning: memory_is_of_the_longest"),
    ("time of long texts", "planning/measure.py", "usual = order[max(0, len(order) // 2 - MOST_TEXTS) :]",
     "usual = order",
     "planning: memory_is_of_the_longest"),
    ("plan in float32", "planning/measure.py", "autocast(training.precision, self.device)",
     'autocast("float32", self.device)', "planning: precision_of"),
    ("chunk beside nothing", "planning/estimate.py", "0.9 * available - fixed - contrast_bytes", "0.9 * available",
     "planning: nine_tenths"),
    ("kept twice", "planning/measure.py", "if key not in self._holders:", "if True:", "planning: kept_twice"),
    ("parameters kept", "planning/measure.py", "if key not in self._free:", "if True:", "planning: kept_twice"),
    ("share rounded down", "planning/estimate.py", "math.ceil(size / processes), p", "size // processes, p",
     "planning: nine_tenths"),
    ("vectors of all", "planning/estimate.py", "vector_bytes // processes", "vector_bytes", "planning: its_share"),
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
