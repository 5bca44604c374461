"""What actors leave in the run directory for people to read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.actors.connection import connect
from cluster.config import ClusterConfig
from cluster.errors import UserError
from cluster.watching import timeline
from games.config import GameConfig
from learner.config import EngineConfig
from search.config import SearchConfig
from selfplay.config import GamesConfig, InitialConfig
from selfplay.generator import GeneratorSettings
from selfplay.plan import Seating, ShardPlan
from selfplay.workers import RayWorkers
from tests.cluster.test_timeline import checked


def test_each_actor_has_a_log_and_each_shard_a_slice_of_the_timeline(tmp_path: Path) -> None:
    settings = GeneratorSettings(
        GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu"), GamesConfig(games_per_table=8)
    )
    plans = [ShardPlan(0, shard, 8, Seating.INITIAL, InitialConfig(), (), 1) for shard in range(3)]
    items = [(plan, f"{tmp_path}/{plan.name}") for plan in plans]
    cluster = ClusterConfig(num_cpus=2, num_gpus=0, generators=1)  # a second might start too late to get anything
    (tmp_path / "file").touch()
    with (
        connect(cluster),
        timeline.recorded(f"{tmp_path}/timeline.json"),
        RayWorkers(cluster, settings, log_dir=f"{tmp_path}/logs") as workers,
    ):
        assert len(list(workers.generate(items, print))) == 3
        with pytest.raises(UserError, match="cannot be written"):
            list(workers.generate([(replace(plans[0], shard=3), f"{tmp_path}/file/3.parquet")], print))
    logs = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
    assert logs.keys() == {"generators-0.log"}
    together = "".join(logs.values())
    assert together.count(".parquet: done in ") == 3
    assert together.count("file/3.parquet: failed after ") == 1 and "Traceback" in together
    events = checked(tmp_path / "timeline.json")
    tracks = {event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    assert tracks == {"generators-0"}, json.dumps(events, indent=1)
    played = [event["name"] for event in events if event["ph"] == "B"]
    assert sorted(played[:3]) == [path for _, path in items] and played[3].endswith("file/3.parquet")
