"""Tournaments: seatings, sharing out deals, the paper's tables, JSON, the printed table, tests and intervals."""

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest

from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.skat.game import SkatGame
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask, Evaluator
from search.arena.tournament.matches import Matches, merge, play_deals
from search.arena.tournament.report import interval, render, seat_rows, signed
from search.arena.tournament.result import TournamentResult, summarize
from search.arena.tournament.seatings import seatings
from search.arena.tournament.statistics import mean_interval, wilcoxon_p
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.players.player import Turns
from search.players.random_player import RandomPlayer
from search.roster.registry import make_players
from search.scripted.hearts.rules import HeartsRules
from tests.search.material import of_hearts, printed
from tests.search.toy import ToyGame


def by_hand_points() -> np.ndarray:
    """``float32[2, 14, 4]``: two deals of Hearts. In the first, every seat of A gets as many points as A has seats,
    every seat of B gets 4; in the second, B's seats get 5."""
    seats = seatings(2, 4)
    held = (seats == 0).sum(axis=1, keepdims=True)
    return np.stack([np.where(seats == 0, held, 4 + deal) for deal in (0, 1)]).astype(np.float32)


def by_hand() -> TournamentResult:
    """What the two deals come to."""
    matches = Matches(Deals(3, len(by_hand_points())), by_hand_points(), np.array([700, 800]), np.array([7.0, 0.4]))
    return summarize(HeartsGame(), ["one", "two"], matches, settings={"note": "by hand"})


