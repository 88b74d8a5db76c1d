"""What is learnt on one task, for another: SCL's section 5.4 and table 7.

"using the SCL term for both source (SST-2) and target domains (Amazon-2, Yelp-2)": each method trains a model of its
own on all of the source; then that model, with its head, is trained on a few rows of each target. A target with other
classes gets a new head. Seconds on a CPU.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

import contrast_kit as ck
from contrast_kit.objectives import SCL, FineTune
from contrast_kit.tasks import Pipeline, protocols

METHODS = {"CE": FineTune, "CE + SCL": partial(SCL, lam=0.9, tau=0.3)}


def transfer(
    source, targets, start, methods=METHODS, first=protocols.SCL_FULL, then=protocols.SCL_TRANSFER, folder=None
):
    """The runs of all methods on all targets; their column `start` is the hash of the method's source model.

    `first` trains the source model: all rows, the first seed, the best step by validation. With a folder, `then`'s runs
    are kept.
    """
    held = ck.tasks.hold_out(source, first)
    tables = []
    for name, method in methods.items():
        settings = dict(task=source.task, method=method, seed=first.seeds[0], **first.training(None))
        model = ck.tasks.fine_tune(start, source.train, held.validation, **settings).objective
        kept = None if folder is None else Path(folder, name)
        results = ck.tasks.run(then, targets, model, {name: Pipeline(tune=method)}, folder=kept, progress=False)
        tables.append(results.table)
        if not results.complete:
            break
    return ck.tasks.Results(pd.concat(tables, ignore_index=True), then, results.complete)


def main():
    source, target = (ck.tasks.load(f"{shop}/sst2") for shop in ("toyshop", "othershop"))
    encoder = ck.Encoder.tiny(ck.data.train_tokenizer(source.train["sentence"], vocab_size=300), num_hidden_layers=1)
    first = replace(protocols.SCL_FULL, epochs={None: 1}, lr=1e-3)
    then = replace(protocols.SCL_TRANSFER, draws=3, epochs={40: 10}, lr=1e-3, most_test={"sst2": 200})
    print(transfer(source, target, encoder, first=first, then=then).summary())


if __name__ == "__main__":
    main()
