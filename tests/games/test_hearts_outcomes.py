"""Which outcomes of a Hearts deal can still come, against every way to share what is left, told in plain Python."""

from itertools import product

import numpy as np
import pytest

from games.hearts.cards import VOCABULARY
from games.hearts.game import HeartsGame
from games.rng import derive_many

HEARTS, QUEEN = {VOCABULARY.names.index(f"{rank}H") for rank in "23456789TJQKA"}, VOCABULARY.names.index("QS")
SHARES = [
    (hearts, owner)
    for hearts in product(range(14), repeat=4)
    if sum(hearts) == 13
    for owner in range(4)
]  # fmt: skip


def taken(tokens: list[int]) -> list[set[int]]:
    """The cards each seat (relative to the observer) has won with the plays of a history."""
    start = 15 if VOCABULARY.name(tokens[0]) == "hold" else 21
    won: list[set[int]] = [set(), set(), set(), set()]
    turn = ["self", "left", "across", "right"].index(VOCABULARY.name(tokens[start - 1])) if len(tokens) >= start else 0
    plays = tokens[start:]
    for first in range(0, len(plays) - 3, 4):
        trick = plays[first : first + 4]
        suit = [card % 4 == trick[0] % 4 for card in trick]
        winner = (turn + max(range(4), key=lambda place: (suit[place], trick[place]))) % 4
        won[winner] |= set(trick)
        turn = winner
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
    states = game.deal(derive_many(5, 12))
    game.playout(states, derive_many(6, 12))
    tokens, lengths = game.histories(states, np.arange(12) % 4)
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


def test_bonus_options_rule_out_no_more_than_hearts_and_queen_do() -> None:
    game = HeartsGame(jd_bonus=True, avoid_all_tricks_bonus=True)
    states = game.deal(derive_many(5, 50))
    game.playout(states, derive_many(6, 50))
    tokens, lengths = game.histories(states, np.zeros(50, np.int64))
    for cut in (21, 40, 60, 76):
        possible = game.view_outcomes(game.views(tokens, np.minimum(cut, lengths)))
        assert possible[np.arange(50), game.outcome(states)[:, 0]].all()
