"""Files of a run that are damaged, disks that are full or cannot be written: one line says what to do, and doing it
brings the run to the end it would have had."""

import os
import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import storage
from cluster.files.locks import run_lock
from games.hearts.game import HeartsGame
from learner.model.checkpoint import save_weights
from selfplay.config import TrainConfig
from selfplay.run_directory import RunDirectory
from tests.learner.material import tiny_net
from tests.selfplay.material import MADE, contents, remove, run, tiny_config
from tests.selfplay.test_resume import PowerCut, PowerCutError, plain

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="file systems are mounted by root alone")
SLOW = pytest.mark.slow
SHARD, WEIGHTS = "iterations/002/shards/00001.parquet", "iterations/001/checkpoint/model.safetensors"


def config_of(root: Path) -> TrainConfig:
    """A run with a tournament of each iteration, and one at the end."""
    config = plain(root)
    config.evaluation = tiny_config("").evaluation
    return config


@pytest.fixture
def interrupted(copy: Path) -> Path:
    """A copy of the run as it was before iteration 2 was trained."""
    remove(
        copy / "results",
        *(copy / f"iterations/002/{name}" for name in ("checkpoint", "metrics.json", "tournament.json")),
    )
    RunDirectory(str(copy)).write_state(2, "train")
    return copy


def finish(root: Path) -> None:
    """The same command again."""
    if not RunDirectory(str(root)).finished(2):
        run(config_of(root))


def flip(file: Path, place: int = 200) -> None:
    """Turn over one bit; in a shard among the tokens: pages have checksums, headers and footers are parsed."""
    content = bytearray(file.read_bytes())
    content[place] ^= 16
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def garble(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:20] + b"\xff")


def leave_alone(file: Path) -> None:
    """Of a checkpoint, that one file is there and nothing else."""
    remove(*(other for other in file.parent.iterdir() if other != file))


@pytest.mark.parametrize(
    ("damage", "name", "training"),
    [
        (flip, SHARD, True),
        (cut, WEIGHTS, False),
        (garble, "state.json", False),
        pytest.param(flip, SHARD, False, marks=SLOW),
        pytest.param(cut, SHARD, False, marks=SLOW),
        pytest.param(flip, WEIGHTS, False, marks=SLOW),
        pytest.param(flip, WEIGHTS, True, marks=SLOW),
        pytest.param(leave_alone, WEIGHTS, False, marks=SLOW),
        pytest.param(garble, "iterations/001/metrics.json", False, marks=SLOW),
        pytest.param(garble, "iterations/001/tournament.json", False, marks=SLOW),
    ],
)
def test_a_damaged_file_is_named_and_made_again_once_it_is_removed(damage, name, training, finished, interrupted):
    if training:
        with pytest.raises(PowerCutError):
            run(config_of(interrupted), partial(PowerCut, moment="training"))
        assert list(interrupted.glob("iterations/002/checkpoint.partial/step-*"))
    damage(interrupted / name)
    with pytest.raises(UserError) as refused:
        finish(interrupted)
    said = str(refused.value)
    assert said.startswith(f"{(interrupted / name).parent}") and "\n" not in said and "remove" in said
    directory = re.search(r"restore (\S+) or remove it", said)
    remove(Path(directory[1]) if directory else interrupted / name)
    finish(interrupted)
    assert contents(interrupted, *MADE) == contents(finished, *MADE)
    assert (interrupted / name).exists() and RunDirectory(str(interrupted)).finished(2)


@SLOW
def test_a_damaged_shard_of_an_earlier_iteration_that_is_learned_from_again_is_made_again(tmp_path: Path) -> None:
    config = plain(tmp_path / "run", replay_games=64)
    run(config)
    before = contents(tmp_path, f"run/{MADE[0]}", f"run/{MADE[1]}")
    shard = tmp_path / "run/iterations/000/shards/00002.parquet"
    remove(tmp_path / "run/iterations/002")
    cut(shard)
    with pytest.raises(UserError, match=f"^{shard}: .* remove the file, and the same command makes it anew$"):
        run(config)
    shard.unlink()
    assert f"{shard}" in run(config).generated
    assert contents(tmp_path, f"run/{MADE[0]}", f"run/{MADE[1]}") == before


@contextmanager
def mounted(place: Path) -> Iterator[Path]:
    """A file system of 256 KiB in memory."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@SLOW
@AS_ROOT
def test_a_disk_that_fills_up_is_named_and_the_run_goes_on_once_there_is_room(finished: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        with pytest.raises(UserError, match=r"disk/run/\S+ cannot be written \(No space left on device\); free some"):
            run(config_of(disk / "run"))
        assert not list((disk / "run").rglob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        run(config_of(disk / "run"))
        assert contents(disk / "run", *MADE) == contents(finished, *MADE)


@AS_ROOT
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        message = r"disk/run: .+ cannot be written to; change its permissions"
        with pytest.raises(UserError, match=message), run_lock(disk / "run"):
            pass
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def test_a_file_that_may_not_grow_any_more_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        message = r"cannot be written \(File too large\); raise the limit"
        with pytest.raises(UserError, match=f"checkpoint {message}"):
            save_weights(tmp_path / "checkpoint", tiny_net(HeartsGame()), HeartsGame())
        with pytest.raises(UserError, match=f"file {message}"):
            storage.write_bytes_atomic(tmp_path / "file", bytes(20_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
