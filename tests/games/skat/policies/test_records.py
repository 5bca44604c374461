"""Decisions of three games of the International Skat Server, read from their text by hand (paper 004)."""

from pathlib import Path

import numpy as np
import pytest

from games.shards import Sequences
from games.skat.game import SkatGame
from games.skat.policies.decisions import Decisions, decisions_of
from games.skat.policies.points import DECISION_TYPES
from games.skat.records.iss import read
from games.skat.replay import new_state, replay
from tests.games.skat.policies.plain import CARDS

GAME = SkatGame()
LINES = (Path(__file__).parents[1] / "iss_records.sgf").read_text().splitlines()
RECORDS = {record.id: record for record in map(read, LINES)}
SUITS = ("diamonds", "hearts", "spades", "clubs", "trumps")


def decided(number: str, seat: int) -> list[tuple[str, int | str, np.ndarray, list[int]]]:
    """Point, action, features and numbers of each decision of a seat, in order; cards by name."""
    record, state = RECORDS[number], new_state()
    assert replay(state, record.hands, np.array(record.seats), np.array(record.tokens)) == -1
    states = np.array([state])
    sequences = Sequences.of_deals(GAME, states, np.zeros(1, np.uint64), "x")
    found: Decisions = decisions_of(sequences.tokens[seat : seat + 1], np.array([state["lengths"][seat]]))
    bits = np.unpackbits(found.bits, axis=1, bitorder="little")
    names = [DECISION_TYPES[point].name for point in found.point]
    actions = [
        CARDS[label] if name.startswith("card") else int(label) for name, label in zip(names, found.label, strict=True)
    ]
    return list(zip(names, actions, bits, found.numbers.tolist(), strict=True))


def cards(row: np.ndarray, first: int) -> set[str]:
    """Names of the 32 places from ``first`` on that are set."""
    return {CARDS[card] for card in np.flatnonzero(row[first : first + 32])}


def named(text: str) -> set[str]:
    return set(text.split())


def pair(low: str, high: str) -> int:
    """Of two cards by their places in the deck, all pairs of lower ones first."""
    a, b = sorted((CARDS.index(low), CARDS.index(high)))
    return b * (b - 1) // 2 + a


def test_a_diamond_game_that_rearhand_picked_up_for() -> None:
    """North HA SK SJ SA CQ S8 C9 H7 H9 DQ, east CJ S9 DJ S7 D9 SQ C8 HQ DK CA, west D8 D7 DT CT ST C7 HK DA HT HJ.
    East passes, west bids 18, north passes; west picks H8 and CK up and lays ST and H8."""
    (bid, limit, row, _), *plays = decided("541932", 1)
    assert (bid, limit) == ("bid", 0) and np.flatnonzero(row[32:35]).tolist() == [1]  # middlehand
    assert cards(row, 0) == named("CJ S9 DJ S7 D9 SQ C8 HQ DK CA") and not row[35:].any()
    name, played, row, numbers = plays[0]  # SA is led
    assert (name, played, numbers) == ("card_suit_defender", "S7", [2 + 2 + 3 + 3 + 4 + 11, 11, 0, 0])
    assert cards(row, 96) == {"SA"} and cards(row, 160) == {"SA"} and cards(row, 266) == {"SA"}  # north's: two on
    assert row[314] == 1 and row[315:317].tolist() == [1, 0]  # the partner's trick; the soloist is next
    assert np.flatnonzero(row[298:310]).tolist() == [0]  # of west's 18 nine is a divisor
    name, limit, row, _ = decided("541932", 0)[0]
    assert (name, limit) == ("continue", 0) and np.flatnonzero(row[35:]).tolist() == [0]  # east's limit: none
    before = decided("541932", 2)[:3]
    assert [(name, action) for name, action, _, _ in before] == [
        *(("choice", 0), ("declare", 0), ("discard_diamonds", pair("ST", "H8")))
    ]
    assert all(np.flatnonzero(row[99:163]).tolist() == [1] for _, _, row, _ in before)  # 18 won the auction
    assert cards(before[1][2], 0) == named("D8 D7 DT CT ST C7 HK DA HT HJ H8 CK")
    name, played, row, numbers = decided("541932", 2)[3]
    assert (name, played) == ("card_suit_soloist", "DA") and cards(row, 314) == {"ST", "H8"}
    name, played, row, numbers = decided("541932", 2)[4]  # SA, S7 and DA were its trick
    assert played == "HJ" and numbers[1:] == [0, 22, 0] and cards(row, 32) == {"DA"} and cards(row, 64) == {"SA"}
    left = cards(row, 347)
    assert left == named("CJ SJ DJ DK DQ D9") and np.flatnonzero(row[379:383]).tolist() == [0]