def test_seatings() -> None:
    """Of two all in which both play, of as many as seats every permutation, of pairs one and the other way round; teams
    sit alone."""
    four = seatings(2, 4)
    assert four.shape == (14, 4) and seatings(2, 3).shape == (6, 3)
    assert len(np.unique(four, axis=0)) == 14 == len(seatings(2, 4, seating="all"))
    assert sorted((four == 0).sum(axis=1).tolist()) == [1] * 4 + [2] * 6 + [3] * 4
    assert ((four == 0).sum(axis=0) == 7).all()
    assert sorted(map(tuple, seatings(4, 4).tolist())) == [*permutations(range(4))]
    assert seatings(2, 4, seating="pairs").tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    for players, seats in ((1, 4), (2, 4), (3, 2)):
        assert seatings(players, seats, cooperative=True).tolist() == [[player] * seats for player in range(players)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        *(((count, 4), f"{count} players for 4 seats: a tournament takes 2 players or 4") for count in (1, 3, 5)),
        ((4, 4, False, "pairs"), "seating=pairs: takes 2 players, and there are 4; give seating=all"),
        ((2, 3, False, "pairs"), "seating=pairs: takes a game of 4 seats, and this one has 3; give seating=all"),
        ((2, 4, True, "pairs"), "seating=pairs: takes a game in which everybody plays alone; give seating=all"),
        ((2, 4, False, "duplicate"), "seating=duplicate: must be one of all, pairs"),
        ((0, 4, True), "players: name one at least"),
    ],
)
def test_what_cannot_be_seated_is_refused(asked: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seatings(*asked)


def test_the_columns_are_those_of_the_paper_computed_by_hand() -> None:
    result = by_hand()
    assert [column.name for column in result.columns] == ["All", "3A/1B", "2A/2B", "1A/3B"]
    assert [column.matches for column in result.columns] == [28, 8, 12, 8]
    assert [column.points["one"] for column in result.columns] == [2.0, 3.0, 2.0, 1.0]
    assert [column.points["two"] for column in result.columns] == [4.5] * 4
    assert [column.comparisons[0].delta for column in result.columns] == [-2.5, -1.5, -2.5, -3.5]
    assert result.seconds_per_turn == {"one": 0.01, "two": 0.0005}


def test_all_weighs_every_match_alike_as_in_table_2() -> None:
    """Table 2's ArgmaxVal* row, 4.46, 3.98, 3.63, gives its "All", 4.02, over 4, 6 and 4 seatings."""
    seats = seatings(2, 4)
    points = np.array([0.0, 3.63, 3.98, 4.46])[(seats == 0).sum(axis=1)][None, :, None] * (seats == 0)
    matches = Matches(Deals(1, len(points)), points.astype(np.float32), np.ones(2, int), np.ones(2))
    assert round(summarize(HeartsGame(), ["A", "B"], matches).columns[0].points["A"], 2) == 4.02


def test_the_json_record_is_this() -> None:
    """Deal differences in "All" are -2 and -3: two deals have no interval, and of one sign p = 1/2."""
    record = by_hand().record()
    every = record["columns"][0]
    assert every == {
        "name": "All",
        "matches": 28,
        "points": {"one": 2.0, "two": 4.5},
        "comparisons": [
            {"a": "one", "b": "two", "delta": -2.5, "low": None, "high": None, "p_value": 0.5, "advantage": 2.5}
        ],
    }
    del record["columns"]
    assert record == {
        "format": 2,
        "game": "hearts",
        "game_options": dict(HeartsGame().options),
        "players": ["one", "two"],
        "sees_hidden": [],
        "seed": 3,
        "deals": 2,
        "seating": "all",
        "matches": 28,
        "lower_is_better": True,
        "decisions": {"one": 700, "two": 800},
        "seconds_per_turn": {"one": 0.01, "two": 0.0005},
        "settings": {"note": "by hand"},
        "variants": [],
        "by_deal": {"one": [2.0, 2.0], "two": [4.0, 5.0]},
        **{"first": 0, "dealing_options": [], "series": 0, "indicators": {}, "by_seat": {}},
    }


def test_the_printed_table_holds_points_differences_intervals_and_times() -> None:
    text = " ".join(printed(render(by_hand())).split())
    for part in ("hearts: 2 deals, 28 matches; fewer points are better", "3A/1B", "one (A)", "-2.50"):
        assert part in text
    assert "0.500" in text and "one 10 ms, two 0.5 ms" in text


def test_skat_prints_what_its_people_count_the_points_of_a_list() -> None:
    result = run_tournament(SkatGame(), [RandomPlayer("one"), RandomPlayer("two")], 3, seed=1)
    means = result.columns[0].points
    said = f"points in 36 deals: one {36 * means['one']:.0f}, two {36 * means['two']:.0f}"
    assert said in printed(render(result))
    assert TournamentResult.from_record(result.record()) == result and result.record()["series"] == 36
    assert by_hand().record()["series"] == 0
    soloists, games = (result.by_seat[name].points for name in ("soloist", "passed"))
    assert sum(soloists.values()) * 3 == pytest.approx(2 - sum(games.values()))  # a game that is played has one


def test_means_over_games_and_seats_are_paper_004s_by_hand() -> None:
    """P never bids, and a game is passed in where only one seat is K's. Table VI has three games with one P and three
    with two: of P's nine seats six are in games passed in, of K's nine three, while of the games half are. In the other
    three one K plays an 18: it wins the first deal (68 points) and loses the second (-86, and 40 for the others)."""
    seats = seatings(2, 3)
    passed = np.repeat((seats == 0).sum(axis=1, keepdims=True) == 2, 3, axis=1)
    soloist = ~passed & (seats == 1) & ((seats == 1).cumsum(axis=1) == 1)
    points = [np.where(soloist, 68, 0), np.where(passed, 0, np.where(soloist, -86, 40))]
    shown = {name: np.array([each] * 2, np.float32) for name, each in (("passed", passed), ("soloist", soloist))}
    matches = Matches(Deals(3, 2), np.array(points, np.float32), np.ones(2, int), np.ones(2), indicators=shown)
    result = summarize(SkatGame(), ["P", "K"], matches)
    assert result.columns[0].points == pytest.approx({"P": (0 + 20) / 2, "K": (17 - 11.5) / 2})
    assert {name: one.mean for name, one in result.indicators["passed"].items()} == {"P": 0.5, "K": 0.5}
    found = {name: column.points for name, column in result.by_seat.items()}
    assert found["points"] == pytest.approx({"P": (0 + 120 / 9) / 2, "K": (204 / 9 - 138 / 9) / 2})
    assert found["passed"] == pytest.approx({"P": 6 / 9, "K": 3 / 9})
    assert found["soloist"] == pytest.approx({"P": 0, "K": 3 / 9})
    assert result.by_seat["points"].comparisons[0].delta == pytest.approx(20 / 3 - 11 / 3)
    assert TournamentResult.from_record(result.record()) == result
    assert ["passed", "0.667", "0.333", "+0.333", "-"] in seat_rows(result)
    assert "every game and seat weighed alike (paper 004)" in printed(render(result))


def test_what_rounds_to_zero_is_printed_without_a_minus() -> None:
    assert [signed(value) for value in (-0.001, 0.0, -0.0, 0.004, -0.006)] == ["+0.00"] * 4 + ["-0.01"]
    assert interval(-0.001, 0.2) == "+0.00..+0.20" and interval(None, None) == "-"


def test_a_record_gives_its_result_back_and_one_of_another_format_is_refused() -> None:
    assert TournamentResult.from_record(by_hand().record()) == by_hand()
    for other in (1, 3):
        with pytest.raises(ValueError, match=f"format {other}: this program reads format 2"):
            TournamentResult.from_record(by_hand().record() | {"format": other})


@pytest.mark.parametrize(
    ("parts", "there"),
    [
        ([(5, 2), (0, 3)], "0..2, 5..6"),  # missing
        ([], "none"),
        ([(0, 4), (3, 4)], "0..3, 3..6"),  # twice
        ([(0, 9)], "0..8"),  # not asked for
    ],
)
def test_parts_that_are_not_the_promised_deals_are_refused_by_name(parts: list[tuple[int, int]], there: str) -> None:
    points = np.zeros((9, 14, 4), np.float32)
    given = [Matches(Deals(1, count, first), points[:count], np.ones(2, int), np.ones(2)) for first, count in parts]
    with pytest.raises(ValueError, match=rf"^deals 0\.\.6 were asked for, and the parts have {there}$"):
        merge(given, Deals(1, 7))


def test_a_result_says_who_sees_hidden_cards_however_its_deals_were_shared_out() -> None:
    game, players = ToyGame(), [RandomPlayer("honest"), RandomPlayer("cheat")]
    players[1].sees_hidden = True
    parts = [play_deals(game, players, Deals(1, 2, first)) for first in (2, 0)]
    result = summarize(game, ["honest", "cheat"], merge(parts, Deals(1, 4)))
    assert result.sees_hidden == ("cheat",) and result.record()["sees_hidden"] == ["cheat"]
    text = printed(render(result))
    assert "cheat (B) (sees hidden cards)" in text and text.count("sees hidden") == 1


@pytest.mark.parametrize(("name", "seating"), [("random", "all"), ("hearts_rules", "all"), ("hearts_rules", "pairs")])
def test_a_player_is_exactly_as_good_as_itself(name: str, seating: str) -> None:
    game = HeartsGame()
    players = make_players([name, name], game, SearchConfig())
    result = run_tournament(game, players, deals=15, seed=1, seating=seating)
    assert result.players == (name, f"{name}#2")
    for column in result.columns:
        one = column.comparisons[0]
        assert (one.delta, one.low, one.high, one.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_progress_adds_up_to_the_deals_and_decisions() -> None:
    seen: list[tuple[int, int]] = []
    players = [RandomPlayer("a"), RandomPlayer("b")]
    result = run_tournament(ToyGame(), players, 11, 1, table_size=6, on_progress=lambda *now: seen.append(now))
    assert sum(deals for deals, _ in seen) == 11 and sum(deals > 0 for deals, _ in seen) == 4
    assert sum(decisions for _, decisions in seen) == sum(result.decisions.values())
    assert seen[0][0] == 0 and seen[0][1] > 0, "decisions are reported before any deal has ended"


def test_what_is_better_follows_from_the_utility() -> None:
    games = [HeartsGame(), SkatGame(), CrewGame(), ToyGame()]
    assert [game.outcomes.lower_is_better for game in games] == [True, False, False, False]
    result = run_tournament(ToyGame(), [RandomPlayer("a"), RandomPlayer("b")], deals=9, seed=1)
    assert result.columns[0].comparisons[0].advantage == result.columns[0].comparisons[0].delta


def test_entrants_of_one_name_and_no_deals_are_refused() -> None:
    with pytest.raises(ValueError, match="distinct names"):
        run_tournament(ToyGame(), [RandomPlayer(), RandomPlayer()], deals=1, seed=1)
    with pytest.raises(ValueError, match="deals=0"):
        run_tournament(ToyGame(), [RandomPlayer("a"), RandomPlayer("b")], deals=0, seed=1)


def test_an_evaluator_that_has_nothing_to_do_counts_nothing() -> None:
    evaluator = Evaluator()
    evaluator.play(DealsTask(of_hearts(14), ("hearts_rules", "random"), "", Deals(1, 2)))
    progress = {"deals": 0, "decisions": 0, "compiling": False}  # else its last task is counted twice
    assert evaluator.progress() == progress


# ---- tests and intervals over deals, against small cases computed by hand


@pytest.mark.parametrize(
    ("differences", "p", "why"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], 2 / 32, "of 2**5 equally likely patterns of signs two are as extreme"),
        ([-1.0, 2.0, 3.0], 4 / 8, "ranks 1, 2, 3 with signs -, +, +: rank sums at most 1 or at least 5"),
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 2 / 32, "deals without a difference do not count"),
        ([0.0] * 7, 1.0, "nothing differs"),
    ],
)
def test_wilcoxon_p_counts_the_patterns_of_signs(differences: list[float], p: float, why: str) -> None:
    assert wilcoxon_p(np.array(differences)) == pytest.approx(p), why


