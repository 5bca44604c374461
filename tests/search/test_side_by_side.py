"""What a player decides does not depend on what is decided beside it."""

import numpy as np
import pytest

from games.game import Game
from games.registry import make_game
from games.rng import derive_many
from learner.config import EngineConfig
from search.config import SearchConfig
from search.players.player import Player
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import resolve, seat_players
from tests.search.models import FunctionModel, hash_model
from tests.search.state_models import NO_PASS, LinearStates
from tests.search.turns import turns_of


class Answering(Engines):
    """Models without a network in the place of engines."""

    def __init__(self, game: Game) -> None:
        super().__init__(game, EngineConfig(device="cpu"))
        self.model = FunctionModel(hash_model(game, 0.1))

    def get(self, checkpoint: str, utility: str = "", history: bool = True) -> FunctionModel:
        return self.model

    def state_model(self, checkpoint: str) -> LinearStates:
        return LinearStates(self._game)


def made(game: Game, name: str) -> tuple[Player, FunctionModel]:
    engines = Answering(game)
    (player,) = seat_players(resolve([name], game, SearchConfig()), [name], game, engines)
    return player, engines.model


DECISIONS = [
    ("hearts", 20, "random:explore=0.5"),
    ("hearts", 20, "imitation"),
    ("hearts", 20, "go_mcts:num_runs=10:lanes=4"),
    ("hearts", 25, "pimc:worlds=20:runs=10"),
    ("hearts", 40, "pimc:worlds=3:candidates=6:runs=20"),
    ("hearts", 40, "pimc:worlds=3:evaluator=network"),
    ("hearts", 40, "pimc:worlds=3:evaluator=value"),
    ("hearts", 30, "pimc:worlds=4:evaluator=playouts:blueprint=network:confidence=0.5"),
    ("hearts no pass", 20, "alphahearts:worlds=3:iterations=4"),
    ("hearts no pass", 20, "q_values:worlds=3"),
    *(("hearts", 8, f"is_mcts:runs=20:observers={observers}") for observers in ("single", "multiple", "private")),
]


@pytest.mark.parametrize(("game", "plies", "name"), DECISIONS, ids=[name for *_, name in DECISIONS])
def test_decisions_are_the_same_alone_side_by_side_and_turned_round(game, plies, name, monkeypatch) -> None:
    rules = make_game(game) if game == "hearts" else NO_PASS
    turns, (player, model) = turns_of(rules, 5, plies), made(rules, name)
    count = len(turns.seeds)

    def decided(rows: np.ndarray) -> list[int]:
        player.start(rules, 8)
        return player.act(turns.take(rows)).tolist()

    together = decided(np.arange(count))
    assert count > 2 and decided(np.arange(count)[::-1])[::-1] == together
    assert [decided(np.array([row]))[0] for row in range(count)] == together
    monkeypatch.setattr("search.players.worlds_player._CANDIDATES", 12)  # two turns at a time
    assert decided(np.arange(count)) == together
    player.start(rules, 8)
    assert not model.slots


DEALS = [
    ("crew", "crew_rules"),
    *((game, "pimc:worlds=6:candidates=12:evaluator=playouts:beliefs=scripted:confidence=1") for game in
      ("hearts", "skat", "crew")),
    ("skat", "pimc:worlds=2:evaluator=solver"),
    ("skat", "is_mcts:runs=4:observers=multiple"),
    ("crew", "is_mcts:runs=4"),
    ("openspiel:leduc_poker", "pimc:worlds=3:runs=20"),
    ("openspiel:leduc_poker", "openspiel:simulations=4"),
    ("samegame", "mcts:simulations=5"),
    ("samegame", "mcts:simulations=9:rollout=tabu:equal=0"),
    ("samegame", "sp_mcts:simulations=4:restarts=2"),
    ("samegame", "nrpa:level=1:iterations=6"),
]  # fmt: skip


@pytest.mark.parametrize(("game", "name"), DEALS)
def test_whole_deals_are_the_same_at_a_table_of_one(game: str, name: str) -> None:
    rules = make_game(game, {"rows": 4, "columns": 4, "colours": 3} if game == "samegame" else {})
    seeds, seating = derive_many(7, 3), np.zeros((3, rules.num_players), np.int64)
    tables = [play_table(rules, [made(rules, name)[0]], seating, seeds, size, secret=5) for size in (3, 1)]
    tokens = [rules.histories(table.states, np.zeros(3, np.int64))[0].tolist() for table in tables]
    assert tokens[0] == tokens[1] and (tables[0].labels == tables[1].labels).all() and (tables[0].labels >= 0).all()
