"""Which outcomes of a Hearts deal can still come, against every way to share what is left, told in plain Python."""

from itertools import product

import numpy as np
import pytest

from games.hearts.cards import VOCABULARY
from games.hearts.game import HeartsGame
from games.rng import derive_many
from tests.games.material import played

HEARTS, QUEEN = {VOCABULARY.names.index(f"{rank}H") for rank in "23456789TJQKA"}, VOCABULARY.names.index("QS")
SHARES = [
    (hearts, owner)
    for hearts in product(range(14), repeat=4)
    if sum(hearts) == 13
    for owner in range(4)
]  # fmt: skip


def parts(tokens: list[int]) -> tuple[list[int], list[int]]:
    """The cards played in a history, and the seats (relative to the observer) that played them; behind the last the
    seat that is next."""
    start = 15 if VOCABULARY.name(tokens[0]) == "hold" else 21
    if len(tokens) < start:
        return [], []
    plays, seats = tokens[start:], []
    turn = ["self", "left", "across", "right"].index(VOCABULARY.name(tokens[start - 1]))
    for first in range(0, len(plays) + 1, 4):
        trick = plays[first : first + 4]
        seats += [(turn + place) % 4 for place in range(min(len(trick) + 1, 4))]
        if len(trick) == 4:
            turn = seats[first + max(range(4), key=lambda at: (trick[at] % 4 == trick[0] % 4, trick[at]))]
    return plays, seats


def taken(tokens: list[int]) -> list[set[int]]:
    """The cards each seat (relative to the observer) has won with the plays of a history."""
    plays, seats = parts(tokens)
    won: list[set[int]] = [set(), set(), set(), set()]
    for first in range(0, len(plays) - 3, 4):
        trick = plays[first : first + 4]
        best = max(card for card in trick if card % 4 == trick[0] % 4)
        won[seats[first + trick.index(best)]] |= set(trick)
    return won


def ends(tokens: list[int], moon: str) -> set[tuple[float, ...]]:
    """Points of all seats in every end that what is left of the hearts and the queen can come to."""
    won, found = taken(tokens), set()
    for hearts, owner in SHARES:
        enough = all(hearts[seat] >= len(won[seat] & HEARTS) for seat in range(4))
        if enough and all(QUEEN not in won[seat] or seat == owner for seat in range(4)):
            points = [hearts[seat] + 13 * (seat == owner) for seat in range(4)]
            if 26 in points:
                others, shooter = (26, 0) if moon == "others_plus_26" else (0, -26)
                points = [shooter if p == 26 else others for p in points]
            found.add(tuple(map(float, points)))
    return found


@pytest.mark.parametrize("moon", ["others_plus_26", "shooter_minus_26"])
def test_an_outcome_is_possible_if_what_is_left_can_come_to_it(moon: str) -> None:
    game = HeartsGame(moon=moon)
    tokens, lengths = game.histories(played(game, 12, 5), np.arange(12) % 4)
    cuts = np.random.default_rng(2).integers(25, lengths + 1)
    possible = game.view_outcomes(game.views(tokens, cuts))
    for row in range(12):
        history = [t for t in tokens[row, : cuts[row]].tolist() if t != VOCABULARY.eos]
        assert {tuple(game.outcomes.points[label]) for label in np.flatnonzero(possible[row])} == ends(history, moon)


def test_an_impossible_history_rules_out_nothing() -> None:
    game = HeartsGame()
    tokens, lengths = game.histories(game.deal(derive_many(5, 1)), np.zeros(1, np.int64))
    tokens[0, 2] = tokens[0, 1]  # dealt a card twice
    assert game.view_outcomes(game.views(tokens, lengths)).all()
