"""The rule-based player of The Crew: what it does in clear-cut positions, and how often it succeeds."""

import numpy as np
import pytest

from games.crew.cards import VOCABULARY
from games.crew.game import CrewGame
from games.rng import derive_many
from search.players.random_player import RandomPlayer
from search.players.table import play_table
from search.scripted.crew.rules.player import CrewRules
from tests.games.crew.table import do, given, hush
from tests.search.turns import turns_in

HANDS = [
    ["P9", "P1", "B2", "B3", "B4", "G1", "G2", "Y5", "Y6", "R4"],
    ["P2", "P5", "B5", "B6", "G3", "G4", "G5", "Y1", "Y2", "R1"],
    ["P3", "P4", "P6", "B7", "B8", "B9", "G6", "G7", "Y3", "R2"],
    ["P7", "P8", "B1", "G8", "G9", "Y4", "Y7", "Y8", "Y9", "R3"],
]


def chosen(states: np.ndarray, game: CrewGame) -> str:
    """What the player does at the seat to act."""
    player = CrewRules()
    player.start(game, 1)
    return VOCABULARY.name(player.act(turns_in(game, states))[0])


DUCKING = [["P2", *HANDS[0][1:]], ["P9", *HANDS[1][1:]], *HANDS[2:]]
"""The left seat has P9 and P5."""


@pytest.mark.parametrize(
    ("mission", "hands", "tasks", "before", "expected", "why"),
    [
        (2, HANDS, "B7 P9", "", "P9", "it takes the task that it surely wins"),
        (1, HANDS, "P9", "P9;hush", "P9", "it leads its own task where nobody can go above"),
        (1, HANDS, "P5", "P5;hush", "P9 R4", "it leads the highest card where its task lies elsewhere"),
        (1, HANDS, "P5", "P5;hush;P9", "P5", "a partner gives the task to its owner who is winning"),
        (1, HANDS, "P8", "P8;hush;P9 P2 P3", "P8", "a partner gives the task to its owner, last too"),
        (1, HANDS, "G1", "G1;hush;Y6 Y1 Y3", "Y4", "nobody takes the trick in which the owner is winning"),
        (2, HANDS, "P9 B5", "P9 B5;hush;B4", "B6", "the left seat holds its task back from a trick that a third wins"),
        (1, HANDS, "P2", "P2", "P9 silent", "it shows nothing that nobody waits for"),
        (1, HANDS, "P2", "P2;silent", "P2", "it shows the card that a partner waits for"),
        (1, HANDS, "P2", "P2;silent;P2", "lowest", "and how it stands"),
        (5, HANDS, "", "yes no no left;hush;Y5", "Y1 Y2", "the sick seat ducks"),
        (5, HANDS, "", "yes no no left;hush;B2 B5", "B7 B8 B9", "others win for the sick seat"),
        (16, DUCKING, "", "hush;P2", "P5", "a 9 goes under where no 9 may win"),
    ],
)
def test_what_it_does_in_clear_cut_positions(mission, hands, tasks, before, expected, why) -> None:
    states = given(mission, hands, tasks)
    for step in filter(None, before.split(";")):
        hush(states) if step == "hush" else do(states, step)
    assert chosen(states, CrewGame(missions=mission)) in expected.split(), why


def test_nobody_leads_a_rocket_where_every_rocket_has_to_win_and_only_hopeless_tasks_ask_for_a_pass() -> None:
    states = given(13, HANDS)
    hush(states)
    assert not chosen(states, CrewGame(missions=13)).startswith("R")
    for task, reply in (("P9", "no"), ("P1", "yes")):
        states = given(1, HANDS, task, distress=True)
        do(states, task)
        assert chosen(states, CrewGame(missions=1, distress=True)) == reply


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"distress": True, "nines": "stop", "same_trick": "refused", "singleton": "any"},
        {"pink_target": "after_distress", "distress": True, "roles": "volunteers", "muted": "anybody"},
        {"muting": "after_draft", "shown_card": "may_be_drawn"},
    ],
)
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_it_plays_every_mission_under_every_option_and_always_alike(options: dict, step: int) -> None:
    for number in range(1, 51, step):
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
