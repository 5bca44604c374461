"""Requests, bytes and seconds of what a run asks object storage for."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.fs
import pyarrow.parquet as pq

from benchmarks.plain import network
from benchmarks.report import Case
from cluster.files import copies, storage
from games.hearts.game import HeartsGame
from games.shards import write_shard
from learner.config import TransformerConfig
from learner.model.checkpoint import TRAINING, save_weights
from learner.training.data import data_digest, load_data
from learner.training.policies.policy import PLAYED
from search.arena.partial_results import Parts
from selfplay.config import InitialConfig
from selfplay.plan import Seating, ShardPlan, check_shards
from tests.selfplay.material import random_deals
from tests.storage.server import BUCKET, S3Server
from tests.storage.slow_line import SlowLine

LINE_SECONDS = 0.03
RUN = f"s3://{BUCKET}/run"
GAME = HeartsGame()


def write_all(count: int) -> list[tuple[ShardPlan, str]]:
    """The shards of an iteration, of two deals each."""
    _, sequences = random_deals(GAME, 2)
    plans = [ShardPlan(0, shard, 2, Seating.INITIAL, InitialConfig(), (), 1) for shard in range(count)]

    def write(plan: ShardPlan) -> tuple[ShardPlan, str]:
        path = f"{RUN}/{count}/{plan.name}"
        write_shard(path, sequences, GAME, {"run_seed": "1", "iteration": "0", "shard": str(plan.shard)})
        return plan, path

    return list(storage.of_each(write, plans))


def between_stages(plans: Sequence[tuple[ShardPlan, str]]) -> None:
    """What a run does between its last shard and its first step."""
    paths = [path for _, path in plans]
    assert storage.existing(paths) == set(paths)
    check_shards(plans)
    with copies.fetched(paths) as shards:
        data_digest(shards)
        assert len(load_data(GAME, shards, PLAYED).lengths)


def naively(plans: Sequence[tuple[ShardPlan, str]]) -> None:
    """The same, question by question."""
    for ask in (_look, _footer, _whole, _footer, _rows):
        for _, path in plans:
            ask(*pyarrow.fs.FileSystem.from_uri(path))


def _look(filesystem: pyarrow.fs.FileSystem, name: str) -> None:
    filesystem.get_file_info(name)


def _footer(filesystem: pyarrow.fs.FileSystem, name: str) -> None:
    pq.ParquetFile(name, filesystem=filesystem, pre_buffer=True).close()


def _whole(filesystem: pyarrow.fs.FileSystem, name: str) -> None:
    with filesystem.open_input_stream(name) as stream:
        stream.read()


def _rows(filesystem: pyarrow.fs.FileSystem, name: str) -> None:
    with pq.ParquetFile(name, filesystem=filesystem, pre_buffer=True) as file:
        file.read()


def _written_naively(path: str, data: bytes) -> None:
    filesystem, name = pyarrow.fs.FileSystem.from_uri(path)
    filesystem.create_dir(name.rpartition("/")[0], recursive=True)
    with filesystem.open_output_stream(name) as stream:
        stream.write(data)


def of_files(line: SlowLine) -> list[Case]:
    """Requests of single files."""
    (_, sequences), some = random_deals(GAME, 2), os.urandom(2**16)
    provenance = {"run_seed": "1"}
    naive = line.counted(lambda: _written_naively(f"{RUN}/iterations/007/shards/naive", some))["requests"]
    pair = (
        ("shard_written", lambda: write_shard(f"{RUN}/iterations/007/shards/a", sequences, GAME, provenance), naive),
        ("part_written", lambda: Parts(f"{RUN}/result.parts").keep("0-10", {"points": np.zeros(10)}), naive),
    )
    cases = [_requests(name, line.counted(act)["requests"], theirs) for name, act, theirs in pair]
    read = line.counted(lambda: storage.read_bytes(f"{RUN}/iterations/007/shards/a"))["requests"]

    def question_by_question() -> None:
        for ask in (_footer, _whole, _footer, _rows):
            ask(*pyarrow.fs.FileSystem.from_uri(f"{RUN}/iterations/007/shards/a"))

    cases.append(_requests("shard_read", read, line.counted(question_by_question)["requests"]))
    return cases


def of_a_checkpoint(line: SlowLine) -> list[Case]:
    """Requests of one with a training's state, and what eight processes fetch of it."""
    with tempfile.TemporaryDirectory() as place:
        save_weights(f"{place}/new", network(GAME, TransformerConfig(n_layer=2, n_head=2, n_embd=256)), GAME)
        (training := Path(place) / "new" / TRAINING).mkdir()
        for name in ("state.json", "optimizer.safetensors"):
            (training / name).write_bytes(os.urandom(2**16))
        files = [file for file in Path(place).rglob("*") if file.is_file()]
        found = line.counted(lambda: storage.publish_directory(Path(place) / "new", f"{RUN}/checkpoint"))

        def one_by_one() -> None:
            for file in files:
                _written_naively(f"{RUN}/naive/checkpoint/{file.name}", file.read_bytes())

        apart = line.counted(one_by_one)["requests"]
        weights = next(file for file in files if file.name == "model.safetensors").stat().st_size
    written = _requests("checkpoint_written", found["requests"], apart)

    def for_each() -> None:
        with tempfile.TemporaryDirectory() as place:
            for number in range(8):
                copies.fetch(f"{RUN}/checkpoint", Path(place) / str(number))

    everything = line.counted(for_each)["bytes"]
    got = line.counted(lambda: _in_processes(8))["bytes"]
    return [written, Case("scale", "network_to_8_processes", got / weights, everything / weights, "weights", True)]


def _requests(name: str, ours: float, theirs: float) -> Case:
    return Case("scale", name, ours, theirs, "requests", less_is_better=True)


def _in_processes(count: int) -> None:
    """So many processes of this machine want the network at once."""
    program = f"from learner.model import checkpoint; checkpoint.find('{RUN}/checkpoint')"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KIBITZ_CACHE_DIR": cache}
        started = [subprocess.Popen([sys.executable, "-c", program], env=environment) for _ in range(count)]
        assert not any(process.wait() for process in started)


@contextmanager
def slow_storage() -> Iterator[SlowLine]:
    """The stand-in behind the line, which this process and those that it starts use meanwhile."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as directory:
        server = S3Server(Path(directory) / "log")
        line = SlowLine(server.address, LINE_SECONDS)
        try:
            os.environ.update({**server.environment, "AWS_ENDPOINT_URL": f"http://{line.address}"})
            yield line
        finally:
            os.environ.clear()
            os.environ.update(before)
            line.stop()
            server.stop()


def cases(full: bool) -> list[Case]:
    """Seconds between stages, and requests of single files and checkpoints."""
    count, few = (8_000 if full else 400), 20
    with slow_storage() as line:
        plans = write_all(count)
        ours = seconds_of(lambda: between_stages(plans))
        theirs = seconds_of(lambda: naively(plans[:few])) * count / few
        between = Case("scale", f"between_stages_{count}", ours, theirs, "s", less_is_better=True)
        return [between, *of_files(line), *of_a_checkpoint(line)]


def seconds_of(act: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
