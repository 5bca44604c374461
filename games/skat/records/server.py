"""How the International Skat Server judges games that its rules end early, or that are lost with an announcement.

Its rules as its own program has them, where they are not ours. A game ends with the trick that loses what was
announced. Card points decide whoever gives up: a soloist with 61 has won. The levels announced count, and in a lost
game no level that was announced but not reached; servers of earlier years counted these too, as our rules do.
"""

import numpy as np

from games.skat.cards import NULL, PLAIN, SCHNEIDER, SCHWARZ, matadors_of, points_of
from games.skat.state import aside_of, result_of, twelve_of
from games.skat.values import BASES, BIDS, raised


def is_stopped(state: np.void) -> bool:
    """Whether the defenders have made an announced schneider impossible, and nothing of the next trick is played. With
    schwarz announced our rules end the deal too."""
    public = state["public"]
    taken = sum(points_of(public["taken"][seat]) for seat in range(3) if seat != public["soloist"])
    return bool(public["game"] != NULL and public["modifier"] == SCHNEIDER and public["trick"] == 0 and taken > 30)


def judged(state: np.void) -> tuple[bool, int, bool, int, int]:
    """``(won, value, overbid, matadors, points)`` of a game that stands here, as ``games.skat.state.result_of``: what
    is left goes to the defenders, and null is lost."""
    public = state["public"]
    game, modifier, soloist = int(public["game"]), int(public["modifier"]), int(public["soloist"])
    if game == NULL:
        _, value, overbid, matadors, points = result_of(state)
        return False, int(value), bool(overbid), int(matadors), int(points)
    tricks, points = int(public["tricks"][soloist]), int(points_of(public["taken"][soloist] | aside_of(state)))
    matadors, bid = int(matadors_of(game, twelve_of(state))), int(BIDS[public["bid"]])
    won = tricks == 10 if modifier >= SCHWARZ else points >= (90 if modifier == SCHNEIDER else 61)
    levels = abs(matadors) + 2 - int(public["picked_up"]) + modifier
    if won:
        levels += (points >= 90) + (tricks == 10)
    elif public["tricks"].any():
        levels += (modifier == PLAIN and points <= 30) + (modifier < SCHWARZ and tricks == 0)
    value = int(BASES[game]) * levels
    overbid = value < bid
    return won and not overbid, int(raised(BASES[game], bid)) if overbid else value, overbid, matadors, points
