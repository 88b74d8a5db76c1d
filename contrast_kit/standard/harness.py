"""mteb, the harness of embedding leaderboards, for encoders of this kit and for rows that are not on the hub.

mteb is an extra: `pip install 'contrast-kit[mteb]'`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contrast_kit import arguments, checks
from contrast_kit.data.rows import as_rows, column, column_names, no_column, text_columns

KINDS = ("STS", "Classification", "PairClassification")


class ForMTEB:
    """An encoder as mteb's `EncoderProtocol` wants it: `mteb.evaluate(ForMTEB(encoder), tasks)`.

    Args:
        encoder: anything with `encode(texts, batch_size=…)` that gives vectors [N, D], as a tensor or an array: an
            `Encoder`, or a `SentenceTransformer`.
        name: what results are filed under; mteb wants "who/what".
        batch_size: texts at once, where mteb does not say.

    Similarity is the cosine. Prompts and instructions are ignored: encoders of this kit know none. An empty text
    is encoded as ".".

    >>> import contrast_kit as ck
    >>> encoder = ck.Encoder.tiny(ck.data.train_tokenizer(["a red kite", "a drum"], vocab_size=60))
    >>> adapter = ck.standard.ForMTEB(encoder)
    >>> adapter.encode([{"text": ["a red kite"]}, {"text": ["a drum"]}]).shape  # what mteb's loaders give
    (2, 128)
    """

    def __init__(self, encoder: Any, name: str = "contrast-kit/encoder", batch_size: int = 64) -> None:
        if isinstance(encoder, str) or not callable(getattr(encoder, "encode", None)):
            raise TypeError(
                f"mteb needs something with encode(texts), such as an Encoder, not {type(encoder).__name__}."
            )
        arguments.string("name", name, "what results are filed under")
        if name.count("/") != 1:
            raise ValueError(f"mteb files results under 'who/what', so name={name!r} needs one slash.")
        checks.count("batch_size", batch_size, "a number of texts")
        self.encoder, self.name, self.batch_size = encoder, name, batch_size

    def encode(self, inputs: Iterable[Mapping[str, Any]], *, batch_size: int | None = None, **_: Any) -> np.ndarray:
        """Vectors [N, D] of all texts of a loader whose batches hold `"text"`, in their order."""
        texts = [text for batch in inputs for text in batch["text"]]
        # mteb's data sets hold a few empty texts, about which an encoder has nothing to say
        found = self.encoder.encode(
            [text if text.strip() else "." for text in texts], batch_size=batch_size or self.batch_size
        )
        return torch.as_tensor(found).detach().float().cpu().numpy()

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Cosines of all with all, [N, M]."""
        a, b = (_unit(x) for x in (embeddings1, embeddings2))
        return a @ b.T

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """The cosine of each pair, [N]."""
        a, b = (_unit(x) for x in (embeddings1, embeddings2))
        return (a * b).sum(-1)

    @property
    def mteb_model_meta(self) -> Any:
        """What mteb writes beside the results."""
        meta = _mteb().models.model_meta
        facts = dict(name=self.name, revision="local", framework=["PyTorch"])
        facts["similarity_fn_name"] = meta.ScoringFunction.COSINE
        if hasattr(self.encoder, "width"):
            facts |= dict(embed_dim=self.encoder.width, max_tokens=self.encoder.max_length)
            facts["n_parameters"] = sum(p.numel() for p in self.encoder.parameters())
        return meta.ModelMeta.create_empty(facts)


def mteb_task(kind: str, name: str, splits: Mapping[str, Any], *, language: str = "eng-Latn") -> Any:
    """Rows of one's own as a task of mteb, which then asks the hub for nothing.

    Args:
        kind: `"STS"` (pairs with a score), `"PairClassification"` (pairs with 0 or 1), or `"Classification"` (texts
            with a class; needs a split `"train"` beside `"test"`).
        name: what the task is called in mteb's results.
        splits: split → rows (a `Dataset` or a list of dicts) with text columns and `label`; `"test"` is tested.
        language: as mteb writes it.

    Returns:
        an instance of mteb's task class. `mteb.evaluate(ForMTEB(encoder), mteb_task(…), cache=None)` runs it.

    Raises:
        ValueError: for another kind, or for missing splits or columns. ModuleNotFoundError: without mteb.
    """
    checks.choice("kind", kind, KINDS)
    needed = ("train", "test") if kind == "Classification" else ("test",)
    if lacking := [split for split in needed if split not in splits]:
        raise ValueError(f"A task of kind {kind} needs the split {lacking[0]!r}; there are {', '.join(splits)}.")
    tables = {split: _table(kind, rows) for split, rows in splits.items()}
    mteb = _mteb()
    from datasets import Dataset, DatasetDict

    data = DatasetDict({split: Dataset.from_dict(table) for split, table in tables.items()})
    main = {"STS": "cosine_spearman", "Classification": "accuracy", "PairClassification": "max_ap"}[kind]
    metadata = mteb.TaskMetadata(
        name=name,
        description=f"Local rows: {name}.",
        dataset={"path": f"local/{name}", "revision": "local"},
        type=kind,
        eval_splits=["test"],
        eval_langs=[language],
        main_score=main,
    )

    def load_data(self: Any, *_: Any, **__: Any) -> None:
        self.dataset, self.data_loaded = {"default": data}, True

    base = getattr(mteb.abstasks, f"AbsTask{kind}")
    scores = [score for table in tables.values() for score in table.get("score", ())]
    more = {"min_score": min(scores), "max_score": max(scores)} if scores else {}
    return type(name, (base,), {"metadata": metadata, "load_data": load_data, "__module__": __name__, **more})()


def _table(kind: str, rows: Any) -> dict[str, list]:
    """The columns that mteb's task reads."""
    names = column_names(as_rows(rows))
    if "label" not in names:
        raise no_column("label", names)
    texts, labels = text_columns(names), column(rows, "label")
    if (len(texts) == 2) != (kind != "Classification"):
        raise ValueError(
            f"A task of kind {kind} reads {'one text' if len(texts) == 2 else 'pairs'}, not {' and '.join(texts)}."
        )
    if kind == "Classification":
        return {"text": column(rows, texts[0]), "label": labels}
    pairs = dict(zip(("sentence1", "sentence2"), (column(rows, name) for name in texts), strict=True))
    return pairs | ({"score": [float(label) for label in labels]} if kind == "STS" else {"labels": labels})


def _unit(x: Any) -> Tensor:
    return torch.nn.functional.normalize(torch.atleast_2d(torch.as_tensor(x).float()), dim=-1)


def _mteb() -> Any:
    try:
        import mteb
        import mteb.abstasks
        import mteb.models.model_meta
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "mteb is not installed here: pip install 'contrast-kit[mteb]', or pip install mteb."
        ) from error
    return mteb
