"""What seats see, written into the histories of a state that keeps ``tokens`` and their numbers, ``lengths``."""

from games.bits import each
from games.compiling import kernel


@kernel
def write(state, seat, token):
    """One seat sees a token."""
    state["tokens"][seat, state["lengths"][seat]] = token
    state["lengths"][seat] += 1


@kernel
def write_all(state, token):
    """Every seat sees a token."""
    for seat in range(len(state["lengths"])):
        write(state, seat, token)


@kernel
def write_cards(state, seat, cards):
    """One seat sees a set of cards, the lowest first."""
    for card in each(cards):
        write(state, seat, card)
