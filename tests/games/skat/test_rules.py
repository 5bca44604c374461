"""Skat: dealing, auction, announcements, play, the end of a deal, and what each seat sees of it."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.compiled import blank
from games.skat.cards import EOS, HAND_SIZE, MAX_LENGTH, NULL, SCHWARZ, VOCABULARY, card_id, points_of
from games.skat.game import SkatGame
from games.skat.rules import DISCARD, OVER, SCORINGS, score, template
from games.skat.state import STATE, aside_of, deal_hands, result_of, twelve_of
from tests.games.material import Named, played

BY_NAME = Named(SkatGame())
TOKEN, names_of, seen, legal_names, do = BY_NAME.token, BY_NAME.names, BY_NAME.seen, BY_NAME.legal, BY_NAME.do


def cards(names: str) -> int:
    return sum(1 << card_id(name) for name in names.split())


def dealt(hands: Sequence[int]) -> np.ndarray:
    """One deal in which the seats have these cards, as sets."""
    states = blank(STATE, template(), EOS, 1)
    deal_hands(states[0], np.array(hands))
    return states


def given_hands(*hands: str) -> np.ndarray:
    return dealt([cards(hand) for hand in hands])


NULL_DEAL = ("D7 D8 D9 H7 H8 H9 S7 S8 S9 C7", "DQ DK DT DA HQ HK HT HA SQ SK", "ST SA DJ HJ C8 C9 CQ CK CT CA")
"""Forehand, middlehand, rearhand; SJ and CJ lie in the talon."""


@settings(max_examples=20)
@given(st.integers(0, 1 << 40))
def test_bids_go_up_and_card_points_and_tricks_add_up(seed: int) -> None:
    for state in played(SkatGame(), 20, seed):
        public, calls = state["public"], names_of(state["tokens"][0, 11:])
        bids, soloist = [int(name) for name in calls if name.isdigit()], public["soloist"]
        assert bids == sorted(set(bids)) and (soloist >= 0) == bool(bids)
        if soloist < 0:
            assert calls[:4] == ["pass", "pass", "pass", "eos"]
            continue
        cut_short = public["num_played"] < 30
        taken = sum(int(points_of(cards)) for cards in public["taken"]) + int(points_of(aside_of(state)))
        assert taken < 120 if cut_short else taken == 120
        assert public["tricks"].sum() * 3 == public["num_played"]
        if public["game"] == NULL:
            assert cut_short or public["tricks"][soloist] <= 1
        elif cut_short:
            assert public["modifier"] >= SCHWARZ and public["tricks"].sum() - public["tricks"][soloist] == 1


@settings(max_examples=20)
@given(st.integers(0, 1 << 40), st.sampled_from(SCORINGS))
def test_points_are_those_of_the_scoring(seed: int, scoring: str) -> None:
    points, seeger = np.zeros(3, np.int64), scoring != "classic"
    for state in played(SkatGame(scoring=scoring), 20, seed):
        score(state["public"], twelve_of(state), aside_of(state), points)
        soloist, expected = int(state["public"]["soloist"]), [0, 0, 0]
        if soloist >= 0:
            won, value, overbid, _, _ = result_of(state)
            expected = [40 * (seeger and not won)] * 3
            expected[soloist] = value + 50 * seeger if won else -2 * value - 50 * seeger
            assert not (won and overbid)
        assert points.tolist() == expected


def test_tokens_are_those_the_rules_need() -> None:
    assert VOCABULARY.size == 113
    assert [len(names) for names in VOCABULARY.groups.values()] == [32, 65, 2, 6, 4, 3]


# ---- auction -------------------------------------------------------------------------------------------------------


def test_middlehand_bids_to_forehand_then_rearhand_to_the_survivor() -> None:
    states = given_hands(*NULL_DEAL)
    values = {str(name) for name in VOCABULARY.groups["Bids and replies"][2:]}
    assert states[0]["public"]["turn"] == 1 and legal_names(states) == {"pass", *values}
    do(states, "18")
    assert states[0]["public"]["turn"] == 0 and legal_names(states) == {"pass", "hold"}
    do(states, "hold")
    assert states[0]["public"]["turn"] == 1 and legal_names(states) == {"pass", *(values - {"18"})}
    do(states, "33 pass")
    assert states[0]["public"]["turn"] == 2 and "33" not in legal_names(states) and "35" in legal_names(states)
    do(states, "264 hold")
    assert states[0]["public"]["turn"] == 2 and legal_names(states) == {"pass"}
    do(states, "pass")
    assert states[0]["public"]["soloist"] == 1 and legal_names(states) == {"pickup", "hand"}
    assert seen(states, 0)[11:] == seen(states, 2)[11:] == ["18", "hold", "33", "pass", "264", "hold", "pass"]


def test_forehand_is_asked_alone_for_18_or_pass() -> None:
    states = given_hands(*NULL_DEAL)
    do(states, "pass pass")
    assert states[0]["public"]["turn"] == 0 and legal_names(states) == {"pass", "18"}
    taken = states.copy()
    do(taken, "18")
    assert taken[0]["public"]["soloist"] == 0 and legal_names(taken) == {"pickup", "hand"}
    do(states, "pass")
    assert states[0]["public"]["phase"] == OVER and seen(states, 1)[11:] == ["pass"] * 3 + ["eos"]


def test_forehand_who_has_held_is_not_asked_again() -> None:
    for calls, soloist in (("18 hold pass pass", 0), ("pass 20 pass", 2)):
        states = given_hands(*NULL_DEAL)
        do(states, calls)
        assert states[0]["public"]["soloist"] == soloist


def test_the_longest_auction_gives_the_longest_history() -> None:
    states = given_hands(*NULL_DEAL)
    for value in VOCABULARY.groups["Bids and replies"][2:]:
        do(states, f"{value} hold")
    do(states, "pass pass hand clubs ouvert")
    assert states[0]["public"]["soloist"] == 0 and states[0]["lengths"][1] + 30 + 1 == MAX_LENGTH


# ---- talon and announcements ---------------------------------------------------------------------------------------


def test_the_talon_is_seen_by_the_soloist_alone() -> None:
    states = given_hands(*NULL_DEAL)
    do(states, "18 pass pass pickup")
    assert seen(states, 1)[-3:] == ["pickup", "SJ", "CJ"] and seen(states, 0)[-1] == seen(states, 2)[-1] == "pickup"
    assert len(legal_names(states)) == 11 and "CJ" not in legal_names(states)
    do(states, "SQ")
    assert legal_names(states) == {"SK", "SJ", "CJ"}
    do(states, "CJ")
    assert states[0]["laid"] == cards("SQ CJ") and seen(states, 1)[-2:] == ["SQ", "CJ"]
    assert seen(states, 0)[-1] == "pickup" and states[0]["public"]["phase"] != DISCARD
    assert legal_names(states) == {"diamonds", "hearts", "spades", "clubs", "grand", "null"}
    do(states, "grand")
    assert states[0]["public"]["turn"] == 0 and len(legal_names(states)) == HAND_SIZE


@pytest.mark.parametrize(
    ("bid", "choice", "modifiers"),
    [
        (23, "pickup", {"plain", "ouvert"}),
        (24, "pickup", {"ouvert"}),
        (46, "pickup", {"ouvert"}),
        (48, "pickup", set()),
        (35, "hand", {"plain", "ouvert"}),
        (36, "hand", {"ouvert"}),
        (59, "hand", {"ouvert"}),
        (60, "hand", set()),
    ],
)
def test_null_is_never_offered_below_the_bid(bid, choice, modifiers) -> None:
    states = given_hands(*NULL_DEAL)
    do(states, f"pass {bid} pass {choice}" + (" DJ HJ" if choice == "pickup" else ""))
    assert ("null" in legal_names(states)) == bool(modifiers)
    assert {"diamonds", "grand"} <= legal_names(states)
    if modifiers:
        do(states, "null")
        assert legal_names(states) == modifiers


def test_trump_games_are_announced_in_hand_games_only() -> None:
    states = given_hands(*NULL_DEAL)
    do(states, "pass 18 pass hand grand")
    assert legal_names(states) == {"plain", "schneider", "schwarz", "ouvert"}
    do(states, "ouvert")
    shown = [name for name in names_of(np.arange(32)) if name in NULL_DEAL[2].split()]
    assert seen(states, 0)[-11:] == seen(states, 1)[-11:] == ["ouvert", *shown] and seen(states, 2)[-1] == "ouvert"


# ---- play and the end ----------------------------------------------------------------------------------------------


def test_null_ends_with_the_soloists_first_trick() -> None:
    states = given_hands(*NULL_DEAL)
    do(states, "pass 18 pass hand null ouvert C7 SQ CA")
    assert states[0]["public"]["phase"] == OVER and seen(states, 0)[-4:] == ["C7", "SQ", "CA", "eos"]
    won, value, overbid, matadors, points = result_of(states[0])
    assert (won, value, overbid, matadors, points) == (False, 59, False, 0, 14 + 4)


@pytest.mark.parametrize(
    ("modifier", "ends"), [("plain", False), ("schneider", False), ("schwarz", True), ("ouvert", True)]
)
def test_a_lost_trick_ends_a_game_with_schwarz_announced_and_shows_the_cards(modifier, ends) -> None:
    states = given_hands(*NULL_DEAL)
    do(states, f"pass 18 pass hand clubs {modifier} D7 DA ST")
    assert (states[0]["public"]["phase"] == OVER) == ends
    if ends:
        hidden = sorted([*NULL_DEAL[2].split(), "SJ", "CJ"], key=card_id)
        hidden.remove("ST")
        told = ["SJ", "CJ"] if modifier == "ouvert" else hidden
        assert seen(states, 0)[-len(told) - 2 :] == seen(states, 1)[-len(told) - 2 :] == ["ST", *told, "eos"]
        assert seen(states, 2)[-4:] == ["ST", "SJ", "CJ", "eos"]
        won, value, _, matadors, _ = result_of(states[0])
        assert (won, value, matadors) == (False, 12 * (17 if modifier == "ouvert" else 16), 10)
