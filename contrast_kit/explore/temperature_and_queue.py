"""What a temperature and a queue do to one anchor: which negatives push it, how hard, and the range of the loss."""

import math
from typing import Any

import torch
import torch.nn.functional as F

import contrast_kit as ck
from contrast_kit.explore._panel import TEMPERATURES, Panel, control, slider, view_of
from contrast_kit.plots.style import cosines

BATCHES = (4, 8, 16, 32, 64, 128, 256, 512)
QUEUES = (0, 64, 256, 1024, 4096, 8192)
BINS = 20
MOST = 2 * BATCHES[-1] - 2 + QUEUES[-1]


class TemperatureAndQueue(Panel):
    """Turn the temperature, the batch and the queue of NT-Xent, and watch the weights on the negatives.

    One anchor, its positive, and 2B − 2 + Q negatives (COCO-LM, eq. 3; CAPT, eq. 2 to 4 with its queue). The weight of
    a negative is its softmax probability, e^{c/τ}/Z: a small τ leaves the push to the few hardest ones. More candidates
    raise the loss, log(candidates) when all vectors are equal, however good the encoder is: losses of different batches
    or queues cannot be compared.

    Args:
        negatives: cosines of random pairs, such as `geometry.random_pair_cosines(vectors)`, drawn with
            replacement. By default those of random directions in 32 dimensions.
        positive: the cosine of the anchor with its positive.
        tau: the temperature: one of the slider's values, 0.02, 0.03, 0.05, 0.07, 0.1 … 2.
        batch, queue: B texts in the batch (4, 8 … 512) and Q vectors in the queue (0, 64, 256, 1024, 4096, 8192).
        seed: of the draws.

    Returns:
        A panel; `set(tau=…, positive=…, batch=…, queue=…)` moves it and `numbers()` reads what it shows.

    Raises:
        ValueError: for numbers that are not cosines. TraitError: for a value that the slider does not have.
        ImportError: without ipywidgets and anywidget.

    Example:
        >>> import contrast_kit as ck
        >>> panel = ck.explore.temperature_and_queue(tau=1.0)
        >>> spread = panel.numbers()["effective negatives"]
        >>> panel.set(tau=0.05).numbers()["effective negatives"] < spread / 2
        True
    """

    script, stand_in = ("temperature_and_queue",), "temperature_numbers"

    def __init__(
        self,
        negatives: Any = None,
        positive: float = 0.7,
        *,
        tau: float = 0.1,
        batch: int = 64,
        queue: int = 0,
        seed: int = 0,
    ):
        generator = torch.Generator().manual_seed(seed)
        if negatives is None:
            x = F.normalize(torch.randn(MOST, 32, generator=generator), dim=1)
            drawn = x[:, 0]  # with a fixed anchor, the first axis: [N, D] -> [N]
        else:
            known = torch.from_numpy(cosines(negatives, "negatives").flatten()).float()
            # [MOST]
            drawn = known[torch.randint(len(known), (MOST,), generator=generator)]
        self.negatives = drawn.clamp(-1, 1)
        self.view = view_of(self.script, seen=[])
        controls = {
            "tau": control("SelectionSlider", "τ", tau, options=TEMPERATURES),
            "positive": slider("cosine of the positive", positive, -1, 1),
            "batch": control(
                "SelectionSlider", "texts in the batch", batch, options=BATCHES
            ),
            "queue": control(
                "SelectionSlider", "vectors in the queue", queue, options=QUEUES
            ),
        }
        self.assemble(controls, ["tau", "positive"], ["batch", "queue"])

    def numbers(self) -> dict[str, float]:
        """What the panel shows, as numbers.

        The candidates, the loss, the weight of the positive, the force, the effective number of negatives (e to the
        entropy of their weights), how many do half of the push, and the share of the hardest.
        """
        tau, mine = self.tau.value, self._active_negatives()
        share = self._shares()
        # log(1 + Σ e^{(c − c⁺)/τ})
        loss = F.pad((mine - self.positive.value) / tau, (1, 0)).logsumexp(dim=0).item()
        entropy = -torch.special.xlogy(share, share).sum().item()
        running = share.sort(descending=True).values.cumsum(0)
        return {
            "candidates": len(mine) + 1,
            "loss": loss,
            "positive": math.exp(-loss),
            "force": -math.expm1(-loss) / tau,
            "effective negatives": math.exp(entropy),
            "half of the push": int((running < running[-1] / 2 * (1 - 1e-9)).sum()) + 1,
            "hardest": share.max().item(),
        }

    def seen(self) -> dict[str, Any]:
        """The `numbers`, and what the charts draw: shares in each tenth of a cosine, the loss for fewer candidates."""
        mine, share = self._active_negatives(), self._shares()
        tenth = ((mine + 1) * BINS / 2).long().clamp(max=BINS - 1)  # [M]
        push = torch.bincount(tenth, share, BINS).tolist()
        count = (torch.bincount(tenth, minlength=BINS).double() / len(mine)).tolist()
        exponents = (self.negatives.double() - self.positive.value) / self.tau.value
        running = F.pad(exponents, (1, 0)).logcumsumexp(dim=0).tolist()  # [1 + Q]
        places = [2]
        while places[-1] < len(running):
            more = max(places[-1] + 1, math.ceil(places[-1] * 1.1))
            places.append(min(len(running), more))
        more = {"count": count, "push": push, "tau": self.tau.value}
        more |= {"curve": [(n, running[n - 1]) for n in places]}
        return self.numbers() | more | {"cosine": self.positive.value}

    def _shares(self):
        """Of the push, among the negatives: [M]."""
        return (self._active_negatives() / self.tau.value).softmax(dim=0)

    def _active_negatives(self):
        """The negatives at the current sliders: 2B - 2 of the batch, and those of the queue."""
        count = 2 * self.batch.value - 2 + self.queue.value
        return self.negatives[:count].double()  # [M]

    def show(self) -> None:
        self.view.seen = self.seen()

    def page_state(self) -> dict[str, Any]:
        return {"negatives": self.negatives.numpy()}

    def words(self) -> str:
        now = self.numbers()
        return (
            f"Among {now['candidates']:,} candidates the positive gets {now['positive']:.1%} of the weight, "
            f"so it pulls with (1 − p⁺)/τ = <b>{now['force']:.2f}</b>. The negatives push like "
            f"<b>{now['effective negatives']:,.0f}</b> equal ones; the hardest alone does {now['hardest']:.1%} of it."
        )

    def figure(self) -> Any:
        """`plots.negative_weights` at the current state."""
        mine = self._active_negatives()
        return ck.plots.negative_weights(mine, self.tau.value, self.positive.value)


temperature_and_queue = TemperatureAndQueue
"""The name by which notebooks make the panel."""
