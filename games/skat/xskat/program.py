"""The program XSkat, where it is installed, and the deals that it plays against itself."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from games.skat.xskat.log import split_log

_CHUNK = 300
"""Deals of one run: the list keeps the last 360."""
_SECONDS = 120


class XSkatError(ValueError):
    """XSkat is missing or did not do what was asked of it; one line."""


def program() -> str:
    """Path of XSkat; ``XSkatError`` where it is not installed."""
    path = shutil.which("xskat") or shutil.which("xskat", path="/usr/games")
    if path is None:
        raise XSkatError("xskat is not installed; apt-get install xskat")
    return path


def self_play(games: int, seed: int) -> Iterator[tuple[str, int]]:
    """Deals that XSkat plays against itself: each as the log has it, with the points the list has for it (what the
    soloist won, or twice what it lost as a negative number; 0 where all passed)."""
    path = program()
    for number, begin in enumerate(range(0, games, _CHUNK)):
        yield from _run(path, min(_CHUNK, games - begin), seed + number)


def _run(path: str, games: int, seed: int) -> Iterator[tuple[str, int]]:
    with tempfile.TemporaryDirectory() as directory:
        log, scores, deals = (Path(directory) / name for name in ("log", "list", "deals"))
        deals.write_text(f"random_seed {seed} 0 2\n")
        command = [path, "-auto", str(games), "-game", str(deals), "-log", str(log), "-list", str(scores), "-unfmt"]
        command += ["-lang", "english"]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise XSkatError(f"xskat: has not played {games} deals in {_SECONDS} s") from None
        if ended.returncode != 0 or not log.exists() or not scores.exists():
            raise XSkatError(f"xskat: exit {ended.returncode}: {ended.stderr.strip() or 'no log was written'}")
        entries = [line.split() for line in scores.read_text().splitlines() if line.startswith("e ")]
        played = list(split_log(log.read_text()))
    if len(played) != games or len(entries) != games:
        raise XSkatError(f"xskat: {games} games asked, {len(played)} in its log and {len(entries)} in its list")
    yield from zip(played, (int(value) * (1 if won == "1" else -1) for *_, value, won in entries), strict=True)
