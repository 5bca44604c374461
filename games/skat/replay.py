"""Deals that somebody has played elsewhere, through the kernels of our rules."""

from games.compiling import kernel
from games.skat.cards import ALL_CARDS
from games.skat.legal import is_legal
from games.skat.state import act, aside_of, deal_hands, legal


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
