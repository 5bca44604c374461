"""Files of a run that are damaged, disks that are full or cannot be written: one line says what to do, and doing it
brings the run to the end it would have had."""

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import storage
from cluster.files.locks import run_lock
from cluster.watching.progress import OnProgress
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.model.architecture import architecture
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet
from learner.task import TrainingTask, run_task
from selfplay.config import InitialConfig
from selfplay.run_directory import RunDirectory
from tests.selfplay.material import InProcess, run, tiny_config
from tests.selfplay.test_loop import contents

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="file systems are mounted by root alone")
SHARD, WEIGHTS = "002/shards/00001.parquet", "001/checkpoint/model.safetensors"
WHOLE = ("iterations/*/shards/*.parquet", "iterations/*/checkpoint/model.safetensors")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("run") / "finished"
    run(tiny_config(str(root)))
    return root


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[200] ^= 16  # in a shard among the tokens: pages have checksums, headers and footers are parsed
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def half_written(file: Path) -> None:
    """Of a checkpoint, that one file is there and nothing else."""
    kept = file.read_bytes()
    shutil.rmtree(file.parent)
    file.parent.mkdir()
    file.write_bytes(kept)


@pytest.mark.parametrize(
    ("damage", "name", "training"),
    [
        (flip, SHARD, False),
        (flip, SHARD, True),
        (cut, SHARD, False),
        (flip, WEIGHTS, False),
        (flip, WEIGHTS, True),
        (cut, WEIGHTS, False),
    ],
)
def test_a_damaged_file_is_named_and_made_again_once_it_is_removed(
    damage: Callable[[Path], None], name: str, training: bool, finished: Path, tmp_path: Path
) -> None:
    root = interrupted(finished, tmp_path, training)
    damage(root / "iterations" / name)
    remove_what_is_named(root, root / "iterations" / name)
    finish(root)
    for pattern in WHOLE:
        assert contents(root, pattern) == contents(finished, pattern)


