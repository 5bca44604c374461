"""XSkat, a program of others, agrees with our rules; and its play at our table is its play at its own."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from games.registry import make_game
from games.skat.cards import NUM_CARDS, PASS, VOCABULARY
from games.skat.records.iss import FormatError
from games.skat.replay import actions_of
from games.skat.xskat import program as installed
from games.skat.xskat.__main__ import main
from games.skat.xskat.agreement import differences
from games.skat.xskat.log import parse, split_log
from games.skat.xskat.program import XSkatError, program
from games.skat.xskat.table import XSkatTable, deal_file

LOG = (Path(__file__).parent / "xskat.log").read_text()
"""Ten deals of XSkat 4.0 against itself: suit games, grands, null, by hand, won and lost, passed in."""
DEALS = list(split_log(LOG))
VALUES = [72, -54, 144, -96, 120, 59, -192, 0, 35, 0]
"""Of the same deals, from its list of games."""
GAME = make_game("skat")


def _installed() -> bool:
    try:
        program()
    except XSkatError:
        return False
    return True


needs_xskat = pytest.mark.skipif(not _installed(), reason="xskat is not installed (apt-get install xskat)")
needs_display = pytest.mark.skipif(
    not _installed() or not Path("/usr/include/X11/Xlib.h").exists(),
    reason="xskat or what its display is built with is not installed (apt-get install xskat gcc libx11-dev)",
)


@pytest.mark.parametrize("number", range(len(DEALS)))
def test_our_rules_agree_with_its_log(number: int) -> None:
    assert differences(parse(DEALS[number]), VALUES[number]) == []


@pytest.mark.parametrize(
    ("number", "old", "new", "says"),
    [
        (0, "89 points", "90 points", "card points: XSkat says 90, the replay 89"),
        (1, "Lost", "Won", "won: XSkat says True, the replay False"),
        (1, "played Diamond", "played Heart", "is not legal, or not its turn"),
        (3, "Last bid: 18", "Last bid: 264", "value: XSkat says -96, the replay -528"),
        (4, "Played Hand\n", "", "value: XSkat says 120, the replay 96"),
        (5, "Played ouvert Hand", "Played Hand", "value: XSkat says 59, the replay 35"),
        (8, "Won", "Lost", "won: XSkat says False, the replay True"),
    ],
)
def test_what_differs_is_noticed(number, old, new, says) -> None:
    assert old in DEALS[number]
    assert says in "; ".join(differences(parse(DEALS[number].replace(old, new, 1)), VALUES[number]))


def test_a_wrong_winner_of_a_trick_is_noticed() -> None:
    """The capitals of the first trick are given to another card, and the leader of the next one is another then."""
    first = next(line for line in DEALS[0].splitlines()[3:])
    cards = first.split("  ")
    wrong = "  ".join(part.title() if part.strip().isupper() or part.strip()[:3].isupper() else part for part in cards)
    place = next(i for i, part in enumerate(cards) if part.strip() and not part.strip()[:3].isupper())
    parts = wrong.split("  ")
    parts[place] = parts[place].upper()
    found = differences(parse(DEALS[0].replace(first, "  ".join(parts), 1)), VALUES[0])
    assert found and ("not its turn" in found[0] or "tricks" in "; ".join(found))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Diamond", "Circle"),
        ("Last bid: 20", "Last bid: 21"),
        ("Skat is", "Skut is"),
        ("----", ""),
        ("Skat was: Club K,Club A", "Skat was: Club K,Club Q"),
        ("played Grand", "played Ramsch"),
    ],
)
def test_what_is_no_log_is_refused(old, new) -> None:
    with pytest.raises(FormatError, match="no deal of an XSkat log"):
        parse(DEALS[0].replace(old, new))


def test_without_xskat_there_is_one_clear_line(monkeypatch, capsys) -> None:
    monkeypatch.setattr(installed.shutil, "which", lambda *_, **__: None)
    assert main(["--games", "1"]) == 2
    assert capsys.readouterr().err == "xskat is not installed; apt-get install xskat\n"


def test_no_deals_agree_with_nothing(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--games", "0"])
    assert capsys.readouterr().err.splitlines()[-1].endswith("--games 0: at least 1 is needed")


@needs_xskat
def test_deals_it_plays_now_agree(capsys) -> None:
    assert main(["--games", "350", "--seed", "7"]) == 0
    assert capsys.readouterr().out == "350 deals, 350 agree\n"


@needs_display
def test_three_seats_at_our_table_play_as_it_plays_alone(tmp_path) -> None:
    """Card for card: XSkat's own game against itself is the reference."""
    from games.skat.xskat.screen import display_library

    states = GAME.deal(np.arange(40, dtype=np.uint64))
    for row in range(len(states)):
        state = states[row : row + 1]
        tables = [XSkatTable(state[0]["dealt"].copy(), seat) for seat in range(3)]
        while GAME.to_move(state)[0] >= 0:
            token = tables[GAME.to_move(state)[0]].ask()
            for table in tables:
                table.do(token)
            GAME.play(state, np.array([token]))
        for table in tables:
            table.close()
        (tmp_path / "deal").write_text(deal_file(state[0]["dealt"]))
        command = [program(), "-auto", "1", "-game", "deal", "-log", f"log{row}", "-list", f"list{row}", "-unfmt"]
        alone = {**os.environ, "LD_PRELOAD": str(display_library())}  # for the same time of day, its seed
        subprocess.run([*command, "-lang", "english", "-start", "3"], cwd=tmp_path, env=alone, check=True, timeout=60)
        theirs = parse(next(split_log((tmp_path / f"log{row}").read_text())))
        ours, _ = actions_of(state[0])
        assert int(state[0]["public"]["soloist"]) == theirs.soloist
        assert _from_choice(ours.tolist()) == _from_choice(theirs.tokens)


def _from_choice(tokens: list[int]) -> list[int]:
    """Everything behind the auction, of which a log tells the end alone."""
    return [token for token in tokens if token < NUM_CARDS or token >= VOCABULARY.first("Pickup or hand")]


@needs_display
@pytest.mark.parametrize("timid", [True, False])
def test_it_takes_part_in_any_deal_with_legal_actions(timid) -> None:
    """The others do anything legal: jump bids, discards, announcements, ouvert."""
    rng = np.random.default_rng(int(timid))
    for row in range(60):
        state = GAME.deal(np.array([row], np.uint64))
        table = XSkatTable(state[0]["dealt"].copy(), row % 3)
        while (seat := int(GAME.to_move(state)[0])) >= 0:
            legal = np.flatnonzero(GAME.legal(state)[0])
            passes = timid and PASS in legal and rng.random() < 0.8
            token = table.ask() if seat == row % 3 else PASS if passes else int(rng.choice(legal))
            assert token in legal
            table.do(token)
            GAME.play(state, np.array([token]))
        table.close()
