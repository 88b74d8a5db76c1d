"""Every objective, by name, in each form that takes another way through the step: one list for all tests."""

import torch

import contrast_kit as ck


def queued(objective):
    """CAPT in the middle of a run: some vectors in the queue, among them of texts of the batch."""
    rows = torch.randn(
        5, objective.encoder.width, generator=torch.Generator().manual_seed(2)
    )
    objective.queue.push(rows, torch.tensor([0, 3, 3, 50, 51]))
    return objective


def asked(objective):
    """Prompting wants a mask in each text: here in place of its first word."""
    views, mask = objective.views, objective.encoder.tokenizer.mask_token_id

    def with_mask(batch, generator=None):
        ids = batch["input_ids"]
        first = torch.ones(1, dtype=torch.long, device=ids.device)
        return views(batch | {"input_ids": ids.index_fill(1, first, mask)}, generator)

    objective.views = with_mask
    return objective


def placed(objective):
    """Span prediction wants the places of an answer: here the first and third word of each text."""
    views = objective.views

    def with_places(batch, generator=None):
        first, answerable = torch.ones_like(batch["text_id"]), batch["maskable"].clone()
        answerable[:, 0] = True
        return views(
            batch | {"start": first, "end": first + 2, "answerable": answerable},
            generator,
        )

    objective.views = with_places
    return objective


class Learns(ck.objectives.CMLM):
    """A contrast with a weight of its own: a temperature that is learned."""

    def build(self):
        super().build()
        self.log_tau = torch.nn.Parameter(torch.tensor(-1.0))

    def contrast(self, vectors, facts):
        h = [
            torch.nn.functional.normalize(vectors[name]["h"], dim=1)
            for name in ("T0", "T1")
        ]
        logits = h[0] @ h[1].T / self.log_tau.exp()
        return {
            "contrast": torch.nn.functional.cross_entropy(
                logits, torch.arange(len(logits), device=logits.device)
            )
        }


OBJECTIVES = {
    "mlm": lambda e: ck.objectives.MLM(e, p_m=0.4),
    "mlm by sequence": lambda e: ck.objectives.MLM(e, p_m=0.4, mlm_mean="sequences"),
    "cmlm simsiam": lambda e: ck.objectives.CMLM(e, K=2),
    "cmlm info_nce": lambda e: ck.objectives.CMLM(e, K=2, contrast="info_nce", tau=0.05),
    "cmlm nt_xent": lambda e: ck.objectives.CMLM(e, contrast="nt_xent", tau=0.05),
    "cmlm learned tau": lambda e: Learns(e, K=1, contrast="info_nce"),
    "cmlm without its mlm": lambda e: ck.objectives.CMLM(
        e, contrast="nt_xent", mlm=False
    ),
    "cmlm drm": lambda e: ck.objectives.CMLM(
        e, contrast="info_nce", complement=False, p_m=0.5
    ),
    "coco_lm": lambda e: ck.objectives.COCOLM(e),
    "coco_lm printed sums": lambda e: ck.objectives.COCOLM(e, reduction="paper_sum"),
    "electra": lambda e: ck.objectives.ELECTRA(e),
    "all_token": lambda e: ck.objectives.AllTokenMLM(e),
    "capt": lambda e: queued(ck.objectives.CAPT(e, queue=7)),
    "capt by id": lambda e: queued(
        ck.objectives.CAPT(e, queue=7, tau=0.1, ignore_duplicates=True)
    ),
    "fine-tune": lambda e: ck.objectives.FineTune(e, classes=4, dropout=0.0),
    "scl": lambda e: ck.objectives.SCL(e, classes=4, dropout=0.0),
    "scl sum": lambda e: ck.objectives.SCL(
        e, classes=4, dropout=0.0, reduction="sum", head="tanh"
    ),
    "prompt": lambda e: asked(ck.tasks.Prompt(e, words=("the", "a", "of", "is"))),
    "span": lambda e: placed(ck.tasks.Span(e, dropout=0.0)),
    "cssl": lambda e: ck.objectives.CSSL(e),
    "cssl simsiam": lambda e: ck.objectives.CSSL(e, contrast="simsiam"),
    "simcse": lambda e: ck.objectives.SimCSE(e),
}
ONE_EACH = (
    "mlm",
    "cmlm info_nce",
    "coco_lm",
    "electra",
    "all_token",
    "capt",
    "fine-tune",
    "scl",
    "prompt",
    "span",
)
ONE_EACH += ("cssl", "simcse")
"""A form of every objective."""
