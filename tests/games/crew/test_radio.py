"""The Crew: windows for the radio, the distress signal, the draw of mission 12, and the choices the rules leave."""

import numpy as np
import pytest

from tests.games.crew.table import do, given, hands_for, hush, legal_names, seen
from tests.games.crew.test_rules import SWEEP, TURNS

HANDS = [hand.split() for hand in ("R4 P1 P5 P9 B3 G1 G2 Y1 Y2 Y3", "R1 R2 R3 P2 B1 B2 G3 G4 Y4 Y5")]
REST = [f"{colour}{value}" for colour in "PBGY" for value in range(1, 10)]
REST = [card for card in REST if card not in HANDS[0] + HANDS[1]]
HANDS += [REST[:12][:10], REST[10:20]]
"""Seat 0 can tell three pink cards, one blue, two green and three yellow ones apart."""


def turn(states: np.ndarray) -> int:
    return int(states["public"]["turn"][0])


# ---- what may be said ----------------------------------------------------------------------------------------------


def test_a_card_is_shown_that_is_highest_lowest_or_only_and_no_rocket() -> None:
    states = given(9, HANDS)
    assert legal_names(states) == {"P1", "P9", "B3", "G1", "G2", "Y1", "Y3", "silent"}


@pytest.mark.parametrize(("card", "mark"), [("P1", "lowest"), ("P9", "highest"), ("B3", "only"), ("G2", "highest")])
def test_its_mark_is_what_is_true_of_it(card, mark) -> None:
    states = given(9, HANDS)
    do(states, card)
    assert turn(states) == 0
    assert legal_names(states) == {mark}
    do(states, mark)
    assert turn(states) == 1
    assert all(seen(states, seat)[-2:] == [card, mark] for seat in range(4))
    assert int(states["public"]["said"][0][0]) >= 0


def test_an_only_card_may_have_any_mark_if_so_ruled() -> None:
    states = given(9, HANDS, singleton="any")
    do(states, "B3")
    assert legal_names(states) == {"highest", "only", "lowest"}
    states = given(9, HANDS, singleton="any")
    do(states, "P9")
    assert legal_names(states) == {"highest"}


# ---- when it may be said, beside what the referee of ``test_missions`` sees ------------------------------------------


def test_a_seat_with_rockets_alone_is_asked_too_for_nobody_knows_that() -> None:
    states = given(33, hands_for([*SWEEP[4:], *SWEEP[:4]]))
    do(states, "no no no left")
    for trick in SWEEP[4:]:
        hush(states)
        do(states, trick)
    assert turn(states) == 0 and legal_names(states) == {"silent"}


def test_the_commander_is_muted_only_if_so_ruled() -> None:
    assert legal_names(given(11, hands_for(TURNS))) == {"left", "across", "right"}
    assert legal_names(given(11, hands_for(TURNS), muted="anybody")) == {"self", "left", "across", "right"}


# ---- distress ------------------------------------------------------------------------------------------------------


def test_one_no_settles_the_distress_signal() -> None:
    states = given(9, HANDS, distress=True)
    do(states, "yes yes no")
    assert "silent" in legal_names(states)
    assert turn(states) == 0


def test_in_distress_any_card_but_a_rocket_is_passed_left_or_right() -> None:
    states = given(9, HANDS, distress=True)
    do(states, "yes yes yes yes")
    assert legal_names(states) == {"left", "right"}
    do(states, "left")
    for seat in range(4):
        assert turn(states) == seat and legal_names(states) == {card for card in HANDS[seat] if card[0] != "R"}
        do(states, sorted(legal_names(states))[0])
    assert turn(states) == 0 and "silent" in legal_names(states)


# ---- mission 12 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shown_card", ["stays", "may_be_drawn"])
def test_any_card_may_be_drawn_after_the_first_trick_and_the_one_that_lies_open_if_so_ruled(shown_card: str) -> None:
    drawn = set()
    for chance in range(200):
        more = {} if shown_card == "stays" else {"shown_card": shown_card}
        states = given(12, hands_for(TURNS), "G9 B9 Y7 P9", chance=chance, **more)
        do(states, f"G9 B9 Y7 P9 silent P9 highest silent silent {TURNS[0]}")
        drawn |= {seen(states, seat)[-1] for seat in range(4)}
    held = {card for hand in hands_for(TURNS) for card in hand} - set(TURNS[0].split())
    assert drawn == (held if more else held - {"P9"})
    assert turn(states) == 0 and "silent" in legal_names(states), "the winner of the first trick goes on"


# ---- mission 50 ----------------------------------------------------------------------------------------------------


def test_the_commander_gives_two_roles_to_two_seats() -> None:
    states = given(50, hands_for(SWEEP))
    do(states, "no no no")
    assert legal_names(states) == {"self", "left", "across", "right"}
    do(states, "left")
    assert turn(states) == 2, "who has a role is not asked"
    do(states, "no no")
    assert legal_names(states) == {"self", "across", "right"}


def test_roles_may_belong_to_the_first_who_volunteers() -> None:
    states = given(50, hands_for(SWEEP), roles="volunteers")
    do(states, "no yes no yes")
    assert (states["public"]["named"][0], states["public"]["last"][0]) == (2, 3)
    states = given(50, hands_for(SWEEP), roles="volunteers")
    do(states, "no no no no no")
    assert legal_names(states) == {"yes"}, "the commander has the first role"
    do(states, "yes")
    assert (states["public"]["named"][0], states["public"]["last"][0]) == (0, 3)
