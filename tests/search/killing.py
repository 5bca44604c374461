"""Real commands that are killed in the middle of their work."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def kill_after(command: Sequence[str], parts: Path, count: int) -> None:
    """Start ``python -m COMMAND``, and kill it as soon as so many files are in the directory ``parts``."""
    line = [sys.executable, "-m", *command]
    process = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not parts.is_dir() or len([path for path in parts.iterdir() if path.suffix == ".safetensors"]) < count:
            assert process.poll() is None and time.monotonic() < deadline, "it ended, or made no parts"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
