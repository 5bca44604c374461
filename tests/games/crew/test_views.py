"""What one seat knows of a mission, rebuilt from its history."""

import os
import subprocess
import sys

import numpy as np
import pytest

from games import conformance
from games.crew.cards import DECLINE, NO, VOCABULARY
from games.crew.game import CrewGame
from games.crew.public import DISTRESS
from games.game import Next
from games.rng import derive_many, mix
from tests.games.crew.table import TOKEN, do, given, hush

GAME = CrewGame()


class Signalling(CrewGame):
    """Everybody agrees to the distress signal, which random replies would send once in sixteen deals."""

    def legal(self, states: np.ndarray) -> np.ndarray:
        return self._without_no(states, super().legal(states))

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        return self._without_no(views, super().view_legal(views))

    def _without_no(self, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
        legal[rows["public"]["phase"] == DISTRESS, NO] = False
        return legal


ALLOCATIONS = {
    "all": {},
    "draw": {"missions": "12"},
    "pink": {"missions": "46"},
    "decided": {"missions": "20,27,37"},
    "distributed": {"missions": "24,36,43"},
    "named": {"missions": "5,11,33,41,50"},
    "tiles": {"missions": "23,40"},
}


@pytest.mark.parametrize("options", ALLOCATIONS.values(), ids=ALLOCATIONS.keys())
@pytest.mark.parametrize("law", [conformance.check_replay, conformance.check_possible, conformance.check_no_leak])
def test_passed_cards_are_known_to_those_who_saw_them(law, options) -> None:
    law(Signalling(distress=True, **options), num_deals=60, seed=2)


def test_the_crew_keeps_every_law_as_plain_python_too() -> None:
    program = (
        "from games.conformance import check_game; from games.crew.game import CrewGame;"
        "check_game(CrewGame(missions='5,12,36'), num_deals=3, seed=3)"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env=environment, timeout=300)


@pytest.mark.parametrize("missions", ["1-50", "12"])
def test_worlds_agree_at_every_prefix_that_a_state_can_stand_at(missions: str) -> None:
    """Whole deals, the distress signal sent in all: the sampled state has the history, and stands at its end."""
    game, count, stood = Signalling(missions=missions, distress=True), 30, 0
    states = game.deal(derive_many(21, count))
    while (game.to_move(states) >= 0).any():
        legal = game.legal(states)
        game.play(states, np.argmax(legal * np.random.default_rng(int(states["lengths"].sum())).random(legal.shape), 1))
    for seat in range(4):
        tokens, lengths = game.histories(states, np.full(count, seat))
        for row in range(count):
            for cut in range(int(lengths[row])):
                views = game.views(tokens[row : row + 1], np.array([cut]))
                try:
                    others, seats = game.determinize(views, np.array([cut], np.uint64))
                except ValueError as error:
                    assert "stops amid what is seen at once" in str(error) and game.next(views)[0] == Next.OBSERVATION
                    continue
                seen, length = game.histories(others, seats)
                stood += 1
                np.testing.assert_array_equal(seen[0, :cut], tokens[row, :cut])
                over = game.to_move(others)[0] < 0
                assert length[0] - over == cut and over == (game.next(views)[0] == Next.END)
    assert stood > 2000


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
    assert possible(history("draft normal no_special no_tile", DEALT.replace("R4", "R3"))) == {
        "left",
        "across",
        "right",
    }
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


def test_in_the_dead_zone_a_card_shown_is_an_end_of_its_colour() -> None:
    """Left shows G5 and then plays a higher green card, so it has none below."""
    hands = [
        ["P9", "G1", "G2", "B1", "B2", "B3", "B4", "B5", "B6", "R4"],
        ["G5", "G7", "P1", "P2", "Y1", "Y2", "Y3", "Y4", "Y5", "Y6"],
        ["G3", "G4", "G6", "P3", "P4", "B7", "B8", "B9", "R1", "R2"],
        ["G8", "G9", "P5", "P6", "P7", "P8", "Y7", "Y8", "Y9", "R3"],
    ]
    states = given(6, hands, "Y1 Y2 B9")
    do(states, "B9 Y1 Y2 silent G5 silent silent")
    tokens, lengths = CrewGame().histories(states, np.array([0]))
    before = GAME.views(tokens, lengths)
    assert before["high"][0, 1] and before["low"][0, 1]
    do(states, "G1 G7")
    after = GAME.views(*GAME.histories(states, np.array([0])))
    assert not after["high"][0, 1] and after["possible"][0, 1] & (1 << TOKEN["G3"] | 1 << TOKEN["G4"]) == 0
    assert before["possible"][0, 1] & (1 << TOKEN["G3"])


def test_a_drawn_card_may_come_from_a_seat_that_had_no_such_card() -> None:
    """Left could not follow green in the first trick of mission 12: the only green card that it can play later is the
    one that the observer lost to it."""
    hands = [
        ["G1", "G2", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "R4"],
        ["B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "Y9"],
        ["G3", "G4", "G5", "Y1", "Y2", "Y3", "Y4", "Y5", "P8", "P9"],
        ["G6", "G7", "G8", "G9", "Y6", "Y7", "Y8", "R1", "R2", "R3"],
    ]
    states = given(12, hands, "P1 P2 P3 P4")
    do(states, "P1 P2 P3 P4")
    hush(states)
    do(states, "G1 B1 G3")
    tokens, lengths = GAME.histories(states, np.array([0]))
    start = tokens[0, : lengths[0]].tolist()
    gone = {"G1", "G3"}
    assert (
        possible(start) == {name for name in COLOUR_CARDS | {"R1", "R2", "R3"} if name not in hands[0]} - {"B1"} - gone
    )
    exchange = [*start, TOKEN["G9"], TOKEN["G2"]]
    assert possible([*start, TOKEN["G9"]]) == set(hands[0]) - gone
    drawable = possible(exchange)
    assert "B2" in drawable and "G5" in drawable and "G2" not in drawable and not drawable & (set(hands[0]) | gone)
    after = [*exchange, *history("R1 silent silent silent silent"), *history("Y6")]  # right won and leads yellow
    follows = view(after)
    assert GAME.consistent(follows)[0] and follows["public"]["turn"][0] == 0
    led = [*exchange, *history("R1 silent silent silent silent G8 P5")]
    assert {"G2"} <= possible(led) and not possible(led) & {"G4", "G5", "G6", "G7"}


def test_a_drawn_card_does_not_come_from_a_seat_that_had_no_such_card() -> None:
    """Across had no pink card but P9, right none but P8, and shown cards stay: right cannot play another one."""
    hands = [
        ["G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "R4"],
        ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "B1", "B2", "B3"],
        ["P9", "B4", "B5", "B6", "B7", "B8", "B9", "Y1", "Y2", "Y3"],
        ["P8", "Y4", "Y5", "Y6", "Y7", "Y8", "Y9", "R1", "R2", "R3"],
    ]
    states = given(12, hands, "Y1 Y2 Y4 Y5")
    do(states, "Y1 Y2 Y4 Y5 silent silent P9 only P8 only G1 B1 B4")
    tokens, lengths = GAME.histories(states, np.array([0]))
    exchange = [*tokens[0, : lengths[0]].tolist(), *history("R1 G2 R2 silent silent")]
    assert possible(exchange) == (COLOUR_CARDS | {"R3"}) - set(hands[0]) - set(hands[1][:7]) - {"P9", "B1", "B4"}


def test_a_history_that_cannot_be_has_no_world_and_half_a_group_has_no_state() -> None:
    dealt = history("draft normal no_special no_tile", DEALT)
    with pytest.raises(ValueError, match="row 0: no deal agrees with this history"):
        GAME.determinize(view([*dealt, TOKEN["left"]]), np.array([1], np.uint64))
    with pytest.raises(ValueError, match="stops amid what is seen at once"):
        GAME.determinize(view([*dealt, TOKEN["self"]]), np.array([1], np.uint64))


def test_an_outcome_is_ruled_out_once_a_mission_is_decided() -> None:
    states = GAME.deal(derive_many(3, 200))
    GAME.playout(states, mix(derive_many(3, 200), 1))
    tokens, lengths = GAME.histories(states, np.zeros(200, np.int64))
    assert GAME.view_outcomes(GAME.views(tokens, lengths - 2)).all()
    ends = GAME.views(tokens, lengths - 1)
    assert (GAME.view_outcomes(ends).sum(axis=1) == 1).all()
    assert (GAME.view_outcome(ends) == states["public"]["result"]).all()
