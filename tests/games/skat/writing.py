"""Deals as records of the International Skat Server, for tests of what reads them."""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from games.skat.cards import (
    FIRST_BID,
    HOLD,
    NULL,
    NUM_CARDS,
    NUM_PLAYS,
    OUVERT,
    PASS,
    PICKUP,
    SCHNEIDER,
    SCHWARZ,
    VOCABULARY,
)  # fmt: skip
from games.skat.records import server
from games.skat.records.iss import GAME_LETTERS
from games.skat.replay import actions_of, concede, new_state, replay
from games.skat.state import result_of
from games.skat.values import BIDS

_ANNOUNCED = {SCHNEIDER: "S", SCHWARZ: "Z"}


def record_of(number: int, state: np.void, cards: int = NUM_PLAYS) -> str:
    """A finished deal as a line of a file; who lost it gives up after so many cards."""
    public = state["public"]
    actions, seats = actions_of(state)
    dropped = int(public["num_played"]) - cards
    if public["soloist"] < 0 or dropped <= 0:
        return record_line(number, state, actions, seats)
    won, early = result_of(state)[0], new_state()
    replay(early, state["dealt"], seats[:-dropped], actions[:-dropped])
    loser = [seat for seat in range(3) if (seat == public["soloist"]) != won]
    return record_line(number, early, actions[:-dropped], seats[:-dropped], loser)


def records_of(states: np.ndarray, cards: Sequence[int] | np.ndarray = ()) -> str:
    """A file of finished deals, the first with number 1; ``cards``: see ``record_of``, of each."""
    shortened = cards if len(cards) else [NUM_PLAYS] * len(states)
    return "".join(f"{record_of(n, *deal)}\n" for n, deal in enumerate(zip(states, shortened, strict=True), 1))


def record_line(
    number: int, state: np.void, actions: np.ndarray, seats: np.ndarray, given_up: Collection[int] = ()
) -> str:
    """A deal as a line of a file.

    Args:
        state: what all actions lead to; where the defenders give up they do so in it.
        given_up: seats that give up behind the last action; needed where the rules would have the deal go on.
    """
    moves = [*_moves(actions.tolist(), seats.tolist(), state), *(f"{seat} RE" for seat in given_up)]
    people = "".join(f"P{seat}[p{seat}]" for seat in range(3))
    result = _result(state, given_up)
    return f"(;GM[Skat]PC[Kibitz]CO[]ID[{number}]{people}MV[{' '.join(moves)} ]R[{result}] ;)"


def _moves(actions: list[int], seats: list[int], state: np.void) -> Iterator[str]:
    """Pairs of actor and move; the discards stand behind the game, as the server writes them."""
    talon = _names(int(state["talon"]))
    yield f"w {'.'.join(card for hand in state['dealt'] for card in _names(int(hand)))}.{'.'.join(talon)}"
    before = len(actions) - int(state["public"]["num_played"])
    for seat, token in zip(seats[:before], actions[:before], strict=True):
        if token in (PASS, HOLD):
            yield f"{seat} {'p' if token == PASS else 'y'}"
        elif FIRST_BID <= token < PICKUP:
            yield f"{seat} {BIDS[token - FIRST_BID]}"
        elif token == PICKUP:
            yield f"{seat} s w {'.'.join(talon)}"
    if state["public"]["game"] >= 0:
        yield f"{state['public']['soloist']} {_declaration(state)}"
    for seat, card in zip(seats[before:], actions[before:], strict=True):
        yield f"{seat} {VOCABULARY.name(card)}"


def _declaration(state: np.void) -> str:
    """Game, modifiers in the server's order, and the discards."""
    public = state["public"]
    game, modifier, by_hand = int(public["game"]), int(public["modifier"]), public["picked_up"] == 0
    if game != NULL and modifier == OUVERT:
        return f"{GAME_LETTERS[game]}O"  # the others are implied
    said = ("O" if modifier == OUVERT else "") + ("H" if by_hand else "") + _ANNOUNCED.get(modifier, "")
    return ".".join([GAME_LETTERS[game] + said, *([] if by_hand else _names(int(state["laid"])))])


def _result(state: np.void, given_up: Collection[int]) -> str:
    """The result as the server writes it."""
    public = state["public"]
    soloist, game, over = int(public["soloist"]), int(public["game"]), public["turn"] < 0
    if soloist < 0:
        return "passed"
    alone = not over and soloist in given_up
    if not over and not alone and game != NULL:
        concede(state)
    won, value, overbid, matadors, points = server.judged(state) if alone else result_of(state)
    tricks = int(public["tricks"][soloist])
    whole = public["num_played"] == NUM_PLAYS or (not over and (not alone or public["tricks"].any()))
    judged = game != NULL and whole
    schneider, schwarz = judged and (points <= 30 or points >= 90), judged and tricks in (0, 10)
    return (
        f"d:{soloist} {'win' if won else 'loss'} v:{value if won else -2 * value} m:{matadors} "
        f"{'overbid' if overbid else 'bidok'} p:{points} t:{tricks} s:{int(schneider)} z:{int(schwarz)} "
        f"p0:0 p1:0 p2:0 l:-1 to:-1 r:{int(bool(given_up))}"
    )


def _names(cards: int) -> list[str]:
    return [VOCABULARY.name(card) for card in range(NUM_CARDS) if cards >> card & 1]