def test_the_interval_of_five_numbers_is_the_textbooks_and_fewer_have_none() -> None:
    """1..5: mean 3, variance 2.5; the 97.5 % point of t with 4 degrees of freedom is 2.776."""
    ends = mean_interval(np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 7.0], [4.0, 7.0], [5.0, 7.0]]))
    assert ends is not None
    for end, sign in zip(ends, (-1, 1), strict=True):
        assert end.tolist() == pytest.approx([3 + sign * 2.776 * 0.5**0.5, 7], abs=1e-3)
    assert [mean_interval(np.zeros((deals, 1))) is None for deals in range(1, 7)] == [True] * 4 + [False] * 2


class Careless(HeartsRules):
    """Plays its first legal card in every tenth turn."""

    def act(self, turns: Turns) -> np.ndarray:
        return np.where(turns.seeds % np.uint64(10) == 0, turns.legal.argmax(axis=1), super().act(turns))


@pytest.fixture(scope="module")
def differences() -> dict[str, np.ndarray]:
    """Points by deal (``float64[D]``) that a rule-based player is ahead of a careless one: what resampling takes for
    the truth. Two columns, "All" and the most discrete one; and the most skewed of all, one rule-based seat against
    three random ones."""
    seats, deals = seatings(2, 4), 600
    points = play_deals(HeartsGame(), [HeartsRules(), Careless()], Deals(5, deals), table_size=2048).points
    weights = (seats == 0) / (seats == 0).sum(1, keepdims=True) - (seats == 1) / (seats == 1).sum(1, keepdims=True)
    ahead = (points * weights).sum(axis=2)
    lone = (seats == 0).sum(1) == 1
    others = play_deals(HeartsGame(), [HeartsRules(), RandomPlayer()], Deals(5, deals), table_size=2048).points
    far = (others * weights).sum(axis=2)[:, lone].mean(axis=1)
    return {"All": ahead.mean(axis=1), "1A/3B": ahead[:, lone].mean(axis=1), "far better": far}


