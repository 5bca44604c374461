"""The small runs that are disturbed, and what they have made when they are through."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from games.config import GameConfig
from games.registry import make_game
from games.shards import read_shard, shard_info
from tests.selfplay.commands import TINY

_SMALL = (
    "run.seed=5",
    "selfplay.iterations=2",
    "selfplay.initial_games=300",
    "selfplay.games_per_iteration=300",
    "selfplay.games_per_shard=10",
    "selfplay.gate.deals=10",
    "learner.num_epochs=100",
    "learner.max_steps=400",
    "learner.checkpoint_every_steps=20",
    "evaluation.deals_per_task=2",
    "cluster.generators=2",
    "cluster.evaluators=2",
    "cluster.item_timeout_s=8",
    "cluster.max_attempts=1000",
)
_AGAINST_RANDOM = "evaluation.curve=[{players: [argmax_val, random], deals: 30}]"
_HEARTS = (*TINY, *_SMALL, _AGAINST_RANDOM, "evaluation.final=[{players: [argmax_val, hearts_rules], deals: 30}]")
WORLDS = {
    "hearts": _HEARTS,
    "overlap": (*_HEARTS, "selfplay.staleness=1"),
    "crew": (
        "experiment=crew_demo",
        *TINY[1:],
        *_SMALL,
        _AGAINST_RANDOM,
        "evaluation.final=[{players: [argmax_val, crew_rules], deals: 30}]",
        "game.options.missions='1-3'",
        "selfplay.branches=1",  # labels and branches in later iterations, from which the policy learns
    ),
}
"""Settings of each run: stages in turns, stages side by side, and a game whose deals are of several kinds."""


def games(run: Path) -> Counter[tuple[str, int]]:
    """How often each (iteration, seed of a deal) was played into the shards of a run."""
    found = Counter[tuple[str, int]]()
    for path in sorted(run.glob("iterations/*/shards/*.parquet")):
        info = shard_info(path)
        rows = read_shard(path, make_game(info.game, GameConfig(info.game, dict(info.options)).options))
        found.update({(path.parts[-3], int(seed)) for seed in rows.deal_seed})
    return found


def made(run: Path, name: str = "") -> dict[str, dict[str, Any]]:
    """What a run has made, by kind and path; ``name``: what it called itself while it ran, where that was another."""
    groups = {
        "shards": ("iterations/*/shards/*",),
        "networks": ("iterations/*/checkpoint*/**/*.safetensors", "iterations/*/checkpoint*/config.json"),
        "results": ("iterations/*/gate.json", "iterations/*/tournament.json", "iterations/*/successes.json",
                    "results/tournament.json", "state.json"),
    }  # fmt: skip
    found: dict[str, dict[str, Any]] = {}
    for group, patterns in groups.items():
        paths = sorted(path for pattern in patterns for path in run.glob(pattern))
        read = (lambda path: _untimed(path, name or str(run))) if group == "results" else Path.read_bytes
        found[group] = {str(path.relative_to(run)): read(path) for path in paths}
    return found


def _untimed(path: Path, run: str) -> Any:
    """A JSON file, but for the seconds it took to play and for where the run lies."""
    content = json.loads(path.read_text().replace(run, "RUN"))
    for record in content if isinstance(content, list) else []:
        del record["seconds_per_turn"]
    return content


def compare(run: Path, calm: Path, name: str = "") -> dict[str, Any]:
    """What of a run is not as in one that was left alone; games that are missing or were played twice."""
    here, there = made(run, name), made(calm)
    different = [
        path
        for group in there
        for path in sorted(here[group].keys() | there[group].keys())
        if here[group].get(path) != there[group].get(path)
    ]
    expected, found = games(calm), games(run)
    return {
        "games": found.total(),
        "lost_games": (expected - found).total(),
        "doubled_games": (found - expected).total(),
        "different": different,
    }
