"""XSkat, a program of others, agrees with our rules in the deals that its log tells."""

from pathlib import Path

import pytest

from tests.games.skat.xskat_log import differences, parse, split_log

DEALS = list(split_log((Path(__file__).parent / "xskat.log").read_text()))
"""Eleven deals of XSkat 4.0 against itself: suit games, grands, null, by hand, won and lost, passed in. Of the last, a
lost null, it tells five tricks and no more rows."""
VALUES = [72, -54, 144, -96, 120, 59, -192, 0, 35, 0, -70]
"""Of the same deals, from its list of games; the last, a null by hand, by the rules."""


@pytest.mark.parametrize("number", range(len(DEALS)))
def test_our_rules_agree_with_its_log(number: int) -> None:
    assert differences(parse(DEALS[number]), VALUES[number]) == []


@pytest.mark.parametrize(
    ("number", "old", "new", "says"),
    [
        (0, "89 points", "90 points", "card points: XSkat says 90, the replay 89"),
        (1, "Lost", "Won", "won: XSkat says True, the replay False"),
        (1, "played Diamond", "played Heart", "is not legal, or not its turn"),
        (4, "Played Hand\n", "", "value: XSkat says 120, the replay 96"),
    ],
)
def test_what_differs_is_noticed(number, old, new, says) -> None:
    assert old in DEALS[number]
    assert says in "; ".join(differences(parse(DEALS[number].replace(old, new, 1)), VALUES[number]))
