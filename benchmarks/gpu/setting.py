"""Where the parts run: the device, the sizes, the time that is left, and the table that grows by each row."""

import csv
import time
from collections.abc import Callable
from pathlib import Path

import torch
from _bench import MIB, seconds_of

SIZES = ("full", "compact", "dry")
FIELDS = (
    *("card", "part", "what", "size", "ms", "limit_ms", "mfu", "mib", "tokens_a_second", "steps_a_second"),
    *("millions_a_second", "waits", "error", "bound", "seconds", "note"),
)


class Setting:
    """One run of everything.

    Args:
        device: "cuda" or "cpu".
        size: one of `SIZES`; it changes on the way.
        rate: FLOP/s of a bfloat16 product here, for MFU and limits.
        table: a CSV that is begun anew; each row is written when it is known.
        card: the device's name.
    """

    def __init__(self, device: str, size: str, rate: float, table: Path, card: str):
        self.device, self.size, self.rate, self.card = torch.device(device), size, rate, card
        self.rows: list[dict] = []
        self.part, self.end, self.file = "", 0.0, table.open("w", encoding="utf-8", newline="")
        self.table = csv.DictWriter(self.file, FIELDS, lineterminator="\n")
        self.table.writeheader()

    def begin(self, part: str, seconds: float) -> None:
        self.part, self.end = part, time.perf_counter() + seconds

    @property
    def left(self) -> float:
        return self.end - time.perf_counter()

    def of(self, full: int, compact: int, dry: int) -> int:
        """The number for the present size."""
        return (full, compact, dry)[SIZES.index(self.size)]

    def keep(self, what: str, **facts: object) -> None:
        """Print a row and write it."""
        row = {"part": self.part, "what": what, "size": self.size}
        row |= {key: float(f"{x:.4g}") if isinstance(x, float) else x for key, x in facts.items()}
        self.rows.append(row)
        self.table.writerow({"card": self.card, **row})
        self.file.flush()
        told = "  ".join(f"{key}={row[key]}" for key in facts)
        print(f"{self.part}  {self.size:<8}{what:<50} {told}", flush=True)

    def attempt(self, what: str, call: Callable[[], object]) -> None:
        """Run it; not enough memory, or anything else that this device or torch cannot do, is a row of its own."""
        if self.left < 0:
            self.keep(what, note="no time left")
            return
        try:
            call()
        except torch.OutOfMemoryError:
            self.keep(what, note="does not fit into the device's memory")
        except Exception as error:  # whatever it is, the rest goes on
            lines = str(error).strip().splitlines() or [""]
            self.keep(what, note=f"{type(error).__name__}: {lines[0][:160]}")
        finally:
            if self.device.type == "cuda":
                torch.cuda.empty_cache()

    def time(self, call: Callable[[], object], rounds: int = 5, warm: int = 2) -> tuple[float, float]:
        """The least seconds of a call, and MiB of device memory above what was in use before (0 on a CPU)."""
        for _ in range(warm):
            call()
        before, best = self.memory(reset=True), float("inf")
        for _ in range(rounds):
            best = min(best, seconds_of(call))
            if self.left < 0:
                break
        return best, (self.memory() - before) / MIB

    def memory(self, reset: bool = False) -> int:
        """Bytes in use now if they are counted anew, else the most since."""
        if self.device.type != "cuda":
            return 0
        if reset:
            torch.cuda.reset_peak_memory_stats()
            return torch.cuda.memory_allocated()
        return torch.cuda.max_memory_allocated()
