"""Tables: legality, seeds, bad input; decisions and deals do not depend on those beside them."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from numba.core.event import trigger_event

from games.conformance import check_game
from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many, keyed_hash
from learner.config import EngineConfig
from search.config import SearchConfig
from search.players.argmax_val import ArgmaxVal
from search.players.asking import Deciding
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation
from search.players.player import Player, Turns
from search.players.random_player import RandomPlayer, choose_uniformly
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import make_players, resolve, seat_players
from tests.search.models import FunctionModel, hash_model
from tests.search.state_models import NO_PASS, LinearStates
from tests.search.toy import ToyGame
from tests.search.turns import Recorder, turns_in, turns_of


class Stubborn(RandomPlayer):
    """Always answers the same."""

    def __init__(self, answer: object) -> None:
        super().__init__("stubborn")
        self.answer = answer

    def act(self, turns: Turns) -> np.ndarray:
        return np.full(len(turns.game), self.answer)


def both(count: int) -> np.ndarray:
    return np.tile([0, 1], (count, 1))


def test_the_toy_game_keeps_every_law() -> None:
    check_game(ToyGame())


def random_players() -> list[Player]:
    return [RandomPlayer(), RandomPlayer()]


def model_players() -> list[Player]:
    answers = hash_model(ToyGame(), nonsense=0.2)
    greedy = ArgmaxVal(FunctionModel(answers), ArgmaxValConfig(threshold=0.3))
    return [greedy, Imitation(FunctionModel(answers), ImitationConfig())]


@pytest.mark.parametrize("size", [1, 7, 63, 64, 1000])
@pytest.mark.parametrize("make", [random_players, model_players])
def test_places_are_taken_anew_as_deals_end_and_nothing_changes(make: Callable[[], list[Player]], size: int) -> None:
    game, seeds = ToyGame(), derive_many(7, 64)
    seating = np.array([[0, 1], [1, 0], [0, 0], [1, 1]] * 16)
    ended: list[int] = []
    refilled = play_table(game, make(), seating, seeds, size, lambda deals, _: ended.append(deals), secret=1)
    at_once = play_table(game, make(), seating, seeds, secret=1)
    assert refilled.states.tobytes() == at_once.states.tobytes()
    assert np.array_equal(refilled.decisions, at_once.decisions)
    assert sum(ended) == 64
    waves = -(-64 // size)  # deals of this game are equally long
    assert refilled.fill == pytest.approx(64 / (waves * min(size, 64)))


def test_what_was_computed_of_an_ended_deal_is_given_back() -> None:
    models = [FunctionModel(hash_model(ToyGame(), 0.2), limit=60) for _ in range(2)]
    players = [ArgmaxVal(models[0], ArgmaxValConfig()), Imitation(models[1], ImitationConfig())]
    play_table(ToyGame(), players, both(100), derive_many(1, 100), table_size=4, secret=1)
    assert not models[0].slots and not models[1].slots


def test_every_decision_is_counted_and_every_trick_is_somebodys() -> None:
    result = play_table(ToyGame(), [RandomPlayer(), RandomPlayer("other")], both(30), derive_many(3, 30), secret=1)
    assert result.decisions.tolist() == [60, 60]
    assert (result.seconds > 0).all()
    assert (result.points.sum(axis=1) == 2).all()
    assert result.points.dtype == np.float32 and result.labels.dtype == np.int32


def test_compiling_kernels_is_no_players_time() -> None:
    class Compiling(RandomPlayer):
        def act(self, turns: Turns) -> np.ndarray:
            with trigger_event("numba:compile"):
                time.sleep(0.05)
            return super().act(turns)

    result = play_table(ToyGame(), [Compiling(), RandomPlayer()], both(4), derive_many(3, 4), table_size=1, secret=1)
    assert 0 < result.seconds[0] < 0.05 * result.decisions[0] / 2


def test_a_subclass_of_an_asking_player_that_overrides_act_decides_by_it() -> None:
    class Recording(ArgmaxVal):
        decided = 0

        def act(self, turns: Turns) -> np.ndarray:
            self.decided += len(turns.game)
            return super().act(turns)

    game = ToyGame()
    player = Recording(FunctionModel(hash_model(game, 0.02)), ArgmaxValConfig())
    played = play_table(game, [player, RandomPlayer()], both(5), derive_many(1, 5), secret=2)
    assert player.decided == played.decisions[0] > 0


@pytest.mark.parametrize("answer", [None, [0.5]])
def test_what_is_no_answer_of_an_asking_player_names_it(answer: object) -> None:
    class Silent(ArgmaxVal):
        def deciding(self, turns: Turns) -> Deciding:
            yield from ()
            return answer  # type: ignore[return-value]

    game = ToyGame()
    players = [Silent(FunctionModel(hash_model(game, 0.02)), ArgmaxValConfig()), RandomPlayer()]
    with pytest.raises(ValueError, match="player 'argmax_val' answered 1 turns"):
        play_table(game, players, both(1), derive_many(1, 1), secret=2)


def test_a_player_is_shown_its_own_seats_history_a_seed_that_follows_from_the_deal_and_the_rest_if_it_says_so() -> None:
    game, seeds, player, peeking = ToyGame(), derive_many(3, 8), Recorder(), Recorder(sees_hidden=True)
    play_table(game, [player, peeking], np.array([[0, 1], [1, 0]] * 4), seeds, secret=1)
    assert all(turns.hidden is not None and len(turns.hidden) == len(turns.game) for turns in peeking.seen)
    for turns in player.seen:
        assert np.array_equal(turns.seat, turns.game % 2)
        assert np.array_equal(turns.tokens[:, 0], 5 + turns.seat)
        assert np.array_equal(turns.seeds, keyed_hash(1, seeds[turns.game], turns.seat, turns.lengths))
        assert turns.hidden is None


@pytest.mark.parametrize("token", [4, 7, -1, 1000])
def test_an_illegal_answer_names_player_game_and_token(token: int) -> None:
    seeds = derive_many(3, 20)
    with pytest.raises(ValueError, match=rf"'stubborn' chose token {token} in game \d+, seat \d; legal are"):
        play_table(ToyGame(), [Stubborn(token)], np.zeros((20, 2), int), seeds, secret=1)


@pytest.mark.parametrize(
    ("seating", "message"),
    [
        (np.zeros((3, 2), int), "seating has shape"),
        (np.zeros((2, 3), int), "seating has shape"),
        (np.ones((2, 2), int), "there are 1"),
        (np.full((2, 2), -1), "there are 1"),
    ],
)
def test_a_seating_that_does_not_fit_is_refused(seating: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        play_table(ToyGame(), [RandomPlayer()], seating, derive_many(3, 2), secret=1)


def test_the_random_player_is_uniform_over_legal_actions() -> None:
    legal = np.tile([True, False, True, True, False], (30_000, 1))
    counts = np.bincount(choose_uniformly(legal, derive_many(5, len(legal))), minlength=5)
    assert counts[1] == counts[4] == 0
    assert np.abs(counts[[0, 2, 3]] - 10_000).max() < 400  # nearly five standard deviations


GAME = HeartsGame()


def turns(count: int) -> Turns:
    """The first decisions of so many deals, but for those without passing: which of 13 cards to pass."""
    every = turns_in(GAME, GAME.deal(derive_many(3, count)), derive_many(9, count))
    return every.take(np.flatnonzero(every.legal.sum(axis=1) == 13))


def test_as_often_as_was_asked_an_action_is_uniform_over_the_legal_ones() -> None:
    players = make_players(["hearts_rules", "hearts_rules:explore=0.3", "hearts_rules:explore=1"], GAME, SearchConfig())
    assert [player.name for player in players][1:] == ["hearts_rules:explore=0.3", "hearts_rules:explore=1"]
    asked = turns(20_000)
    for player in players:
        player.start(GAME, 20_000)
    usual, sometimes, always = (player.act(asked) for player in players)
    assert abs((sometimes != usual).mean() - 0.3 * 12 / 13) < 0.015  # one time in 13 it is the same card
    assert (always == sometimes)[sometimes != usual].all()
    place = (asked.legal.cumsum(axis=1) - 1)[np.arange(len(always)), always]
    assert np.abs(np.bincount(place, minlength=13) / len(place) - 1 / 13).max() < 0.01  # five standard deviations


# ---- what a player decides does not depend on what is decided beside it


class Answering(Engines):
    """Models without a network in the place of engines."""

    def __init__(self, game: Game) -> None:
        super().__init__(game, EngineConfig(device="cpu"))
        self.model = FunctionModel(hash_model(game, 0.1))

    def get(self, checkpoint: str, utility: str = "", history: bool = True) -> FunctionModel:
        return self.model

    def reading(self, model_input: str, checkpoint: str, utility: str = "", history: bool = True) -> LinearStates:
        return LinearStates(self._game)


def made(game: Game, name: str) -> tuple[Player, FunctionModel]:
    engines = Answering(game)
    (player,) = seat_players(resolve([name], game, SearchConfig()), [name], game, engines)
    return player, engines.model


DECISIONS = [
    ("hearts", 20, "random:explore=0.5"),
    ("hearts", 20, "imitation"),
    ("hearts", 20, "go_mcts:num_runs=10"),
    ("hearts", 25, "pimc:worlds=20:runs=10"),
    ("hearts", 40, "pimc:worlds=3:candidates=6:runs=20"),
    ("hearts", 40, "pimc:worlds=3:evaluator=network"),
    ("hearts", 40, "pimc:worlds=3:evaluator=value"),
    ("hearts", 30, "pimc:worlds=4:evaluator=playouts:blueprint=network:confidence=0.5"),
    ("hearts no pass", 20, "alphahearts:worlds=3:iterations=4"),
    ("hearts no pass", 20, "q_values:worlds=3"),
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
