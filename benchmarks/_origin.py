"""Where a recorded table comes from: written beside it, read by `contrast_kit.data.recorded`."""

import json
import platform
import subprocess
from pathlib import Path

import torch
import transformers


def write_origin(
    table: Path, script: str, seconds: float, settings: dict, options: str = "--out data/recorded"
) -> None:
    """`NAME.json` beside `NAME.csv`: command, device, versions, commit, seconds, settings."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    origin = {
        "command": f"python benchmarks/{script}.py {options}",
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine() + " CPU",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "commit": subprocess.run(git, capture_output=True, text=True).stdout.strip(),
        "seconds": round(seconds),
        "settings": settings,
    }
    table.with_suffix(".json").write_text(json.dumps(origin, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
