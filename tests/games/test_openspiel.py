"""OpenSpiel's games through the adapter: every law, and exactly what OpenSpiel lets each seat know."""

import random
from collections.abc import Iterator

import numpy as np
import pyspiel
import pytest

from games.game import Next
from games.openspiel import OpenSpielGame
from games.rng import derive_many
from tests.games.material import played

HEARTS = {"outcomes": "buckets", "num_buckets": 5}


def history_of(game: OpenSpielGame, states: np.ndarray, row: int, seat: int) -> list[str]:
    tokens, lengths = game.histories(states[row : row + 1], np.array([seat]))
    return [game.vocabulary.name(token) for token in tokens[0, : lengths[0]]]


def every_state(name: str, players: int = 2) -> Iterator[pyspiel.State]:
    """The whole game tree."""
    open_states = [pyspiel.load_game(name, {"players": players}).new_initial_state()]
    while open_states:
        state = open_states.pop()
        yield state
        open_states += [state.child(action) for action in state.legal_actions()]


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_in_the_whole_tree_a_history_says_exactly_what_the_information_state_says(name: str) -> None:
    game = OpenSpielGame(name)
    told: dict[tuple[int, str], set[tuple[str, ...]]] = {}
    known: dict[tuple[str, ...], set[str]] = {}
    for state in every_state(name):
        if (seat := state.current_player()) >= 0:
            text = state.information_state_string(seat)
            tokens = tuple(history_of(game, game.replay([state.history()]), 0, seat))
            told.setdefault((seat, text), set()).add(tokens)
            known.setdefault(tokens, set()).add(text)
    assert len(told) > 10
    assert all(len(histories) == 1 for histories in told.values()), "a history shows more than the seat knows"
    assert all(len(texts) == 1 for texts in known.values()), "a history shows less than the seat knows"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_in_hearts_worlds_that_openspiel_takes_for_the_same_give_the_same_history(seed: int) -> None:
    game, chooser = OpenSpielGame("hearts", **HEARTS), random.Random(seed)
    state = pyspiel.load_game("hearts").new_initial_state()
    while not state.is_terminal():
        state.apply_action(chooser.choice(state.legal_actions()))
        seat = state.current_player()
        if seat < 0 or chooser.random() > 0.15:
            continue
        world = state.resample_from_infostate(seat, chooser.random)
        one, other = (history_of(game, game.replay([s.history()]), 0, seat) for s in (state, world))
        assert sorted(one[:15]) == sorted(other[:15]), "own seat, direction and dealt cards, in any order"
        assert one[15:] == other[15:]


def test_the_adapter_plays_leduc_as_openspiel_does() -> None:
    game, chooser = OpenSpielGame("leduc_poker"), random.Random(1)
    for seed in range(40):
        states = game.deal(np.array([seed], np.uint64))
        reference = pyspiel.load_game("leduc_poker").new_initial_state()
        for action in states[0].spiel.history():
            reference.apply_action(action)
        while not reference.is_terminal():
            first = game.vocabulary.first("Actions")
            assert game.to_move(states)[0] == reference.current_player()
            assert (np.flatnonzero(game.legal(states)[0]) - first).tolist() == reference.legal_actions()
            action = chooser.choice(reference.legal_actions())
            game.play(states, np.array([first + action]))
            history = states[0].spiel.history()
            for done in history[len(reference.history()) :]:
                reference.apply_action(done)
        assert game.points(states)[0].tolist() == reference.returns()
        labels = game.outcome(states)[0]
        assert [game.outcomes.points[label, 0] for label in labels] == reference.returns()


def test_chance_follows_its_odds_and_the_seed_alone() -> None:
    game = OpenSpielGame("leduc_poker")
    states = game.deal(derive_many(1, 3000))
    cards = [history_of(game, states, row, 0)[1] for row in range(3000)]
    counts = [cards.count(f"chance {card}") for card in range(6)]
    assert min(counts) > 400 and sum(counts) == 3000
    again = game.deal(derive_many(1, 3000)[5:6])
    assert again[0].spiel.history() == states[5].spiel.history()