def test_a_grand_in_which_suits_ran_out() -> None:
    """East, middlehand, bids 18, picks SA and CJ up, lays CT and DT: CA C9 C8, then CK D7 HT, then CQ to DJ."""
    assert [(name, action) for name, action, _, _ in decided("1039093", 0)[:1]] == [("bid", 0)]
    assert [(name, action) for name, action, _, _ in decided("1039093", 2)[:1]] == [("continue", 0)]
    found = decided("1039093", 1)
    assert [(name, action) for name, action, _, _ in found[:3]] == [
        *(("choice", 0), ("declare", 4), ("discard_grand", pair("CT", "DT")))
    ]
    name, played, row, numbers = found[5]
    assert (name, played, numbers) == ("card_grand_soloist", "DJ", [2 + 11 + 10 + 2 + 11 + 2, 3, 0, 11 + 14])
    assert cards(row, 0) == named("HJ HA S9 ST H8 DJ SA CJ") and cards(row, 314) == {"CT", "DT"}
    assert cards(row, 32) == {"C9", "D7"} and cards(row, 64) == {"C8", "HT"} and cards(row, 96) == {"CA", "CK", "CQ"}
    assert not cards(row, 128) and cards(row, 160) == {"CA", "CK", "CQ"}  # led by west, by north
    assert cards(row, 192) == {"HT"} and not cards(row, 224)  # sloughed
    assert [SUITS[suit] for suit in np.flatnonzero(row[256:261])] == ["clubs"] and not row[261:266].any()
    assert cards(row, 347) == {"SJ"} and not row[298:314].any() and row[346] == 0


def test_null_ouvert_by_hand_with_the_cards_on_the_table() -> None:
    """East holds D9 HK HA SQ CT S8 HJ SJ DT ST; C8 is led, it plays CT, west C9."""
    assert [(name, action) for name, action, _, _ in decided("25", 1)] == [("choice", 12), ("card_null_soloist", "CT")]
    name, played, row, numbers = decided("25", 0)[1]
    assert (name, played, numbers) == ("card_null_defender", "C8", [2 + 11 + 11 + 3 + 4 + 4, 0, 0, 0])
    assert row[310:314].tolist() == [1, 1, 0, 0] and row[315:317].tolist() == [1, 0]
    assert cards(row, 317) == named("D9 HK HA SQ CT S8 HJ SJ DT ST")
    assert np.flatnonzero(row[298:310]).tolist() == [0]
    name, played, row, numbers = decided("25", 2)[1]
    assert (name, played, numbers[1]) == ("card_null_defender", "C9", 10)
    assert row[314] == 0 and row[315:317].tolist() == [0, 1] and cards(row, 266) == {"C8", "CT"}
    assert cards(row, 317) == named("D9 HK HA SQ S8 HJ SJ DT ST")


@pytest.mark.parametrize("line", range(len(LINES) - 1))
def test_every_record_has_a_loser_of_each_duel_and_a_choice_of_its_soloist(line: int) -> None:
    record = read(LINES[line])
    names = [[name for name, *_ in decided(record.id, seat)] for seat in range(3)]
    assert [sum(each.count(name) for each in names) for name in ("bid", "continue", "choice")] == [1, 1, 1]
    assert "choice" in names[int(record.result["d"])]
