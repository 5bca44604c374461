"""PIMC: Algorithm 2 by hand, the worlds it judges, and whole deals."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.registry import make_game
from games.rng import derive_many
from games.skat.cards import FIRST_BID, PASS
from games.skat.game import SkatGame
from search.config import SearchConfig
from search.pimc import player as pimc
from search.pimc.config import PimcConfig
from search.pimc.player import Pimc
from search.players.player import Turns
from search.players.playouts import play_out
from search.players.random_player import RandomPlayer
from search.players.table import turns_at
from search.roster import kinds
from search.roster.registry import make_players
from search.scripted.skat.config import SkatRulesConfig
from search.scripted.skat.rules.player import SkatRules
from search.scripted.skat.solver.solve import Solver
from tests.search.models import FunctionModel, History

GAMES = [HeartsGame(), SkatGame(), CrewGame(), make_game("openspiel:leduc_poker")]
SMALL = PimcConfig(worlds=3, runs=20)


def player_of(game: Game, config: PimcConfig = SMALL, model: FunctionModel | None = None) -> Pimc:
    player = Pimc(model, config, kinds.support_of(game))
    player.start(game, 8)
    return player


def turns_of(game: Game, count: int, plies: int) -> Turns:
    """Decisions with a choice, of so many deals each after ``plies`` random actions; true states among them."""
    states = game.deal(derive_many(3, count))
    random = RandomPlayer()
    for ply in range(plies):
        seats = game.to_move(states).astype(np.int64)
        game.play(states, random.act(turns_at(game, states, np.arange(count), seats, derive_many(4, count), ply)))
    seats = game.to_move(states).astype(np.int64)
    turns = turns_at(game, states, np.arange(count), seats, derive_many(4, count), 1)
    return replace(turns, hidden=states).take(np.flatnonzero(turns.legal.sum(axis=1) > 1))


def told(game: Game, config: PimcConfig, turns: Turns, monkeypatch: pytest.MonkeyPatch, answer: Callable) -> np.ndarray:
    """What the player does where ``answer(worlds)`` is what the evaluator says."""
    monkeypatch.setattr(pimc, "EVALUATORS", {"uct": lambda pimc, worlds, *rest: answer(worlds)})
    return player_of(game, config).act(turns)


def test_the_values_of_an_action_are_summed_over_the_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    # Algorithm 2 by hand: the first action is the best in two worlds of three, the second has the highest sum.
    turns = turns_of(HeartsGame(), 2, 30)
    first, second = np.nonzero(turns.legal[0])[0][:2]

    def answer(worlds: np.ndarray) -> np.ndarray:
        values = np.full((3, turns.legal.shape[1]), -np.inf)
        values[:, turns.legal[0]] = 0.1
        values[:, first], values[:, second] = [0.5, 0.5, 0.0], [0.4, 0.4, 0.9]
        return values

    assert told(HeartsGame(), SMALL, turns.take(np.array([0])), monkeypatch, answer).tolist() == [second]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_worlds_agree_with_what_the_seat_has_seen(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, seen = turns_of(game, 6, 2), []

    def answer(worlds: np.ndarray) -> np.ndarray:
        seen.append(worlds)
        return np.where(np.repeat(turns.legal, 3, axis=0), 0.0, -np.inf)

    told(game, SMALL, turns, monkeypatch, answer)
    tokens, lengths = game.histories(seen[0], game.to_move(seen[0]))
    np.testing.assert_array_equal(tokens, np.repeat(turns.tokens, 3, axis=0))
    np.testing.assert_array_equal(lengths, np.repeat(turns.lengths, 3))


def test_a_cheating_twin_judges_the_true_deal_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    game, config = HeartsGame(), replace(SMALL, cheat=True)
    turns, seen = turns_of(game, 4, 30), []

    def answer(worlds: np.ndarray) -> np.ndarray:
        seen.append(worlds)
        return np.where(np.repeat(turns.legal, 3, axis=0), 0.0, -np.inf)

    told(game, config, turns, monkeypatch, answer)
    np.testing.assert_array_equal(seen[0], np.repeat(turns.hidden, 3))
    assert player_of(game, config).sees_hidden and not player_of(game).sees_hidden


def declared(count: int) -> Turns:
    """Decisions in Skat's card play between rule-based players, in games of all kinds, two tricks gone."""
    game, player = SkatGame(), SkatRules(SkatRulesConfig(noise=2.0))
    states = game.deal(derive_many(5, count))
    player.start(game, count)
    while (rows := np.flatnonzero((states["public"]["num_played"] < 6) & (game.to_move(states) >= 0))).size:
        current = states[rows]
        seats = game.to_move(current).astype(np.int64)
        game.play(current, player.act(turns_at(game, current, rows, seats, derive_many(6, count)[rows], 1)))
        states[rows] = current
    states = states[game.to_move(states) >= 0]
    seats = game.to_move(states).astype(np.int64)
    turns = turns_at(game, states, np.arange(len(states)), seats, derive_many(4, len(states)), 1)
    return replace(turns, hidden=states).take(np.flatnonzero(turns.legal.sum(axis=1) > 1))


