"""Conversions that are killed: nothing looks finished, and the same command ends in the same bytes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from search.scripted.skat.records.__main__ import main
from tests.games.skat.writing import records_of
from tests.search.records.test_conversion import random_states
from tests.search.records.test_records import LINES

pytestmark = pytest.mark.slow
OPTIONS = ("--deals-per-shard", "250", "--partial", "--drop-duplicates")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some thousand games, some cut short, all of them twice, with real ones and lines that are no records between."""
    home = tmp_path_factory.mktemp("source")
    shortened = np.random.default_rng(5).integers(1, 100, 3000)
    games = records_of(random_states(5, 3000), shortened).splitlines()
    lines = [*LINES, *games[:300], "hello", "x" * 70_000, "", *games[300:], *games, "tschüss"]
    (home / "games.sgf").write_text("\n".join(lines))
    return home / "games.sgf"


@pytest.fixture(scope="module")
def whole(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a conversion in one go writes."""
    out = tmp_path_factory.mktemp("whole") / "out"
    assert convert(source, out) == 0
    return written(out)


def convert(source: Path, out: Path) -> int:
    return main(["convert", str(source), "--out", str(out), *OPTIONS])


def written(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def kill_once(command: list[str], due: Callable[[], bool]) -> None:
    """Start a command in a process of its own, and kill it as soon as something is so."""
    started = [sys.executable, "-m", "search.scripted.skat.records", *command]
    with subprocess.Popen(started, stderr=subprocess.DEVNULL) as process:
        while not due() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"


def said(out: Path) -> dict[str, Any]:
    path = out / "progress.json"
    return json.loads(path.read_text()) if path.exists() else {"shards": []}


def shards_said(out: Path) -> int:
    return len(said(out)["shards"])


def test_a_killed_conversion_goes_on_and_ends_in_the_same_bytes(source, whole, tmp_path, capsys) -> None:
    out = tmp_path / "out"
    for shards in (3, 9):
        kill_once(["convert", str(source), "--out", str(out), *OPTIONS], lambda: shards_said(out) >= shards)  # noqa: B023
        assert not (out / "conversion.json").exists() and shards <= shards_said(out) < len(whole) - 4
    times = {path: path.stat().st_mtime_ns for path in (out / shard for shard in said(out)["shards"])}
    assert convert(source, out) == 0
    assert f"{out}: going on behind line" in capsys.readouterr().err
    assert written(out) == whole
    assert times == {path: path.stat().st_mtime_ns for path in times}, "finished shards were written again"


def test_what_a_killed_conversion_had_not_finished_is_written_over(source, whole, tmp_path) -> None:
    out = tmp_path / "out"
    kill_once(["convert", str(source), "--out", str(out), *OPTIONS], lambda: shards_said(out) >= 4)
    stretch = said(out)["stretch"]
    (out / f"shard_{stretch:05d}.parquet").write_bytes(b"half a shard")
    (out / f".shard_{stretch:05d}.parquet.0123.tmp").write_bytes(b"half a shard")
    for name in ("left_out.txt", "games.sgf.rejected"):
        with (out / name).open("a") as file:
            file.write("line 123456: half a li")
    assert convert(source, out) == 0
    assert written(out) == whole


@pytest.mark.parametrize("lost", ["partial/partial_00001.parquet", "left_out.txt"])
def test_where_a_finished_file_is_gone_all_is_done_again(lost, source, whole, tmp_path, capsys) -> None:
    out = tmp_path / "out"
    kill_once(["convert", str(source), "--out", str(out), *OPTIONS], lambda: shards_said(out) >= 4)
    (out / lost).unlink()
    assert convert(source, out) == 0
    assert f"{out / lost}: is not what it was; converting from the beginning" in capsys.readouterr().err
    assert written(out) == whole
