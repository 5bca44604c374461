"""The Crew: windows for the radio, the distress signal, the draw of mission 12, and the choices the rules leave."""

import numpy as np
import pytest

from tests.games.crew.table import do, given, hands_for, hush, legal_names, seen, verdict
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


def test_in_the_dead_zone_a_card_is_shown_without_a_mark() -> None:
    states = given(29, HANDS)
    do(states, "P1")
    assert turn(states) == 1
    assert all(seen(states, seat)[-1] == "P1" for seat in range(4))


def test_a_seat_with_rockets_alone_is_asked_too_for_nobody_knows_that() -> None:
    states = given(33, hands_for([*SWEEP[4:], *SWEEP[:4]]))
    do(states, "no no no left")
    for trick in SWEEP[4:]:
        hush(states)
        do(states, trick)
    assert turn(states) == 0
    assert legal_names(states) == {"silent"}


# ---- when it may be said -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mission", "first"), [(1, 1), (6, 1), (18, 2), (30, 2), (19, 3), (28, 3), (38, 3)], ids=lambda value: str(value)
)
def test_windows_open_before_the_trick_that_the_mission_says(mission, first) -> None:
    tasks = {1: "Y9", 6: "Y9 Y8 Y7"}.get(mission, "Y9 B9 G9 P4 Y8 B8 G8 Y7")
    states = given(mission, hands_for(SWEEP), tasks)
    while "silent" not in legal_names(states) and len(legal_names(states)) < 9:
        do(states, sorted(legal_names(states))[0])
    for number, trick in enumerate(SWEEP[:4], 1):
        assert hush(states) == ([0, 1, 2, 3] if number >= first else []), f"before trick {number}"
        do(states, trick)


def test_windows_go_round_from_the_leader_and_leave_out_who_has_spoken() -> None:
    states = given(9, hands_for(TURNS))
    do(states, f"silent silent silent silent {TURNS[0]}")
    do(states, f"silent silent silent Y6 highest {TURNS[1]}")
    do(states, f"P9 highest silent silent {TURNS[2]}")
    assert hush(states) == [2, 0]
    assert turn(states) == 2


@pytest.mark.parametrize("muting", ["before_draft", "after_draft"])
def test_who_is_muted_is_never_asked(muting) -> None:
    states = given(11, hands_for(TURNS), "P1 Y2 B1 G1", muting=muting)
    do(states, "across Y2 P1 B1 G1" if muting == "before_draft" else "Y2 P1 B1 G1 across")
    assert hush(states) == [0, 1, 3]


def test_the_commander_is_muted_only_if_so_ruled() -> None:
    assert legal_names(given(11, hands_for(TURNS))) == {"left", "across", "right"}
    assert legal_names(given(11, hands_for(TURNS), muted="anybody")) == {"self", "left", "across", "right"}


# ---- distress ------------------------------------------------------------------------------------------------------


def test_one_no_settles_the_distress_signal() -> None:
    states = given(9, HANDS, distress=True)
    do(states, "yes yes no")
    assert "silent" in legal_names(states)
    assert turn(states) == 0


@pytest.mark.parametrize(("direction", "giver"), [("left", (3, 0, 1, 2)), ("right", (1, 2, 3, 0))])
def test_in_distress_every_seat_passes_one_card_the_same_way(direction, giver) -> None:
    states = given(9, HANDS, distress=True)
    do(states, "yes yes yes yes")
    assert legal_names(states) == {"left", "right"}
    do(states, direction)
    before = [seen(states, seat) for seat in range(4)]
    passed = []
    for seat in range(4):
        assert turn(states) == seat
        assert legal_names(states) == {card for card in HANDS[seat] if card[0] != "R"}
        passed.append(sorted(legal_names(states))[0])
        do(states, passed[-1])
    for seat in range(4):
        assert seen(states, seat) == [*before[seat], passed[seat], passed[giver[seat]]]
    assert all(int(hand).bit_count() == 10 for hand in states["hands"][0])
    assert turn(states) == 0
    assert "silent" in legal_names(states)


@pytest.mark.parametrize(
    ("pink_target", "target", "held"), [("before_distress", 0, 3), ("after_distress", 1, 0)], ids=["before", "after"]
)
def test_the_holder_of_the_pink_9_speaks_up_before_or_after_the_pass(pink_target, target, held) -> None:
    """Seat 3 has the pink 9 and passes it on to seat 0: seat 0 or seat 1 is to take all pink cards."""
    hands = hands_for(["R4 B1 B2 P9", "R3 P1 P2 P3", "R2 P4 P5 P6"])
    states = given(46, hands, distress=True, pink_target=pink_target)
    told = {0: "self", 3: "right"}[held]
    assert (seen(states, 0)[-1] == "right") == (held == 3)
    do(states, "yes yes yes yes left")
    do(states, f"{next(card for card in hands[0] if card[0] != 'R')} B1 B2 P9")
    assert told in seen(states, 0)[-10:]
    assert states["public"]["named"][0] == target


# ---- mission 12 ----------------------------------------------------------------------------------------------------


def after_the_first_trick(chance: int, **options) -> tuple[np.ndarray, list[set[str]]]:
    states = given(12, hands_for(TURNS), "G9 B9 Y7 P9", chance=chance, **options)
    do(states, "G9 B9 Y7 P9 silent P9 highest silent silent")
    held = [set(hand) - {TURNS[0].split()[seat]} for seat, hand in enumerate(hands_for(TURNS))]
    do(states, TURNS[0])
    return states, held


def test_after_the_first_trick_every_seat_draws_from_the_seat_on_its_right() -> None:
    drawn = set()
    for chance in range(200):
        states, held = after_the_first_trick(chance)
        told = [seen(states, seat)[-2:] for seat in range(4)]
        for seat, (lost, gained) in enumerate(told):
            assert lost in held[seat]
            assert gained == told[(seat - 1) % 4][0], "it comes from the right"
        drawn |= {gained for _, gained in told}
    assert drawn == set().union(*held) - {"P9"}, "any card but the one that lies open"


def test_the_shown_card_may_be_drawn_if_so_ruled() -> None:
    lost = {seen(after_the_first_trick(chance, shown_card="may_be_drawn")[0], 1)[-2] for chance in range(200)}
    assert "P9" in lost


def test_play_goes_on_after_the_draw_with_the_winner_of_the_first_trick() -> None:
    states, _ = after_the_first_trick(3)
    assert verdict(states) == "open"
    assert turn(states) == 0
    assert "silent" in legal_names(states)


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
