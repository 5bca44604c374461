"""Random hands played in step with OpenSpiel's own Hearts: the same legal moves, turns and scores at every step."""

import random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.hearts.game import HeartsGame
from games.hearts.rules import OPTIONS
from games.openspiel_counterpart import counterpart
from games.registry import make_game
from games.rng import derive_many, mix

SETTINGS = {
    "defaults": {},
    "bonuses": {"jd_bonus": True, "avoid_all_tricks_bonus": True, "can_lead_hearts_instead_of_qs": True},
    "strict start": {"pass_cards": False, "can_lead_any_club": True, "qs_breaks_hearts": False},
    "loose hearts": {"must_break_hearts": False, "no_pts_on_first_trick": False, "avoid_all_tricks_bonus": True},
}
GAMES = [HeartsGame(**options) for options in SETTINGS.values()]


def _deal_both(theirs: pyspiel.Game, ours: HeartsGame, seeds: np.ndarray) -> tuple[np.ndarray, list[pyspiel.State]]:
    """The same deals: OpenSpiel's dealer gives card i to seat i mod 4."""
    states, their_states = ours.deal(seeds), [theirs.new_initial_state() for _ in seeds]
    seen = np.stack([ours.histories(states, np.full(len(seeds), seat))[0] for seat in range(4)], axis=1)
    for state, histories in zip(their_states, seen, strict=True):
        for chance in (int(histories[0, 0]) - 56, *histories[:, 1:14].T.reshape(-1).tolist()):
            state.apply_action(chance)
    return states, their_states


@pytest.mark.parametrize("hands", [100, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS.keys())
def test_hands_go_as_in_openspiel(options: dict[str, bool], hands: int) -> None:
    theirs, ours = pyspiel.load_game("hearts", options), HeartsGame(**options)
    states, their_states = _deal_both(theirs, ours, derive_many(20, hands))
    step = 0
    while (turns := ours.to_move(states)).max() >= 0:
        legal = ours.legal(states)
        picks = mix(derive_many(21, hands), step) >> np.uint64(40)
        actions = np.zeros(hands, np.int64)
        for i, state in enumerate(their_states):
            if turns[i] < 0:
                assert state.is_terminal()
                continue
            their_legal = state.legal_actions()
            assert state.current_player() == turns[i], f"hand {i}, step {step}: another turn"
            assert their_legal == np.flatnonzero(legal[i]).tolist(), f"hand {i}, step {step}: other legal moves"
            actions[i] = their_legal[int(picks[i]) % len(their_legal)]
            state.apply_action(int(actions[i]))
        ours.play(states, actions)
        step += 1
    assert step == (64 if ours.options["pass_cards"] else 52)
    np.testing.assert_array_equal(ours.points(states), 26 - np.array([state.returns() for state in their_states]))


def test_options_and_defaults_are_those_of_openspiel() -> None:
    theirs = pyspiel.load_game("hearts").get_type().parameter_specification
    assert {name: bool(value) for name, value in theirs.items()} == OPTIONS


# ---- states of the one made of the other


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from(GAMES))
def test_hands_of_openspiel_become_ours_and_are_the_same_when_they_come_back(seed, game) -> None:
    """Hands that stop at a random step after the deal, or are over."""
    pair, rng = counterpart(game), random.Random(seed)
    theirs, actions = pair.spiel.new_initial_state(), rng.randrange(66)
    while theirs.is_chance_node() or (actions and not theirs.is_terminal()):
        actions -= not theirs.is_chance_node()
        theirs.apply_action(rng.choice(theirs.legal_actions()))
    ours = pair.replay([theirs.history()])
    assert game.to_move(ours)[0] == max(theirs.current_player(), -1)
    assert np.flatnonzero(game.legal(ours)[0]).tolist() == theirs.legal_actions()
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