def test_sampled_worlds_of_leduc_are_spread_over_all_that_fit() -> None:
    game = OpenSpielGame("leduc_poker")
    states = game.deal(np.array([3], np.uint64))
    tokens, lengths = game.histories(states, np.zeros(1, int))
    own = history_of(game, states, 0, 0)[1]
    worlds, seats = game.determinize(game.views(tokens, lengths).repeat(500), derive_many(7, 500))
    others = [history_of(game, worlds, row, 1)[1] for row in range(500)]
    assert (seats == 0).all() and own not in others
    assert len(set(others)) == 5 and min(others.count(card) for card in set(others)) > 60


@pytest.mark.parametrize(
    ("name", "players", "count"),
    [("kuhn_poker", 2, 1500), ("kuhn_poker", 3, 1500),
     pytest.param("leduc_poker", 2, 1500, marks=pytest.mark.slow)],
)  # fmt: skip
def test_the_tokens_that_may_follow_are_those_that_do_in_the_whole_tree(name: str, players: int, count: int) -> None:
    """Behind every history of a finished game, and nowhere is an explanation searched for."""
    game, chooser = OpenSpielGame(name, players=players), random.Random(1)
    following: dict[tuple[int, ...], set[int]] = {}
    for state in every_state(name, players):
        for seat in range(players if state.is_terminal() else 0):
            tokens, lengths = game.histories(game.replay([state.history()]), np.array([seat]))
            for place, token in enumerate(tokens[0, : lengths[0] - 1].tolist()):
                following.setdefault(tuple(tokens[0, :place].tolist()), set()).add(token)
    for history in chooser.sample(sorted(following), min(len(following), count)):
        view = game.views(np.array([history], int), np.array([len(history)]))
        assert set(np.flatnonzero(game.view_possible(view)[0]).tolist()) == following[history]
        token = chooser.randrange(game.vocabulary.size)
        game.advance(view, np.array([token]))
        assert game.consistent(view)[0] == (token in following[history])


def test_a_search_for_an_explanation_takes_over_where_there_are_too_many_states(monkeypatch):
    """With room for three states leduc's are searched for; real histories read the same either way."""
    listed, searched = OpenSpielGame("leduc_poker"), OpenSpielGame("leduc_poker")
    states = played(listed, 5, 1)
    tokens, lengths = listed.histories(states, np.zeros(5, int))
    whole = listed.views(tokens, lengths)
    monkeypatch.setattr("games.openspiel_views.MAX_WORLDS", 3)
    views = searched.views(tokens, lengths)
    assert all(view.worlds for view in whole) and not any(view.worlds for view in views)
    for ask in ("next", "view_legal", "view_outcome", "consistent"):
        assert np.array_equal(getattr(listed, ask)(whole), getattr(searched, ask)(views))


def test_a_showdown_that_cannot_be_is_inconsistent() -> None:
    game = OpenSpielGame("kuhn_poker")
    opening = ["seat 0", "chance 2", "turn", "action 1", "action 1"]
    for ending, possible in ((["return 2", "return -2"], True), (["return -2", "return 2"], False)):
        tokens = np.array([[game.vocabulary.names.index(name) for name in (*opening, *ending)]])
        view = game.views(tokens, np.array([len(tokens[0])]))
        assert game.consistent(view)[0] == possible, "nothing beats the king"
        assert game.next(view)[0] == Next.END
        assert (game.view_outcome(view)[0] >= 0) == possible


def test_points_of_a_state_are_exact_where_labels_are_buckets() -> None:
    game = OpenSpielGame("hearts", **HEARTS)
    states = played(game, 1, 1)
    points = game.points(states)[0]
    assert points.sum() in (78, 26)
    nearest = game.outcomes.points[game.outcome(states)[0, 0]]
    assert np.abs(points - nearest).max() <= 36 / 4 / 2
    with pytest.raises(ValueError, match="before its deal is over"):
        game.points(game.deal(np.array([1], np.uint64)))


@pytest.mark.parametrize(
    ("name", "options"),
    [("liars_dice", {"outcomes": "buckets", "num_buckets": 2}), ("tiny_hanabi", {}), ("tiny_bridge_2p", {})],
)
def test_other_games_are_played_and_their_histories_read(name: str, options: dict) -> None:
    game = OpenSpielGame(name, **options)
    states = played(game, 5, 1)
    tokens, lengths = game.histories(states, np.zeros(5, int))
    views = game.views(tokens, lengths)
    assert game.consistent(views).all() and np.array_equal(game.view_outcome(views), game.outcome(states)[:, 0])