def test_a_damaged_shard_of_an_earlier_iteration_that_is_learned_from_again_is_made_again(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config.selfplay.replay_games = 64
    run(config)
    here = tmp_path / "run/iterations"
    before = contents(tmp_path / "run", WHOLE[0]) | contents(tmp_path / "run", WHOLE[1])
    shutil.rmtree(here / "002")
    shard = here / "000/shards/00002.parquet"
    cut(shard)
    with pytest.raises(UserError, match=f"^{shard}: .* remove the file, and the same command makes it anew$"):
        run(config)
    shard.unlink()
    assert f"{shard}" in run(config).generated
    assert contents(tmp_path / "run", WHOLE[0]) | contents(tmp_path / "run", WHOLE[1]) == before


def test_a_damaged_shard_is_named_before_successes_by_kind_of_deal_are_counted(tmp_path: Path) -> None:
    config = tiny_config(str(tmp_path / "run"))
    config.game = GameConfig("crew", {"missions": "1-3"})
    config.selfplay.initial, config.selfplay.iterations = InitialConfig(["crew_rules"]), 0
    run(config)
    shard = tmp_path / "run/iterations/000/shards/00001.parquet"
    cut(shard)
    (tmp_path / "run/iterations/000/metrics.json").unlink()
    with pytest.raises(UserError, match=f"^{shard}: .* remove the file, and the same command makes it anew$"):
        run(config)


def test_a_half_written_checkpoint_is_named_and_made_again_once_it_is_removed(finished: Path, tmp_path: Path) -> None:
    root = interrupted(finished, tmp_path, training=False)
    half_written(root / "iterations" / WEIGHTS)
    with pytest.raises(UserError, match="001/checkpoint/"):
        run(tiny_config(str(root)))
    shutil.rmtree(root / "iterations/001/checkpoint")
    finish(root)
    for pattern in WHOLE:
        assert contents(root, pattern) == contents(finished, pattern)


@pytest.mark.parametrize("name", ["state.json", "iterations/001/metrics.json", "iterations/001/tournament.json"])
def test_a_damaged_record_is_named_and_made_again_once_it_is_removed(name: str, finished: Path, tmp_path: Path) -> None:
    root = interrupted(finished, tmp_path, training=False)
    (root / name).write_bytes((root / name).read_bytes()[:20] + b"\xff")
    remove_what_is_named(root, root / name)
    finish(root)
    assert (root / name).exists() and RunDirectory(str(root)).finished(2)


def test_a_network_that_is_removed_from_a_finished_run_is_trained_again(finished: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(finished, tmp_path / "run"))
    shutil.rmtree(root / "iterations/001/checkpoint")
    assert not RunDirectory(str(root)).finished(2)
    finish(root)
    for pattern in WHOLE:
        assert contents(root, pattern) == contents(finished, pattern)


def interrupted(finished: Path, tmp_path: Path, training: bool) -> Path:
    """A copy of a run as it was before iteration 2 was trained, or in the middle of that."""
    root = Path(shutil.copytree(finished, tmp_path / "run"))
    last = root / "iterations/002"
    for name in ("checkpoint", "metrics.json", "tournament.json"):
        shutil.rmtree(last / name) if (last / name).is_dir() else (last / name).unlink()
    shutil.rmtree(root / "results")
    storage.write_json_atomic(root / "state.json", {"format": 1, "iteration": 2, "stage": "train"})
    if training:
        config = tiny_config(str(root))
        config.learner.checkpoint_every_steps = config.learner.log_every_steps = 1
        with pytest.raises(PowerCutError):
            run(config, PowerCut)
        assert list((last / "checkpoint.partial").glob("step-*"))
    return root


class PowerCutError(Exception):
    """The power is gone."""


class PowerCut(InProcess):
    """Training ends after its second step."""

    def train(self, task: TrainingTask, on_progress: OnProgress) -> Mapping[str, float]:
        def cut(metrics: Mapping[str, float]) -> None:
            if metrics["step"] == 2:
                raise PowerCutError

        return run_task(task, cut)


def remove_what_is_named(root: Path, damaged: Path) -> None:
    """See a run refuse to go on because of a file, in one line, and remove what its message says."""
    with pytest.raises(UserError) as refused:
        finish(root)
    message = str(refused.value)
    assert message.startswith(f"{damaged}") and "\n" not in message and "remove" in message
    directory = re.search(r"restore (\S+) or remove it", message)
    shutil.rmtree(directory[1]) if directory else damaged.unlink()


def finish(root: Path) -> None:
    """The same command again."""
    if not RunDirectory(str(root)).finished(2):
        run(tiny_config(str(root)))


@contextmanager
def mounted(place: Path) -> Iterator[Path]:
    """A file system of 256 KiB in memory."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@AS_ROOT
def test_a_disk_that_fills_up_is_named_and_the_run_goes_on_once_there_is_room(finished: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        with pytest.raises(UserError, match=r"disk/run/\S+ cannot be written \(No space left on device\); free some"):
            run(tiny_config(str(disk / "run")))
        assert not list((disk / "run").rglob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        run(tiny_config(str(disk / "run")))
        for pattern in WHOLE:
            assert contents(disk / "run", pattern) == contents(finished, pattern)


@AS_ROOT
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        message = r"disk/run: .+ cannot be written to; change its permissions"
        with pytest.raises(UserError, match=message), run_lock(disk / "run"):
            pass
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def test_a_file_that_may_not_grow_any_more_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    net = PolicyValueNet(architecture(HeartsGame(), tiny_config("unused").model))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        message = r"cannot be written \(File too large\); raise the limit"
        with pytest.raises(UserError, match=f"checkpoint {message}"):
            save_weights(tmp_path / "checkpoint", net, HeartsGame())
        with pytest.raises(UserError, match=f"file {message}"):
            storage.write_bytes_atomic(tmp_path / "file", bytes(20_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
