"""Card play of whole deals against OpenSpiel's skat, whose auction, announcements and values are too simple to compare.

Its soloist picks up the talon and discards; suits followed and trick winners are those of the rules.
"""

import random

import numpy as np
import pyspiel
import pytest

from games.compiled import blank
from games.skat.cards import EOS, GAMES, VOCABULARY
from games.skat.game import SkatGame
from games.skat.legal import legal_plays
from games.skat.rules import template
from games.skat.state import STATE, deal_hands
from tests.games.skat.test_rules import cards, do

DEALT_TO = [0] * 3 + [1] * 3 + [2] * 3 + [3] * 2 + [0] * 4 + [1] * 4 + [2] * 4 + [0] * 3 + [1] * 3 + [2] * 3
"""Place of each card that OpenSpiel deals: a seat, or 3 for the talon."""
AUCTION = ("pass pass 18", "18 pass pass", "pass 18 pass")
"""Calls that make each seat the soloist."""


def names(state: pyspiel.State) -> dict[str, int]:
    return {state.action_to_string(state.current_player(), action): action for action in state.legal_actions()}


def deal_theirs(rng: random.Random) -> tuple[pyspiel.State, list[list[str]]]:
    state, places = pyspiel.load_game("skat").new_initial_state(), [[], [], [], []]
    for place in DEALT_TO:
        name, action = rng.choice(sorted(names(state).items()))
        places[place].append(name)
        state.apply_action(action)
    return state, places


@pytest.mark.parametrize("game", GAMES)
def test_suits_followed_and_trick_winners_are_openspiels(game: str) -> None:
    rng = random.Random(GAMES.index(game))
    for deal in range(40):
        soloist = deal % 3
        theirs, places = deal_theirs(rng)
        ours = blank(STATE, template(), EOS, 1)
        deal_hands(ours[0], np.array([cards(" ".join(hand)) for hand in places[:3]]))
        do(ours, f"{AUCTION[soloist]} pickup")
        for seat in range(soloist + 1):
            theirs.apply_action(names(theirs)[game if seat == soloist else "unknown/pass"])
        twelve = sorted(places[soloist] + places[3], key=cards)
        first, second = sorted(rng.sample(range(12), 2))
        for place in (first, second):
            theirs.apply_action(names(theirs)[twelve[place]])
        do(ours, f"{twelve[first]} {twelve[second]} {game}" + (" plain" if game == "null" else ""))
        while (seat := ours[0]["public"]["turn"]) >= 0:
            assert theirs.current_player() == seat
            legal = int(legal_plays(ours[0]["public"], ours[0]["hands"][seat]))
            assert legal == cards(" ".join(names(theirs)))
            card = rng.choice([card for card in range(32) if legal >> card & 1])
            theirs.apply_action(names(theirs)[VOCABULARY.name(card)])
            assert SkatGame.loops.act(ours, np.array([card])) == -1
        assert game == "null" or theirs.is_terminal()
