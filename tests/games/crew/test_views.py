"""What one seat knows of a mission, rebuilt from its history."""

import numpy as np
import pytest

from games.crew.cards import DECLINE, VOCABULARY
from games.crew.game import CrewGame
from games.game import Next
from tests.games.crew.table import TOKEN
from tests.games.material import played

GAME = CrewGame()


def history(*words: str) -> list[int]:
    return [TOKEN[word.replace("_", " ")] for text in words for word in text.split()]


def view(tokens: list[int], game: CrewGame = GAME) -> np.ndarray:
    return game.views(np.array([tokens]), np.array([len(tokens)]))


def possible(tokens: list[int], game: CrewGame = GAME) -> set[str]:
    return {VOCABULARY.name(token) for token in np.flatnonzero(game.view_possible(view(tokens, game))[0])}


DEALT = "P1 P2 B1 B9 G1 G5 Y1 Y2 Y3 R4"
COLOUR_CARDS = {name for name in VOCABULARY.names[:36]}


def test_a_header_goes_on_as_that_of_a_mission_that_may_be_dealt() -> None:
    assert possible([]) == {"no allocation", "draft", "commander decides", "commander distributes"}
    some = CrewGame(missions="1-3,29,34")
    assert possible([], some) == {"no allocation", "draft"}
    assert possible(history("no_allocation"), some) == {"normal", "dead zone"}
    assert possible(history("no_allocation normal"), some) == {"balanced"}
    assert possible(history("no_allocation normal balanced"), some) == {"commander first and last"}
    drafted = history("draft normal no_special")
    assert possible(drafted, some) == {"1", "no tile"}
    cards = possible([*drafted, TOKEN["no tile"]], some) - {"no tile"}  # mission 1 is complete, mission 2 is not
    assert cards == {VOCABULARY.name(card) for card in range(31)}  # nine higher ones are still to come
    wrong = view([*drafted, TOKEN["omega"]], some)
    assert not some.consistent(wrong)[0] and some.next(wrong)[0] == Next.END


def test_who_holds_the_rocket_4_is_the_commander() -> None:
    dealt = history("draft normal no_special no_tile", DEALT)
    assert possible(dealt) == {"self"}
    others = history("draft normal no_special no_tile", DEALT.replace("R4", "R3"))
    assert possible(others) == {"left", "across", "right"}
    assert possible([*dealt, TOKEN["self"]]) == COLOUR_CARDS
    twice = history("draft normal no_special no_tile no_tile", DEALT, "self P9")
    assert possible(twice) == COLOUR_CARDS - {"P9"}
    own = view([*twice, TOKEN["G3"]])
    assert GAME.next(own)[0] == Next.ACTION and set(np.flatnonzero(GAME.view_legal(own)[0])) == {8, TOKEN["G3"]}


def test_what_the_rules_forbid_ends_a_history_and_a_card_that_cannot_be_does_not() -> None:
    drafted = history("draft normal no_special no_tile no_tile", DEALT, "self P9 G3")
    for wrong in ("P8", "R1", "yes", "left", "silent"):  # no such task lies there
        after = view([*drafted, *history(wrong)])
        assert GAME.next(after)[0] == Next.END and not GAME.consistent(after)[0]
    playing = [*drafted, *history("P9 G3 silent silent silent silent")]
    for card, fits, following in (("P1", True, 0), ("P3", False, 0), ("highest", False, 2)):
        after = view([*playing, *history(card)])
        assert GAME.consistent(after)[0] == fits and GAME.next(after)[0] == following


def test_who_is_named_must_be_one_that_may_be() -> None:
    decided = history("commander_decides normal no_special no_tile no_tile", DEALT, "self")
    assert possible(decided) == {"yes", "no"}
    asked = [*decided, *history("yes no no")]
    assert possible(asked) == {"left", "across", "right"} and GAME.next(view(asked))[0] == Next.ACTION
    assert GAME.next(view([*asked, TOKEN["self"]]))[0] == Next.END
    named = view([*asked, *history("left P1 P2")])
    assert named["public"]["owners"][0, :2].tolist() == [1, 1]
    others = history("commander_decides normal no_special no_tile no_tile", DEALT.replace("R4", "R3"), "left yes no no")
    assert possible(others) == {"self", "across", "right"}  # as this seat sees them


def test_tiles_that_move_are_followed() -> None:
    start = history("draft normal swap_tiles 1 2 3 4 5", DEALT, "self P1 P2 P3 P4 P5")
    assert possible(start) == {"P1", "P2", "P3", "P4", "no tile"}
    assert view([*start, *history("P1 P5")])["public"]["tiles"][0, :5].tolist() == [4, 1, 2, 3, 0]
    assert view([*start, DECLINE])["public"]["tiles"][0, :5].tolist() == [0, 1, 2, 3, 4]


def test_radio_tells_where_cards_are_not() -> None:
    """The observer leads; left shows G7, with each of the three marks."""
    start = history("draft normal no_special no_tile", DEALT, "self P9 P9 silent G7")
    assert possible(start) == {"highest", "only", "lowest"}
    highest, lowest, only = (view([*start, TOKEN[mark]])["possible"][0] for mark in ("highest", "lowest", "only"))
    green = {name: 1 << TOKEN[name] for name in ("G2", "G6", "G7", "G8", "G9")}
    assert highest[1] & green["G8"] == 0 and highest[1] & green["G6"] and highest[2] & green["G7"] == 0
    assert lowest[1] & green["G6"] == 0 and lowest[1] & green["G8"]
    assert only[1] & (green["G2"] | green["G6"] | green["G8"] | green["G9"]) == 0 and only[1] & green["G7"]
    lone = history("draft normal no_special no_tile", "G1 G2 G3 G4 G5 G6 Y1 Y2 Y3 R4", "self P9 P9 silent G7")
    assert possible(lone) == {"only", "lowest"}  # no green card is below it
    assert possible(lone, CrewGame(singleton="any")) == {"highest", "only", "lowest"}


def test_a_history_that_cannot_be_has_no_world_and_half_a_group_has_no_state() -> None:
    dealt = history("draft normal no_special no_tile", DEALT)
    with pytest.raises(ValueError, match="row 0: no deal agrees with this history"):
        GAME.determinize(view([*dealt, TOKEN["left"]]), np.array([1], np.uint64))
    with pytest.raises(ValueError, match="stops amid what is seen at once"):
        GAME.determinize(view([*dealt, TOKEN["self"]]), np.array([1], np.uint64))


def test_an_outcome_is_ruled_out_once_a_mission_is_decided() -> None:
    states = played(GAME, 200, 3)
    tokens, lengths = GAME.histories(states, np.zeros(200, np.int64))
    assert GAME.view_outcomes(GAME.views(tokens, lengths - 2)).all()
    ends = GAME.views(tokens, lengths - 1)
    assert (GAME.view_outcomes(ends).sum(axis=1) == 1).all()
    assert (GAME.view_outcome(ends) == states["public"]["result"]).all()
