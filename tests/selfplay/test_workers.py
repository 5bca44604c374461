"""Actors on a Ray of this machine."""

import numpy as np
import pytest

from cluster.actors import pool
from cluster.config import ClusterConfig
from games.config import GameConfig
from games.hearts.game import HeartsGame
from learner.config import EngineConfig
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask, EvaluatorSettings
from search.arena.tournament.matches import merge, play_deals
from search.arena.tournament.workers import tournament_workers
from search.config import SearchConfig
from search.roster.registry import make_players

PLAYERS = ("hearts_rules", "random")


def test_an_evaluator_says_how_far_it_is_while_it_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few places a task takes seconds, in which it is asked many times."""
    monkeypatch.setattr(pool, "_TICK_SECONDS", 0.1)
    game, search, engine = GameConfig("hearts"), SearchConfig(), EngineConfig(device="cpu")
    cluster = ClusterConfig(num_cpus=2, num_gpus=0, evaluators=1)
    settings = EvaluatorSettings(game, search, engine, 14)
    tasks = [DealsTask(settings, PLAYERS, "", Deals(1, 90, first)) for first in (0, 90)]
    seen: list[tuple[int, dict[str, float]]] = []
    done = []
    with tournament_workers(cluster) as evaluate:
        for _, matches in evaluate(tasks, lambda so_far: seen.append((len(done), dict(so_far)))):
            done.append(matches)
    early = [so_far for finished, so_far in seen if finished == 0 and so_far.get("decisions", 0) > 0]
    assert early, "nothing was heard of the first task before it was done"
    assert max(so_far["decisions"] for so_far in early) <= done[0].decisions.sum()
    hearts = HeartsGame()
    alone = play_deals(hearts, make_players(PLAYERS, hearts, search), Deals(1, 180))
    assert np.array_equal(merge(done, Deals(1, 180)).points, alone.points)
