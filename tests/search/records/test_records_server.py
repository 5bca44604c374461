"""The server's own rules, where a game ends early or an announcement is lost, by records of its program."""

import re
from pathlib import Path

import pytest

from games.skat.cards import points_of
from games.skat.records.agreement import differences
from games.skat.records.iss import read
from games.skat.replay import new_state
from games.skat.state import aside_of
from search.scripted.skat.records.__main__ import main
from tests.games.skat.writing import record_of
from tests.search.records.test_records import BY_ID

FILE = Path(__file__).parents[2] / "games" / "skat" / "iss_records_2.sgf"
"""Names replaced."""
STOPPED, TIMED_OUT, SCHWARZ, OFF_THE_LADDER = FILE.with_name("iss_ends.sgf").read_text().splitlines()
"""Stopped as an announced schneider was lost; timed out with 68; schwarz announced and lost; a first bid of 22."""


def test_twenty_more_real_records_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(FILE)]) == 0
    assert capsys.readouterr().out == "20 records, 20 agree\n"


@pytest.mark.parametrize(
    ("record", "old", "new"),
    [
        (STOPPED, "", ""),
        (TIMED_OUT, "", ""),
        (TIMED_OUT, "w TI.0", "w LE.0"),
        (TIMED_OUT, "w TI.0", "0 RE"),
        (TIMED_OUT, "0 ST 1 S9 2 S8 0 HK 1 DT 2 H8 w TI.0 ]R[d:0 win", "w TI.0 ]R[d:0 loss"),
        (SCHWARZ, "", ""),
        (SCHWARZ, "v:-120", "v:-168"),  # with levels that were announced but not reached: earlier years
        (OFF_THE_LADDER, "", ""),
        (OFF_THE_LADDER, "0 22", "0 18"),
    ],
)
def test_what_the_server_says_is_right(record: str, old: str, new: str) -> None:
    assert old in record and differences(read(record.replace(old, new))) == []


@pytest.mark.parametrize(
    ("record", "old", "new", "says"),
    [
        (STOPPED, " 1 HJ 2 HT 0 DT ]", " ]", "breaks off after 9 cards"),  # the defenders have 16
        (STOPPED, " 2 HT 0 DT ]", " ]", "breaks off after 10 cards"),
        (STOPPED, "HHS", "HH", "breaks off after 12 cards"),
        (STOPPED, "v:-260", "v:-240", "value: the record says -240, the replay -260"),
        (STOPPED, "loss v:-260", "win v:260", "end: the record says win, the replay loss"),
        (STOPPED, "p:8", "p:9", "card points: the record says 9, the replay 8"),
        (TIMED_OUT, "win v:36", "loss v:-72", "end: the record says loss, the replay win"),
        (TIMED_OUT, "1 18 0 y", "1 40 0 y", "end: the record says win, the replay loss"),  # overbid
        (SCHWARZ, "v:-120", "v:-144", "value: the record says -144, the replay -168"),
        (OFF_THE_LADDER, "0 22", "0 21", "move 3: 0 21 means nothing here"),
    ],
)
def test_what_it_would_not_say_is_noticed(record: str, old: str, new: str, says: str) -> None:
    assert old in record and says in "; ".join(differences(read(record.replace(old, new))))


def test_a_game_that_is_given_up_is_not_written_as_schwarz() -> None:
    """Diamonds without 2, a bid of 18, given up wherever it may be: what is left is the defenders'."""
    whole = new_state()
    assert differences(read(BY_ID["541932"]), whole) == []
    for cards in range(1, int(whole["public"]["num_played"])):
        line, state = record_of(1, whole, cards), new_state()
        assert differences(read(line), state) == [] and "2 RE" in line
        public = state["public"]
        mine = points_of(public["taken"][2] | aside_of(state))
        begun, none = public["tricks"].any(), public["tricks"][2] == 0
        levels = 3 + (begun and mine <= 30) + (begun and none)
        assert re.search(r"loss v:(\S+) ", line)[1] == str(-2 * 9 * levels)