def samples(population: np.ndarray, deals: int, count: int) -> np.ndarray:
    """``float64[deals, count]``: tournaments of so many deals, drawn from a population."""
    return population[np.random.default_rng(deals).integers(0, len(population), (deals, count))]


@pytest.mark.parametrize(
    ("column", "deals", "covered"),
    [
        *((column, deals, 0.95) for column in ("All", "1A/3B") for deals in (10, 20, 50, 200)),
        *(("far better", deals, covered) for deals, covered in ((10, 0.90), (20, 0.92), (50, 0.94))),
    ],
)
def test_the_interval_covers_the_truth_as_often_as_the_docs_say(differences, column, deals, covered) -> None:
    population = differences[column]
    ends = mean_interval(samples(population, deals, 10_000))
    assert ends is not None
    share = np.mean((ends[0] <= population.mean()) & (population.mean() <= ends[1]))
    assert share == pytest.approx(covered, abs=0.015)


@pytest.mark.slow
def test_commands_and_actors_do_not_load_what_wilcoxons_test_alone_needs() -> None:
    code = "import search.arena.tournament.__main__, selfplay.__main__, sys; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


class Counts(RandomPlayer):
    """Says how often it acted."""

    def start(self, game: Game, num_games: int) -> None:
        self.acted = np.zeros(num_games)

    def act(self, turns: Turns) -> np.ndarray:
        np.add.at(self.acted, turns.game, 1)
        return super().act(turns)

    def counts(self, games: np.ndarray) -> dict[str, np.ndarray]:
        return {"turns": self.acted[games]}

    def forget(self, games: np.ndarray) -> None:
        self.acted[games] = 0


def test_what_one_player_counts_is_shown_beside_players_that_count_nothing() -> None:
    result = run_tournament(SkatGame(), [Counts("counts"), RandomPlayer("random")], 6, 1, 64)
    assert [*result.indicators["turns"]] == ["counts"] and result.indicators["turns"]["counts"].mean > 5
