"""Random hands played in step with OpenSpiel's own Hearts: the same legal moves, turns and scores at every step."""

import numpy as np
import pyspiel
import pytest

from games.hearts.game import HeartsGame
from games.hearts.rules import OPTIONS
from games.rng import derive_many, mix

HANDS = 5_000
SETTINGS = {
    "defaults": {},
    "bonuses": {"jd_bonus": True, "avoid_all_tricks_bonus": True, "can_lead_hearts_instead_of_qs": True},
    "strict start": {"pass_cards": False, "can_lead_any_club": True, "qs_breaks_hearts": False},
    "loose hearts": {"must_break_hearts": False, "no_pts_on_first_trick": False, "avoid_all_tricks_bonus": True},
}


def _in_open_spiel(theirs: pyspiel.Game, history: np.ndarray, hands: np.ndarray) -> pyspiel.State:
    """OpenSpiel's state after the same deal: its dealer gives card i to seat i mod 4."""
    state = theirs.new_initial_state()
    state.apply_action(int(history[0]) - 56)
    for card in hands.T.reshape(-1):
        state.apply_action(int(card))
    return state


def _deal_both(theirs: pyspiel.Game, ours: HeartsGame, seeds: np.ndarray) -> tuple[np.ndarray, list[pyspiel.State]]:
    states = ours.deal(seeds)
    seen = np.stack([ours.histories(states, np.full(len(seeds), seat))[0] for seat in range(4)], axis=1)
    return states, [_in_open_spiel(theirs, seen[i, 0], seen[i, :, 1:14]) for i in range(len(seeds))]


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS.keys())
def test_hands_go_as_in_openspiel(options: dict[str, bool]) -> None:
    theirs, ours = pyspiel.load_game("hearts", options), HeartsGame(**options)
    states, their_states = _deal_both(theirs, ours, derive_many(20, HANDS))
    step = 0
    while (turns := ours.to_move(states)).max() >= 0:
        legal = ours.legal(states)
        picks = mix(derive_many(21, HANDS), step) >> np.uint64(40)
        actions = np.zeros(HANDS, np.int64)
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
    returns = np.array([state.returns() for state in their_states])
    np.testing.assert_array_equal(ours.points(states), 26 - returns)


def test_options_and_defaults_are_those_of_openspiel() -> None:
    theirs = pyspiel.load_game("hearts").get_type().parameter_specification
    assert {name: bool(value) for name, value in theirs.items()} == OPTIONS
