"""Replay a deal played elsewhere through the kernels of our rules."""

import numpy as np

from games.bits import is_legal
from games.compiled import blank
from games.compiling import kernel
from games.game import Game
from games.skat.cards import ALL_CARDS, EOS, ROW
from games.skat.rules import SCORINGS, template
from games.skat.state import STATE, act, aside_of, deal_hands, legal


def before_deal(scoring: str = SCORINGS[0], count: int = 1) -> np.ndarray:
    """``STATE[count]``: states before the deal."""
    return blank(STATE, template(SCORINGS.index(scoring)), EOS, count)


def new_state() -> np.void:
    """A state before the deal."""
    return before_deal()[0]


@kernel
def replay(state, hands, seats, tokens):
    """Deal ``hands`` (``int64[3]`` sets) and do ``tokens``, each by the seat named; returns the index of the first that
    is not legal or not that seat's, or -1."""
    deal_hands(state, hands)
    for i in range(len(tokens)):
        if state["public"]["turn"] != seats[i] or not is_legal(legal(state), tokens[i]):
            return i
        act(state, tokens[i])
    return -1


@kernel
def concede(state):
    """The defenders give up: a soloist of a suit or grand game gets every card and trick that is left."""
    public = state["public"]
    soloist = public["soloist"]
    left = ALL_CARDS & ~aside_of(state)
    for seat in range(3):
        left &= ~public["taken"][seat]
    public["taken"][soloist] |= left
    public["tricks"][soloist] += 10 - public["tricks"].sum()


def actions_of(state: np.void) -> tuple[np.ndarray, np.ndarray]:
    """``int64[...]``: all actions of a deal, in order, and their seats. Reads only the state's dealt cards and
    histories: an action is the next token of the acting seat's own history."""
    actions, seats, again = np.zeros(ROW, np.int64), np.zeros(ROW, np.int64), new_state()
    number = _retrace(state, again, actions, seats)
    return actions[:number], seats[:number]


def states_at(game: Game, tokens: np.ndarray, deal: np.ndarray, seat: np.ndarray, place: np.ndarray) -> np.ndarray:
    """See ``search.players.support.Rebuild``."""
    scoring, wanted = str(game.options["scoring"]), dict[int, dict[tuple[int, int], int]]()
    states = before_deal(scoring, len(deal))
    for row, (number, who, where) in enumerate(zip(deal.tolist(), seat.tolist(), place.tolist(), strict=True)):
        wanted.setdefault(number, {})[who, where] = row
    for number, rows in wanted.items():
        state, again = before_deal(scoring, 2)
        dealt = tokens[number, :, 1:11].astype(np.int64)
        state["dealt"] = (1 << dealt).sum(axis=1)
        state["tokens"][:, : tokens.shape[2]] = tokens[number]
        state["lengths"] = (tokens[number] != EOS).sum(axis=1)
        deal_hands(again, state["dealt"])
        for token, who in zip(*(column.tolist() for column in actions_of(state)), strict=True):
            if (row := rows.pop((who, int(again["lengths"][who])), -1)) >= 0:
                states[row] = again
            act(again, token)
        if rows:
            raise ValueError(f"deal {number}: its histories are not those of one deal")
    return states


@kernel
def _retrace(state, again, actions, seats):
    """Do everything once more in ``again``, a new state; returns how many actions there were. Stops at a token that
    is not legal."""
    deal_hands(again, state["dealt"])
    number = 0
    while again["public"]["turn"] >= 0 and number < len(actions):
        seat = again["public"]["turn"]
        place = again["lengths"][seat]
        if place >= state["lengths"][seat] or place >= state["tokens"].shape[1]:
            break
        token = np.int64(state["tokens"][seat, place])
        if not is_legal(legal(again), token):
            break
        actions[number], seats[number] = token, seat
        act(again, token)
        number += 1
    return number
