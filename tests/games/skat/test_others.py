"""Deals of others agree with our rules: the server's records, XSkat's log, and card play against OpenSpiel's skat,
whose auction, announcements and values are too simple to compare. Its soloist picks up the talon and discards."""

import random
from pathlib import Path

import numpy as np
import pyspiel
import pytest

from games.registry import make_game
from games.skat.cards import GAMES, VOCABULARY
from games.skat.game import SkatGame
from games.skat.legal import legal_plays
from games.skat.records.iss import Record, read
from games.skat.replay import new_state, replay
from tests.games.skat.test_rules import cards, do, given_hands
from tests.games.skat.xskat_log import differences, parse, split_log

GAME = make_game("skat")
RECORDS = [read(line) for line in (Path(__file__).parent / "iss_records.sgf").read_text().splitlines()]
KINDS = ("grand", "suit", "null", "null_ouvert")


def _ended(record: Record) -> np.ndarray:
    """The record's deal, played to its end by the first legal token."""
    state = new_state()
    assert replay(state, record.hands, np.array(record.seats), np.array(record.tokens)) == -1
    states = np.array([state])
    while GAME.to_move(states)[0] >= 0:
        GAME.play(states, GAME.legal(states).argmax(axis=1))
    return states


@pytest.mark.parametrize(
    ("number", "kind", "hand"),
    [(0, "suit", 0), (1, "suit", 1), (3, "grand", 0), (4, "null_ouvert", 0), (7, "null_ouvert", 1), (9, "grand", 0)],
)
def test_a_recorded_game_is_told_as_the_server_has_it(number: int, kind: str, hand: int) -> None:
    record = RECORDS[number]
    shown = GAME.indicators(_ended(record))
    soloist = np.eye(3)[int(record.result["d"])]
    assert shown["soloist"].tolist() == [soloist.tolist()] and not shown["passed"].any()
    assert {name: shown[name].sum() for name in KINDS} == {name: float(name == kind) for name in KINDS}
    assert shown["hand"].sum() == hand


def test_a_whole_game_has_the_value_of_its_record() -> None:
    for record in RECORDS[:-1]:
        state = new_state()
        replay(state, record.hands, np.array(record.seats), np.array(record.tokens))
        if state["public"]["turn"] < 0:
            shown = GAME.indicators(np.array([state]))
            assert shown["value"].sum() == float(record.result["v"])
            assert (shown["won"].sum() == 1) == (record.result["end"] == "win")


@pytest.mark.parametrize("scoring", ["seeger_fabian", "classic"])
def test_shares_and_points_fit(scoring: str) -> None:
    game = make_game("skat", {"scoring": scoring})
    states = game.deal(np.arange(400, dtype=np.uint64))
    game.playout(states, np.arange(400, dtype=np.uint64))
    shown, points = game.indicators(states), game.points(states)
    assert all(each.shape == (400, 3) and each.dtype == np.float32 for each in shown.values())
    assert np.array_equal(shown["soloist"].sum(axis=1) + shown["passed"][:, 0], np.ones(400))
    assert np.array_equal(sum(shown[name] for name in KINDS), shown["soloist"])
    mine = shown["soloist"] == 1
    premium = 0 if scoring == "classic" else 50 * np.sign(shown["value"][mine])
    assert np.array_equal(points[mine], shown["value"][mine] + premium)
    assert (shown["value"][~mine] == 0).all() and (shown["hand"][~mine] == 0).all()


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


DEALT_TO = [0] * 3 + [1] * 3 + [2] * 3 + [3] * 2 + [0] * 4 + [1] * 4 + [2] * 4 + [0] * 3 + [1] * 3 + [2] * 3
"""Place of each card that OpenSpiel deals: a seat, or 3 for the talon."""
AUCTION = ("pass pass 18", "18 pass pass", "pass 18 pass")
"""Calls that make each seat the soloist."""


def names(state: pyspiel.State) -> dict[str, int]:
    return {state.action_to_string(state.current_player(), action): action for action in state.legal_actions()}


def deal_theirs(rng: random.Random) -> tuple[pyspiel.State, list[list[str]]]:
    state, places = pyspiel.load_game("skat").new_initial_state(), [[], [], [], []]
    for place in DEALT_TO:
        name, action = rng.choice(sorted(names(state).items()))
        places[place].append(name)
        state.apply_action(action)
    return state, places


@pytest.mark.parametrize("game", GAMES)
def test_suits_followed_and_trick_winners_are_openspiels(game: str) -> None:
    rng = random.Random(GAMES.index(game))
    for deal in range(40):
        soloist = deal % 3
        theirs, places = deal_theirs(rng)
        ours = given_hands(*(" ".join(hand) for hand in places[:3]))
        do(ours, f"{AUCTION[soloist]} pickup")
        for seat in range(soloist + 1):
            theirs.apply_action(names(theirs)[game if seat == soloist else "unknown/pass"])
        twelve = sorted(places[soloist] + places[3], key=cards)
        first, second = sorted(rng.sample(range(12), 2))
        for place in (first, second):
            theirs.apply_action(names(theirs)[twelve[place]])
        do(ours, f"{twelve[first]} {twelve[second]} {game}" + (" plain" if game == "null" else ""))
        while (seat := ours[0]["public"]["turn"]) >= 0:
            assert theirs.current_player() == seat
            legal = int(legal_plays(ours[0]["public"], ours[0]["hands"][seat]))
            assert legal == cards(" ".join(names(theirs)))
            card = rng.choice([card for card in range(32) if legal >> card & 1])
            theirs.apply_action(names(theirs)[VOCABULARY.name(card)])
            assert SkatGame.loops.act(ours, np.array([card])) == -1
        assert game == "null" or theirs.is_terminal()
