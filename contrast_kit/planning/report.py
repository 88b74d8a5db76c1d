"""What `plan` found out about a run, and how it is printed."""

import math
from dataclasses import dataclass

from contrast_kit.planning.measure import in_bytes, in_seconds


@dataclass(frozen=True)
class Plan:
    """What `plan` found out; printed, it is a short table. Bytes and seconds are of one process.

    `negatives` is None for a method whose contrast has none, or that has no contrast; NaN for one that does not say.
    """

    method: str
    device: str
    examples: int
    """Texts in the data."""
    batch_size: int
    """Texts in one contrast."""
    chunk_size: int | None
    accumulate: int
    processes: int
    steps: int
    seen: int
    """Texts that the run takes, each as often as it comes; a batch that ends a pass may be short."""
    negatives: float | None
    """Negatives that an anchor meets, on average."""
    negatives_of_one_batch: float | None
    """Negatives that it would meet if the batches which `accumulate` adds up were one batch."""
    contrastive: bool
    parameters: int
    state_bytes: int
    """Weights, gradients and the optimizer's two moments; a memory queue."""
    activation_bytes: int
    """What the encoder keeps for the backward pass of the longest texts, all at once or one chunk at a time."""
    whole_bytes: int
    """The same without `chunk_size`."""
    contrast_bytes: int
    """Vectors, their gradients and what the contrast keeps."""
    available_bytes: int
    """Memory of the device, or what a container may take of it; 0 where that is unknown."""
    largest_chunk: int
    """How many texts of the greatest length can be encoded at once in the memory that is left."""
    seconds: float
    """Of one optimizer step with texts of ordinary length, without sending anything between processes."""
    sent_bytes: int
    """What each process sends in a step: gradients and vectors."""

    @property
    def bytes(self) -> int:
        """All memory together."""
        return self.state_bytes + self.activation_bytes + self.contrast_bytes

    @property
    def fits(self) -> bool:
        """Whether `bytes` is less than nine tenths of the device's memory; True where that is unknown."""
        return not self.available_bytes or self.bytes < 0.9 * self.available_bytes

    def __str__(self) -> str:
        words = {
            "batch": self._batch(),
            "negatives": self._negatives(),
            "memory": self._memory(),
            "time": self._time(),
        }
        if self.processes > 1:
            words["processes"] = self._processes()
        rows = [f"  {key:<10} " + value.replace("\n", "\n" + " " * 13) for key, value in words.items()]
        return "\n".join([f"{self.method} on {self.device}", *rows])

    def _processes(self) -> str:
        each = f"each encodes {math.ceil(self.batch_size / self.processes):,} texts"
        if self.contrastive:
            each += f" and contrasts all {self.batch_size:,}"
        return f"{each};\nit sends about {in_bytes(self.sent_bytes)} a step, whose time is not in the above"

    def _batch(self) -> str:
        passes = f"{self.seen / self.examples:.3g}"
        batches = f"{self.accumulate} batches" if self.accumulate > 1 else "one batch"
        return (
            f"{self.steps:,} steps of {batches} of {self.batch_size:,} texts: {passes} "
            f"{'pass' if passes == '1' else 'passes'} over {self.examples:,}"
        )

    def _negatives(self) -> str:
        if not self.contrastive:
            return "none: no contrast here, so accumulating batches and one larger batch are the same"
        if self.negatives is None:
            return "none: this contrast only pulls positives together, in accumulated batches as in one"
        if math.isnan(self.negatives):
            return f"not told: {self.method} has no `negatives` of its own to say it"
        words = f"{_number(self.negatives)} an anchor" + (", chunk_size loses none" if self.chunk_size else "")
        if self.accumulate > 1:
            whole, more = self.batch_size * self.accumulate, _number(self.negatives_of_one_batch)
            words += f";\naccumulate={self.accumulate} does not change that, "
            largest = f"{self.examples}, all there are," if whole > self.examples else whole
            words += f"batch_size={largest} would: {more}"
        return words

    def _memory(self) -> str:
        share = math.ceil(self.batch_size / self.processes)
        at_once = min(self.chunk_size or share, share)
        of_all = f" of {in_bytes(self.available_bytes)}" if self.available_bytes else ""
        words = (
            f"about {in_bytes(self.bytes)}{of_all}:\nweights, gradients and AdamW "
            f"{in_bytes(self.state_bytes)}, {at_once:,} texts at once {in_bytes(self.activation_bytes)}, contrast "
            f"{in_bytes(self.contrast_bytes)}"
        )
        if self.chunk_size:
            words += f"\n(all {share:,} texts at once would be {in_bytes(self.whole_bytes)})"
        if not self.fits:
            words += f"\nTOO MUCH: chunk_size={self.largest_chunk} would fit" if self.largest_chunk else "\nTOO MUCH"
        return words

    def _time(self) -> str:
        whole_steps = self.seen / (self.batch_size * self.accumulate)
        return f"about {in_seconds(self.seconds)} a step, {in_seconds(self.seconds * whole_steps)} in all" + (
            " (a chunk is encoded twice: a third more than whole)" if self.chunk_size and self.contrastive else ""
        )


def _number(value: float) -> str:
    """Whole numbers as such, others with one digit after the point."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
