"""Tournaments of cooperative games: teams do not mix, and every kind of deal has its figures."""

import io
import json
from collections.abc import Sequence
from math import sqrt

import numpy as np
import pytest
from rich.console import Console

from games.outcomes import OutcomeTable
from games.rng import derive, derive_many
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import Matches, merge, play_deals
from search.arena.tournament.report import render, variant_rows
from search.arena.tournament.result import TournamentResult, lead, summarize
from search.arena.tournament.seatings import seatings
from search.arena.tournament.statistics import rate_interval
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from tests.search.toy import ToyGame


class TeamGame(ToyGame):
    """Both seats win where each takes one trick. Two kinds of deals: whether the first seat has the lowest card."""

    name = "team"
    cooperative = True
    scenarios = ("without the lowest", "with the lowest", "never dealt")
    outcomes = OutcomeTable(points=np.array([[0, 0], [1, 1]]), utilities={"success": np.array([0.0, 1.0])})

    def outcome(self, states: np.ndarray) -> np.ndarray:
        labels = super().outcome(states)
        return np.where(labels < 0, -1, labels == 1).astype(np.int32)

    def scenario(self, states: np.ndarray) -> np.ndarray:
        return (states["hands"][:, 0, 0] == 0).astype(np.int16)


GAME = TeamGame()


class Lowest(RandomPlayer):
    """Plays its lowest legal card."""

    def __init__(self) -> None:
        super().__init__("lowest")

    def act(self, turns: Turns) -> np.ndarray:
        return turns.legal.argmax(axis=1)


def played(first: int, count: int, players: Sequence[RandomPlayer] | None = None) -> Matches:
    return play_deals(GAME, players or [Lowest(), RandomPlayer()], Deals(5, count, first), table_size=3)


def test_each_entrant_has_all_seats_of_one_seating_of_every_deal() -> None:
    assert seatings(2, 4, cooperative=True).tolist() == [[0] * 4, [1] * 4]
    assert seatings(3, 2, cooperative=True).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert seatings(1, 4, cooperative=True).tolist() == [[0] * 4]
    with pytest.raises(ValueError, match="players: name one at least"):
        seatings(0, 4, cooperative=True)


def test_two_teams_meet_the_same_deals_and_are_compared_by_deal() -> None:
    same = played(0, 40, [RandomPlayer(), RandomPlayer()])
    assert (same.points[:, 0] == same.points[:, 1]).all(), "the same player meets the same cards and random numbers"
    matches = played(0, 40)
    assert matches.points.shape == (40, 2, 2) and set(np.unique(matches.points)) == {0, 1}
    result = summarize(GAME, ["lowest", "random"], matches)
    (column,) = result.columns
    assert (column.name, column.matches, result.matches) == ("All", 80, 80)
    rates = matches.points.mean(axis=(0, 2))
    assert [column.points["lowest"], column.points["random"]] == pytest.approx(rates.tolist())
    assert lead(result)[0] == pytest.approx(rates[0] - rates[1]) and not result.lower_is_better
    assert result.by_deal["random"] == matches.points[:, 1, 0].tolist()
    assert result.advantage_by_deal.tolist() == (matches.points[:, 0, 0] - matches.points[:, 1, 0]).tolist()


def test_every_kind_of_deal_has_its_rates_with_wilsons_intervals() -> None:
    matches = played(0, 40)
    states = GAME.deal(derive_many(derive(5, "tournament"), 40))
    assert matches.variant.tolist() == GAME.scenario(states).tolist() and len(set(matches.variant)) == 2
    result = summarize(GAME, ["lowest", "random"], matches)
    assert [variant.column.name for variant in result.variants] == list(GAME.scenarios[:2])
    assert sum(variant.deals for variant in result.variants) == 40
    for kind, variant in enumerate(result.variants):
        points = matches.points[matches.variant == kind][:, :, 0]
        assert variant.column.matches == 2 * variant.deals == points.size
        for team, name in enumerate(result.players):
            assert variant.column.points[name] == pytest.approx(points[:, team].mean())
            ends = variant.intervals[name]
            assert ends and 0 <= ends[0] <= points[:, team].mean() <= ends[1] <= 1 and ends[0] < ends[1]


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    """Of 10 with 2 ones: (2 + z2/2 -+ z sqrt(2 * 8 / 10 + z2 / 4)) / (10 + z2); of no ones it begins at 0."""
    low, high = rate_interval(np.array([[1.0, 0.0]] * 2 + [[0.0, 0.0]] * 8))
    z = 1.959963984540054
    middle, half = 2 + z**2 / 2, z * sqrt(1.6 + z**2 / 4)
    assert [low[0], high[0]] == pytest.approx([(middle - half) / (10 + z**2), (middle + half) / (10 + z**2)])
    assert low[1] == 0 and high[1] == pytest.approx(z**2 / (10 + z**2))


def test_parts_keep_their_kinds_and_the_record_comes_back() -> None:
    whole = played(0, 40)
    parts = merge([played(25, 15), played(0, 25)], Deals(5, 40))
    assert parts.variant.tolist() == whole.variant.tolist() and (parts.points == whole.points).all()
    result = summarize(GAME, ["lowest", "random"], parts)
    assert TournamentResult.from_record(json.loads(json.dumps(result.record()))) == result


def test_the_table_has_one_column_and_a_row_for_each_kind() -> None:
    result = summarize(GAME, ["lowest", "random"], played(0, 40))
    console = Console(width=140, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(result))
    text = capture.get()
    assert "by kind of deal" in text and "with the lowest" in text and "never dealt" not in text and "1A/1B" not in text
    head, *rows = variant_rows(result)
    assert head == ["kind", "deals", "A", "B", "A - B"]
    assert len(rows) == 2 and all(len(row) == len(head) for row in rows)
    low, high = result.variants[0].intervals["lowest"]
    assert rows[0][2] == f"{result.variants[0].column.points['lowest']:.2f} ({low:.2f}..{high:.2f})"