def test_the_solver_values_a_card_by_who_wins_after_it() -> None:
    game, turns = SkatGame(), declared(30)
    assert turns.hidden is not None and len(turns.seat) > 15
    values = player_of(game, PimcConfig(worlds=1, evaluator="solver", cheat=True)).values(turns)
    both = set[tuple[bool, bool]]()
    for row, state in enumerate(turns.hidden):
        for card in np.flatnonzero(turns.legal[row]):
            after = np.array([state])
            game.play(after, np.array([card]))
            mine = bool(state["public"]["turn"] == state["public"]["soloist"])
            assert values[row, card] == (bool(Solver().wins(after)[0]) == mine)
            both.add((mine, bool(values[row, card])))
        assert np.isneginf(values[row, ~turns.legal[row]]).all()
    assert len(both) == 4  # soloists and defenders, cards that win and cards that lose


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_playouts_value_an_action_by_how_scripted_players_end_it(game: Game) -> None:
    turns = turns_of(game, 3, 2)
    assert turns.hidden is not None
    config = PimcConfig(worlds=1, evaluator="playouts", cheat=True)
    values, utility = player_of(game, config).values(turns), game.outcomes.utility("")
    scripted = make_players([kinds.baseline(game) or "random"], game, SearchConfig())[0]
    for row, state in enumerate(turns.hidden):
        for action in np.flatnonzero(turns.legal[row]):
            after = np.array([None], object) if game.name.startswith("openspiel") else np.empty(1, turns.hidden.dtype)
            after[0] = state
            game.play(after, np.array([action]))
            found = set[float]()
            for seed in range(1 if kinds.baseline(game) else 60):
                ends = after.copy()
                play_out(game, scripted, ends, derive_many(seed, 1))
                found.add(float(utility[game.outcome(ends)[0, turns.seat[row]]]))
            assert values[row, action] in found


def test_the_solver_bids_without_jumps() -> None:
    values = player_of(SkatGame(), PimcConfig(worlds=4, evaluator="solver")).values(turns_of(SkatGame(), 2, 0))
    considered = [np.flatnonzero(np.isfinite(row)).tolist() for row in values]
    assert considered == [[PASS, FIRST_BID]] * 2


def test_decisions_of_other_phases_are_no_neighbours_either() -> None:
    """The solver has no part in an auction that is decided beside a card."""
    game, config = SkatGame(), PimcConfig(worlds=4, evaluator="solver")
    playing, bidding = declared(2), turns_of(game, 2, 0)
    both = Turns(**{name: np.concatenate([column, vars(bidding)[name]]) for name, column in vars(playing).items()})
    together = player_of(game, config).act(both)
    assert together.tolist() == [*player_of(game, config).act(playing), *player_of(game, config).act(bidding)]


def lowest_legal(game: Game) -> Callable[[History], tuple[np.ndarray, float]]:
    """A network that plays the lowest action, and finds a history worth its length and last token."""

    def answer(history: History) -> tuple[np.ndarray, float]:
        legal = game.view_legal(game.views(np.array([history]), np.array([len(history)])))[0]
        return (np.arange(len(legal)) == legal.argmax()).astype(np.float32), len(history) + history[-1] / 1000

    return answer


@pytest.mark.parametrize("limit", [100_000, 700])
def test_with_a_network_all_seats_play_on_by_its_policy(limit: int) -> None:
    game = HeartsGame()

    turns, model = turns_of(game, 3, 40), FunctionModel(lowest_legal(game), limit)
    found = player_of(game, PimcConfig(worlds=1, cheat=True, evaluator="network"), model).values(turns)
    for row, legal in enumerate(turns.legal):
        assert (np.isfinite(found[row]) == legal).all()
        for action in np.flatnonzero(legal):
            state = turns.hidden[row : row + 1].copy()
            game.play(state, np.array([action]))
            while game.to_move(state)[0] >= 0:
                game.play(state, game.legal(state).argmax(axis=1))
            label = game.outcome(state)[0, turns.seat[row]]
            assert found[row, action] == pytest.approx(game.outcomes.utility("")[label])


@pytest.mark.parametrize(("game", "plies"), [(HeartsGame(), 2), (HeartsGame(), 40), (CrewGame(), 25)])
def test_by_value_the_others_play_on_until_the_seat_is_to_act_again(game: Game, plies: int) -> None:
    network = lowest_legal(game)
    turns, model = turns_of(game, 6, plies), FunctionModel(network, 2000)
    found = player_of(game, PimcConfig(worlds=1, cheat=True, evaluator="value"), model).values(turns)
    assert not model.held
    ended = 0
    for row, action in zip(*np.nonzero(turns.legal), strict=True):
        assert turns.hidden is not None
        state, seat = turns.hidden[row : row + 1].copy(), turns.seat[row : row + 1]
        game.play(state, np.array([action]))
        while game.to_move(state)[0] not in (-1, seat[0]):
            game.play(state, game.legal(state).argmax(axis=1))
        if game.to_move(state)[0] < 0:
            expected, ended = game.outcomes.utility("")[game.outcome(state)[0, seat[0]]], ended + 1
        else:
            tokens, lengths = game.histories(state, seat)
            expected = network(tuple(tokens[0, : lengths[0]]))[1]
        assert found[row, action] == pytest.approx(expected)
    assert bool(ended) == (game.name == "crew")  # a card of Hearts that leaves a choice is never one's last
