"""The rule-based player of The Crew: what it does in clear-cut positions, and how often it succeeds."""

import numpy as np
import pytest

from games.crew.cards import VOCABULARY
from games.crew.game import CrewGame
from games.rng import derive_many
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from search.players.table import play_table
from search.scripted.crew.rules.player import CrewRules
from tests.games.crew.table import do, given, hush

HANDS = [
    ["P9", "P1", "B2", "B3", "B4", "G1", "G2", "Y5", "Y6", "R4"],
    ["P2", "P5", "B5", "B6", "G3", "G4", "G5", "Y1", "Y2", "R1"],
    ["P3", "P4", "P6", "B7", "B8", "B9", "G6", "G7", "Y3", "R2"],
    ["P7", "P8", "B1", "G8", "G9", "Y4", "Y7", "Y8", "Y9", "R3"],
]


def chosen(states: np.ndarray, mission: int) -> str:
    """What the player does at the seat to act."""
    game = CrewGame(missions=mission)
    seat = game.to_move(states)
    tokens, lengths = game.histories(states, seat)
    player, zero = CrewRules(), np.zeros(1, np.int64)
    player.start(game, 1)
    turns = Turns(zero, seat.astype(np.int64), tokens, lengths, game.legal(states), derive_many(0, 1))
    return VOCABULARY.name(player.act(turns)[0])


def played(mission: int, tasks: str, before: str, *tricks: str) -> np.ndarray:
    """A deal of ``HANDS``: actions before the first trick, then cards, silent in all windows."""
    states = given(mission, HANDS, tasks)
    do(states, before)
    for cards in tricks:
        hush(states)
        do(states, cards)
    if not tricks or len(tricks[-1].split()) == 4:
        hush(states)
    return states


def test_it_takes_the_task_that_it_surely_wins() -> None:
    assert chosen(given(2, HANDS, "B7 P9"), 2) == "P9"


def test_it_leads_its_own_task_where_nobody_can_go_above() -> None:
    assert chosen(played(1, "P9", "P9"), 1) == "P9"


def test_it_leads_the_highest_card_where_its_task_lies_elsewhere() -> None:
    assert chosen(played(1, "P5", "P5"), 1) in ("P9", "R4")


def test_a_partner_gives_the_task_to_its_owner_who_is_winning() -> None:
    assert chosen(played(1, "P5", "P5", "P9"), 1) == "P5"
    assert chosen(played(1, "P8", "P8", "P9 P2 P3"), 1) == "P8"


def test_nobody_takes_the_trick_in_which_the_owner_is_winning() -> None:
    assert chosen(played(1, "G1", "G1", "Y6 Y1 Y3"), 1) == "Y4"


def test_the_task_of_another_is_kept_from_a_trick_that_a_third_seat_wins() -> None:
    states = given(2, HANDS, "P9 B5")
    do(states, "P9 B5")  # the seat to the left owns B5 and holds it
    hush(states)
    do(states, "B4")
    assert chosen(states, 2) == "B6"


def test_it_shows_the_card_that_a_partner_waits_for() -> None:
    states = given(1, HANDS, "P2")
    do(states, "P2")
    assert chosen(states, 1) in ("P9", "silent")
    do(states, "silent")
    assert chosen(states, 1) == "P2"
    do(states, "P2")
    assert chosen(states, 1) == "lowest"


def test_the_sick_seat_ducks_and_the_others_win_for_it() -> None:
    states = given(5, HANDS)
    do(states, "yes no no left")
    hush(states)
    do(states, "Y5")
    assert chosen(states, 5) in ("Y1", "Y2")
    states = given(5, HANDS)
    do(states, "yes no no left")
    hush(states)
    do(states, "B2 B5")
    assert chosen(states, 5) in ("B7", "B8", "B9")


def test_a_9_goes_under_a_rocket_where_no_9_may_win() -> None:
    hands = [list(hand) for hand in HANDS]
    hands[0][0], hands[1][0] = "P2", "P9"  # the left seat has P9 and P5
    states = given(16, hands)
    hush(states)
    do(states, "P2")
    assert chosen(states, 16) == "P5"


def test_nobody_leads_a_rocket_where_every_rocket_has_to_win() -> None:
    assert not chosen(played(13, "", ""), 13).startswith("R")


def test_only_hands_with_a_hopeless_task_ask_for_a_pass() -> None:
    hands = [list(hand) for hand in HANDS]
    for task, reply in (("P9", "no"), ("P1", "yes")):
        states = given(1, hands, task, distress=True)
        do(states, task)
        game = CrewGame(missions=1, distress=True)
        tokens, lengths = game.histories(states, game.to_move(states))
        player, zero = CrewRules(), np.zeros(1, np.int64)
        player.start(game, 1)
        turns = Turns(zero, zero, tokens, lengths, game.legal(states), derive_many(0, 1))
        assert VOCABULARY.name(player.act(turns)[0]) == reply


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"distress": True, "nines": "stop", "same_trick": "refused", "singleton": "any"},
        {"pink_target": "after_distress", "distress": True, "roles": "volunteers", "muted": "anybody"},
        {"muting": "after_draft", "shown_card": "may_be_drawn"},
    ],
)
def test_it_plays_every_mission_under_every_option_and_always_alike(options: dict) -> None:
    for number in range(1, 51):
        game, seeds = CrewGame(missions=number, **options), derive_many(number, 3)
        seating = np.zeros((3, 4), np.int64)
        first = play_table(game, [CrewRules()], seating, seeds, secret=1)
        again = play_table(game, [CrewRules()], seating, seeds, table_size=2, secret=2)
        assert first.states.tobytes() == again.states.tobytes()


def test_it_plays_legally_from_whatever_random_players_have_left() -> None:
    game, seeds = CrewGame(distress=True), derive_many(9, 400)
    seating = np.random.default_rng(3).integers(0, 2, (400, 4))
    play_table(game, [CrewRules(), RandomPlayer()], seating, seeds, secret=1)


def test_it_succeeds_far_more_often_than_random_players() -> None:
    for mission, least in ((1, 0.8), (4, 0.6), (5, 0.7), (13, 0.7), (30, 0.2), (46, 0.1)):
        seeds, seating = derive_many(mission, 100), np.zeros((100, 4), np.int64)
        assert play_table(CrewGame(missions=mission), [CrewRules()], seating, seeds, secret=1).points.mean() > least
