"""States of our Hearts and of OpenSpiel's, one made of the other."""

import random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.hearts.game import HeartsGame
from games.openspiel_counterpart import counterpart
from games.registry import make_game
from tests.games.test_hearts_openspiel import SETTINGS

GAMES = [HeartsGame(**options) for options in SETTINGS.values()]


def played_at_random(spiel: pyspiel.Game, rng: random.Random) -> pyspiel.State:
    """A hand of OpenSpiel's that stops at a random step after the deal, or is over."""
    state, actions = spiel.new_initial_state(), rng.randrange(66)
    while state.is_chance_node() or (actions and not state.is_terminal()):
        actions -= not state.is_chance_node()
        state.apply_action(rng.choice(state.legal_actions()))
    return state


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from(GAMES))
def test_hands_of_openspiel_become_ours_and_are_the_same_when_they_come_back(seed, game) -> None:
    pair = counterpart(game)
    theirs = played_at_random(pair.spiel, random.Random(seed))
    ours = pair.replay([theirs.history()])
    assert game.to_move(ours)[0] == max(theirs.current_player(), -1)
    assert np.flatnonzero(game.legal(ours)[0]).tolist() == theirs.legal_actions()
    if theirs.is_terminal():
        np.testing.assert_array_equal(game.points(ours)[0], 26 - np.array(theirs.returns()))
    (back,) = pair.to_spiel(ours)
    assert str(back) == str(theirs)
    for seat in range(4):
        assert back.information_state_string(seat) == theirs.information_state_string(seat)


def test_states_of_openspiels_games_are_copies() -> None:
    game = make_game("openspiel:leduc_poker")
    states = game.deal(np.arange(5, dtype=np.uint64))
    for ours, theirs in zip(states, counterpart(game).to_spiel(states), strict=True):
        assert str(ours.spiel) == str(theirs)
        theirs.apply_action(theirs.legal_actions()[0])
        assert str(ours.spiel) != str(theirs)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("skat", {}, "OpenSpiel has no game with the rules of skat; choose hearts or openspiel:NAME"),
        ("hearts", {"moon": "shooter_minus_26"}, "moon=shooter_minus_26: OpenSpiel only knows moon=others_plus_26"),
    ],
)
def test_what_openspiel_does_not_have_is_refused(name, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        counterpart(make_game(name, options))
