"""Where the parts run: the device, the sizes, the time that is left, and the rows that they found."""

import time
from collections.abc import Callable

import torch
from _bench import MIB, seconds_of


class Setting:
    """One run of G1 … G8.

    Args:
        device: "cuda" or "cpu".
        tiny: sizes that only try the code.
        rate: FLOP/s of a bfloat16 product here, for MFU and limits.
        seconds_each: for each method and seed of G8.
    """

    def __init__(self, device: str, tiny: bool, rate: float, seconds_each: float):
        self.device, self.tiny, self.rate = torch.device(device), tiny, rate
        self.seconds_each = 0.2 if tiny else seconds_each
        self.rows: list[dict] = []
        self.part, self.end = "", 0.0

    def begin(self, part: str, seconds: float) -> None:
        self.part, self.end = part, time.perf_counter() + seconds

    def size(self, whole: int, tiny: int) -> int:
        return tiny if self.tiny else whole

    def keep(self, what: str, **facts: object) -> None:
        """Print a row and keep it; for a curve, the number of its points is printed."""
        row = {"part": self.part, "what": what}
        row |= {key: float(f"{x:.4g}") if isinstance(x, float) else x for key, x in facts.items()}
        self.rows.append(row)
        shown = {key: f"{len(value)} points" if isinstance(value, list) else value for key, value in row.items()}
        told = "  ".join(f"{key}={value}" for key, value in shown.items() if key not in ("part", "what"))
        print(f"{self.part}  {what:<46} {told}", flush=True)

    def attempt(self, what: str, call: Callable[[], object]) -> object:
        """Run it; not enough memory, or anything else that this device or torch cannot do, is a row of its own."""
        if time.perf_counter() > self.end:
            return self.keep(what, note="no time left")
        try:
            return call()
        except torch.OutOfMemoryError:
            self.keep(what, note="does not fit into the device's memory")
        except (
            RuntimeError,
            ValueError,
            TypeError,
            NotImplementedError,
            ImportError,
            AssertionError,
        ) as error:
            self.keep(what, note=f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}")
        finally:
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
        return None

    def time(self, call: Callable[[], object], rounds: int = 5, warm: int = 2) -> tuple[float, float]:
        """The least seconds of a call, and MiB of device memory above what was in use before (0 on a CPU)."""
        for _ in range(1 if self.tiny else warm):
            call()
        before = self._memory(reset=True)
        best = float("inf")
        for _ in range(1 if self.tiny else rounds):
            best = min(best, seconds_of(call))
            if time.perf_counter() > self.end:
                break
        return best, (self._memory() - before) / MIB

    def _memory(self, reset: bool = False) -> int:
        if self.device.type != "cuda":
            return 0
        if reset:
            torch.cuda.reset_peak_memory_stats()
            return torch.cuda.memory_allocated()
        return torch.cuda.max_memory_allocated()
