"""A network's values against playouts, and a Q-network's of first actions: figures by hand, and the commands."""

import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from games.game import Game
from games.hearts.game import HeartsGame
from games.openspiel import OpenSpielGame
from games.rng import derive, derive_many
from learner.config import EngineConfig
from learner.q_network.engine import QEngine
from learner.q_network.kind import KIND as Q_KIND
from search.arena.openings import measure as openings
from search.arena.openings import report
from search.arena.openings.measure import by_action, first_values, suit_place
from search.arena.openings.report import OpeningsResult
from search.arena.partial_results import PartialResults
from search.arena.values.decisions import Decisions, choices_of, draw_decisions, places_of_third
from search.arena.values.measure import Estimate, Part, measure, predictions, regret
from search.arena.values.reference import playout_utilities
from search.arena.values.report import ValuesResult, render, unit_of
from search.players.config import ArgmaxValConfig
from search.players.random_player import Exploring, RandomPlayer
from search.scripted.hearts.rules import HeartsRules
from tests.search.models import FunctionModel, History
from tests.search.state_models import NO_PASS
from tests.search.toy import ToyGame
from tests.search.turns import Recorder
from tests.selfplay.commands import here

JACK, QUEEN, KING = 0, 1, 2
PASS, BET = 0, 1
KUHN = OpenSpielGame("kuhn_poker")
HEARTS = HeartsGame()


# ---- the reference


def facing_a_bet(*deals: tuple[int, int, tuple[int, ...]]) -> Decisions:
    """Kuhn poker, to fold or to call: (card of seat 0, of seat 1, their actions)."""
    states = KUHN.replay([[first, second, *actions] for first, second, actions in deals])
    tokens, lengths = KUHN.histories(states, KUHN.to_move(states))
    return Decisions(
        tokens, lengths.astype(np.int64), KUHN.legal(states), np.arange(len(states)) % 3, KUHN.to_move(states)
    )


CERTAIN = facing_a_bet(
    (JACK, KING, (BET,)), (QUEEN, JACK, (BET,)), (KING, JACK, (PASS, BET)), (JACK, KING, (PASS, BET))
)
"""Whoever holds the king wins by calling, whoever holds the jack loses, whatever the other has."""
FOLD_CALL = np.array([[-0.5, 1.0], [-0.5, -1.0], [-0.5, 1.0], [-0.5, -1.0]])
"""What folding and calling there ends with, over 2, the largest return."""


def references(decisions: Decisions, worlds: int = 20) -> np.ndarray:
    return playout_utilities(KUHN, decisions, None, KUHN.outcomes.utility(), worlds, seed=1)


def test_a_certain_outcome_is_the_reference_in_every_world_and_uncertain_worlds_are_equally_often() -> None:
    assert np.array_equal(references(CERTAIN), np.repeat(FOLD_CALL.reshape(-1, 1), 20, axis=1))
    fold, call = references(facing_a_bet((KING, QUEEN, (BET,))), worlds=400)
    assert (fold == -0.5).all()
    assert set(call.tolist()) == {-1.0, 1.0}
    assert abs(call.mean()) < 0.2  # four standard deviations; the deal itself is one that calling loses


def test_actions_meet_the_same_worlds() -> None:
    player = Recorder()
    first = KUHN.replay([[QUEEN, KING]])
    tokens, lengths = KUHN.histories(first, np.array([0]))
    decision = Decisions(tokens, lengths.astype(np.int64), KUHN.legal(first), *np.zeros((2, 1), np.int64))
    playout_utilities(KUHN, decision, player, KUHN.outcomes.utility(), 20, seed=1)
    cards = player.seen[0].tokens[:, :2].tolist()
    after_passing, after_betting = cards[:20], cards[20:]
    assert after_passing == after_betting
    assert len({tuple(seat_and_card) for seat_and_card in after_passing}) == 2, "the jack or the king"


@pytest.mark.parametrize("player", [None, HeartsRules(), Exploring(HeartsRules(), 0.3)])
def test_playouts_depend_on_the_seed_alone_and_not_on_what_is_played_beside_them(player) -> None:
    decisions = draw_decisions(HEARTS, HeartsRules(), 3, seed=2)
    utility = HEARTS.outcomes.utility()
    together = playout_utilities(HEARTS, decisions, player, utility, 4, seed=2)
    assert np.array_equal(playout_utilities(HEARTS, decisions, player, utility, 4, seed=2, table_size=7), together)
    assert not np.array_equal(playout_utilities(HEARTS, decisions, player, utility, 4, seed=3), together)


# ---- the decisions


@pytest.mark.parametrize(
    "thirds", [[[], [], []], [[], [0], []], [[0], [], [1]], [[0], [1], [2]], [[0, 1], [2, 3, 4], [5, 6]]]
)
def test_choices_are_divided_into_thirds_by_their_place(thirds: list[list[int]]) -> None:
    choices = np.ones(sum(map(len, thirds)), bool)
    assert [places_of_third(choices, third).tolist() for third in range(3)] == thirds
    assert places_of_third(np.array([False, True, True, False, True]), 1).tolist() == [2]


def test_decisions_come_evenly_from_the_thirds_and_hold_nothing_of_what_follows() -> None:
    decisions = draw_decisions(HEARTS, HeartsRules(), 20, seed=1)
    assert np.bincount(decisions.third).tolist() == [7, 7, 6]
    assert (decisions.legal.sum(axis=1) >= 2).all()
    behind = np.arange(decisions.tokens.shape[1]) >= decisions.lengths[:, None]
    assert (decisions.tokens[behind] == HEARTS.vocabulary.eos).all()
    assert HEARTS.consistent(HEARTS.views(decisions.tokens, decisions.lengths)).all()
    by_third = [decisions.lengths[decisions.third == third].mean() for third in range(3)]
    assert by_third == sorted(by_third)
    again = draw_decisions(HEARTS, HeartsRules(), 20, seed=1, table_size=3)
    assert all(np.array_equal(a, b) for a, b in zip(vars(decisions).values(), vars(again).values(), strict=True))
    assert not np.array_equal(draw_decisions(HEARTS, HeartsRules(), 20, seed=2).tokens, decisions.tokens)
    few = draw_decisions(KUHN, RandomPlayer(), 9, seed=1)
    assert np.bincount(few.third).tolist() == [3, 3, 3], "a game in which choices are few gives what it has"


# ---- the figures


def says(game: Game, decisions: Decisions, values: np.ndarray) -> FunctionModel:
    """A model whose V(h.a) of a decision's actions are these (``[M, A]``); the first action is the likeliest."""
    table: dict[History, float] = {}
    for row, length in enumerate(decisions.lengths):
        history = tuple(int(token) for token in decisions.tokens[row, :length])
        for action, value in zip(np.flatnonzero(decisions.legal[row]), values[row], strict=True):
            table[(*history, int(action))] = value
    falling = 0.5 ** np.arange(game.vocabulary.size)
    return FunctionModel(lambda history: (falling, table.get(history, 0.0)))


def measured(sign: float) -> list:
    model = says(KUHN, CERTAIN, sign * FOLD_CALL)
    parts = measure(
        CERTAIN, *predictions(model, CERTAIN), references(CERTAIN), {"likely": ArgmaxValConfig(threshold=0.6)}
    )
    assert not model.slots, "handles that nobody released"
    return parts


def test_figures_by_hand() -> None:
    """A model that returns the reference has no regret. One that returns its negative folds the king for 1.5 and calls
    with the jack for 0.5; folding always costs 1.5 and nothing. King, jack, king, jack are at the thirds 0, 1, 2, 0."""
    everything = measured(1.0)[-1]
    assert everything.decisions == 4 and everything.actions == 2
    assert everything.correlation.value == pytest.approx(1) and everything.correlation_at_most == pytest.approx(1)
    assert everything.r2.value == pytest.approx(1) and everything.r2_at_most == pytest.approx(1)
    assert everything.regrets["largest V(h.a)"].value == 0
    parts = measured(-1.0)
    everything = parts[-1]
    assert everything.correlation.value == pytest.approx(-1)
    assert everything.r2.value == pytest.approx(1 - 4 * 0.625 / (0.625 - 0.25**2))
    regrets = {name: estimate.value for name, estimate in everything.regrets.items()}
    assert regrets == {"largest V(h.a)": 1.0, "most probable": 0.75, "likely": 0.75, "random": 0.5}
    assert [(part.name, part.decisions) for part in parts] == [("early", 2), ("middle", 1), ("late", 1), ("all", 4)]
    assert [part.regrets["largest V(h.a)"].value for part in parts] == [1.0, 0.5, 1.5, 1.0]


def test_figures_that_are_not_defined_or_have_too_few_deals_are_none() -> None:
    constant = np.zeros_like(FOLD_CALL)
    parts = measure(CERTAIN, *predictions(says(KUHN, CERTAIN, constant), CERTAIN), references(CERTAIN), {})
    assert parts[-1].correlation.value is None
    assert parts[-1].regrets["random"].low is None and parts[-1].regrets["random"].value == 0.5
    nobody = Decisions(CERTAIN.tokens, CERTAIN.lengths, CERTAIN.legal, *np.zeros((2, 4), np.int64))
    late = measure(nobody, *predictions(says(KUHN, CERTAIN, constant), CERTAIN), references(CERTAIN), {})[2]
    assert late.decisions == 0 and late.r2.value is None and late.regrets["random"].value is None


def noisy(spread: float, decisions: int = 1500, actions: int = 4, worlds: int = 20) -> tuple[Decisions, ...]:
    """Made-up decisions, true values of the actions (``[M, A]``, this much apart) and playouts with noise of 1."""
    rng = np.random.default_rng(7)
    truth = spread * rng.normal(size=(decisions, actions))
    playouts = truth.reshape(-1, 1) + rng.normal(size=(decisions * actions, worlds))
    legal = np.ones((decisions, actions), bool)
    return (
        Decisions(legal, np.ones(decisions, np.int64), legal, *np.arange(decisions) % np.array([[3], [4]])),
        truth,
        playouts,
    )


def halves_of(playouts: np.ndarray) -> np.ndarray:
    """``float64[2, M, 4]``: means of every other world."""
    return np.stack([playouts[:, half::2].mean(axis=1).reshape(-1, 4) for half in (0, 1)])


def test_where_all_actions_are_worth_the_same_there_is_no_regret_however_noisy_the_reference() -> None:
    decisions, _, playouts = noisy(0.0)
    even, halves = decisions.legal / 4, halves_of(playouts)
    honest = regret(halves, decisions.legal, even)
    assert abs(honest.mean()) < 4 * honest.std() / np.sqrt(len(honest))
    both = halves.mean(axis=0)
    assert (both.max(axis=1) - both.mean(axis=1)).mean() > 0.2, "the best of noisy means looks better"


def test_the_regret_is_never_overstated_and_differences_of_regrets_are_exact() -> None:
    decisions, truth, playouts = noisy(0.5)
    halves, gap = halves_of(playouts), (truth.max(axis=1) - truth.min(axis=1)).mean()
    best, worst = (
        regret(halves, decisions.legal, np.eye(4)[one]).mean() for one in (truth.argmax(axis=1), truth.argmin(axis=1))
    )
    assert -0.1 < best < 0 and worst - best == pytest.approx(gap, abs=0.02)


def test_true_values_reach_the_correlation_and_the_r2_that_are_said_to_be_the_most() -> None:
    decisions, truth, playouts = noisy(0.3)
    answers = np.full(truth.shape, 0.25), truth
    everything = measure(decisions, *answers, playouts, {})[-1]
    assert everything.correlation_at_most == pytest.approx((0.09 / (0.09 + 1 / 20)) ** 0.5, abs=0.02)
    assert everything.correlation.value == pytest.approx(everything.correlation_at_most, abs=0.02)
    assert everything.r2_at_most == pytest.approx(0.09 / 1.09, abs=0.01)
    assert everything.r2.value == pytest.approx(everything.r2_at_most, abs=0.01)
    assert everything.correlation.low < everything.correlation.value < everything.correlation.high


def test_regrets_are_told_in_points_where_the_utility_is_made_of_them() -> None:
    for utility, unit in (("relative", "points ahead of the mean of the others"), ("own", "points")):
        assert unit_of(HEARTS, HEARTS.outcomes.utility(utility)) == (unit, pytest.approx(26, abs=1e-3))
    assert unit_of(KUHN, KUHN.outcomes.utility()) == ("points", pytest.approx(2))
    assert unit_of(HEARTS, HEARTS.outcomes.utility() ** 2) == ("units of the utility", 1.0)


@pytest.mark.parametrize(("per_utility", "printed"), [(26.0, "0.11 ± 0.05"), (1.0, "0.0044 ± 0.0020")])
def test_regrets_of_a_game_that_is_won_or_lost_have_more_digits(per_utility: float, printed: str) -> None:
    none = Estimate(None)
    part = Part("all", 9, 3.0, none, None, none, None, {"argmax_val": Estimate(0.0044, 0.0024, 0.0064)})
    result = ValuesResult("game", {}, "own", "points", per_utility, "random", "random", 4, 1, (part,), {})
    console = Console(width=120)
    with console.capture() as output:
        console.print(render(result))
    assert printed in output.get()


# ---- the command


def test_the_command_prints_the_table_and_writes_the_json_once(network: str, tmp_path: Path) -> None:
    """Players are judged by their choices beside the network, here the one that plays deals out too."""
    out, players = tmp_path / "values.json", ["argmax_val:threshold=0.3", "go_mcts:num_runs=4", "hearts_rules"]
    settings = ["search.arena.values", f"checkpoint={network}", "decisions=12", "worlds=4", "playouts=argmax_val"]
    settings += ["thresholds=[0.05,0.3]", "policy_weights=[0,0.1]", f"players={json.dumps(players)}", f"out={out}"]
    done = here(*settings)
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in ("correlation within", "middle", "less regret than"))
    record = json.loads(out.read_text())
    assert [part["decisions"] for part in record["parts"]] == [4, 4, 4, 12]
    assert record["settings"]["checkpoint"]["path"] == network
    assert record["unit_per_utility"] == pytest.approx(26, abs=1e-3)
    last, grid = record["parts"][-1], "argmax_val:threshold={}:policy_weight={}"
    regrets = {name: estimate["value"] for name, estimate in last["regrets"].items()}
    tried = {grid.format(threshold, weight) for threshold in (0.05, 0.3) for weight in (0, 0.1)}
    assert regrets.keys() == {"largest V(h.a)", "most probable", "random", *tried, *players}
    assert list(last["gains"]) == players
    for name in players:
        assert last["gains"][name]["value"] == pytest.approx(regrets[grid.format(0.05, 0)] - regrets[name])
    assert regrets["argmax_val:threshold=0.3"] == pytest.approx(regrets[grid.format(0.3, 0)])
    again = here(*settings, "table_size=3")
    assert again.stdout == f"{out}: measured before\n{done.stdout}" and "playouts/s" not in again.stderr
    refused = here(*settings, "thresholds=[0.2]")
    message = "thresholds=[0.05, 0.3], and this one has thresholds=[0.2]; remove it, or"
    assert refused.returncode == 2 and f"{out}: holds a measurement of values with {message}" in refused.stderr
    out.write_text("[]")
    refused = here(*settings)
    assert refused.returncode == 2 and "values.json: holds no measurement of values (" in refused.stderr


def test_playouts_that_lie_in_files_are_not_made_again(tmp_path: Path) -> None:
    decisions = draw_decisions(HEARTS, HeartsRules(), 6, seed=1)
    utility, ended = HEARTS.outcomes.utility(), list[int]()

    def played(table_size: int) -> np.ndarray:
        ended.clear()
        kept = PartialResults(str(tmp_path), {}, "a test")
        return playout_utilities(HEARTS, decisions, HeartsRules(), utility, 8, 1, table_size, ended.append, kept)

    first = played(8)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 2 and np.array_equal(played(8), first) and ended == []
    files[1].unlink()
    assert np.array_equal(played(8), first) and sum(ended) == 8
    for file in files[2:]:
        file.unlink()
    assert np.array_equal(played(20), first) and sum(ended) == first.size - 16


def test_a_players_choices_are_those_at_a_table_whatever_is_decided_beside_them() -> None:
    decisions = draw_decisions(HEARTS, Exploring(HeartsRules(), 0.1), 30, seed=2)
    views = HEARTS.views(decisions.tokens, decisions.lengths)
    chosen = np.empty(30, np.int64)
    HeartsRules().decide(None, views, chosen)
    every, few = np.arange(30), np.array([3, 17, 29])
    assert np.array_equal(choices_of(HeartsRules(), HEARTS, decisions, every, 3), chosen)
    drawn = choices_of(RandomPlayer(), HEARTS, decisions, every, 3)
    assert np.array_equal(drawn[few], choices_of(RandomPlayer(), HEARTS, decisions, few, 3))


def test_a_measurement_without_a_file_touches_nothing_in_the_working_directory(network, tmp_path, monkeypatch) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    settings = [f"checkpoint={network}", "decisions=3", "worlds=2", "players=[hearts_rules]"]
    assert here("search.arena.values", *settings).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# ---- openings: what a Q-network thinks of first actions


class Tokens:
    """q is minus the token's id, less 2 in every other row; remembers who was asked."""

    def __init__(self, tokens: int) -> None:
        self.tokens, self.seats = tokens, list[int]()

    def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
        odd = (len(self.seats) + np.arange(len(seats))) % 2
        self.seats += seats.tolist()
        return -(np.arange(self.tokens)[None] + 2.0 * odd[:, None]).astype(np.float32)


def test_seat_0_leads_any_of_its_13_cards_and_points_are_minus_q(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Tokens(NO_PASS.vocabulary.size)
    points, legal = first_values(NO_PASS, model, 40, seed=3)
    assert model.seats == [0] * 40 and (legal.sum(axis=1) == 13).all() and not legal[:, 52:].any()
    values = {value.action: value for value in by_action(NO_PASS.vocabulary.names, points, legal)}
    assert sum(value.deals for value in values.values()) == 40 * 13
    queen = NO_PASS.vocabulary.names.index("QS")
    hands = NO_PASS.deal(derive_many(derive(3, "openings", "deals"), 40))
    held = np.flatnonzero(NO_PASS.legal(hands)[:, queen])
    odd = held % 2
    assert values["QS"].deals == len(held)
    assert values["QS"].mean == pytest.approx(queen + 2 * odd.mean())
    assert values["QS"].variance == pytest.approx(np.var(2 * odd, ddof=1))
    monkeypatch.setattr(openings, "_BATCH", 7)
    again, legal_again = first_values(NO_PASS, Tokens(NO_PASS.vocabulary.size), 40, seed=3)
    assert (again == points).all() and (legal_again == legal).all(), "deals do not depend on how they are batched"
    assert (first_values(NO_PASS, model, 40, seed=4)[1] != legal).any()


def test_figures_of_one_card_by_hand() -> None:
    legal = np.ones((6, 1), bool)
    legal[5] = False
    (value,) = by_action(["AS"], np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [99.0]]), legal)
    half = 2.7764451 * np.sqrt(2.5 / 5)  # Student's t of 4 degrees of freedom
    assert (value.action, value.deals, value.mean, value.variance) == ("AS", 5, 3.0, 2.5)
    assert (value.low, value.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    (alone,) = by_action(["AS"], np.array([[7.0]]), np.ones((1, 1), bool))
    assert (alone.mean, alone.low, alone.high, alone.variance) == (7.0, None, None, None)


def test_cards_are_ordered_by_suit_and_rank_and_others_as_the_vocabulary_has_them() -> None:
    names = NO_PASS.vocabulary.names
    ordered = [value.action for value in by_action(names, np.zeros((1, 52)), np.ones((1, 52), bool))]
    assert ordered[:3] == ["2C", "3C", "4C"] and ordered[12:14] == ["AC", "2D"] and ordered[-2:] == ["KS", "AS"]
    assert suit_place(["S7", "S8", "S9", "H7"]) == 0 and suit_place(["pass", "7S"]) is None
    toy = ToyGame()
    points, legal = first_values(toy, Tokens(toy.vocabulary.size), 30, seed=1)
    actions = tuple(by_action(toy.vocabulary.names, points, legal))
    result = OpeningsResult(toy.name, dict(toy.options), len(points), 1, actions, {})
    assert [value.action for value in result.actions] == list(toy.vocabulary.names[:5])
    assert sum(value.deals for value in result.actions) == 60  # two cards a hand
    assert report.charts(result).startswith(b"\x89PNG")


# ---- the command


def test_the_command_writes_what_the_network_says(q_network: str, tmp_path: Path) -> None:
    out, picture = tmp_path / "new/openings.json", tmp_path / "new/openings.png"
    given = ["search.arena.openings", f"checkpoint={q_network}", "deals=30", f"out={out.parent}"]
    given.append("engine.precision=fp32")
    done = here(*given)
    assert "first decisions in hearts: 30 deals" in done.stdout and "openings.json, openings.png" in done.stdout
    record = json.loads(out.read_text())
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert record["format"] == 1 and record["settings"]["checkpoint"]["path"] == q_network
    states = NO_PASS.deal(derive_many(derive(1, "openings", "deals"), 30))
    q = QEngine(Q_KIND.load(q_network, NO_PASS), NO_PASS, EngineConfig(precision="fp32")).values(
        states, np.zeros(30, np.int64)
    )
    ace = NO_PASS.vocabulary.names.index("AH")
    held = NO_PASS.legal(states)[:, ace]
    (found,) = (action for action in record["actions"] if action["action"] == "AH")
    assert found["deals"] == held.sum() and found["mean"] == pytest.approx(-q[held, ace].mean(), abs=1e-4)
    stamp = out.stat().st_mtime_ns
    picture.unlink()
    again = here(*given).stdout
    assert "first decisions in hearts: 30 deals" in again and "openings.json: asked before" in again
    assert out.stat().st_mtime_ns == stamp and picture.exists()
    for other in ("deals=31", "engine.precision=bf16"):
        refused = here(*given, other)
        assert refused.returncode == 2 and "openings.json: holds openings with " in refused.stderr
        assert f", and this one has {other}" in refused.stderr
    assert json.loads(out.read_text()) == record
    out.write_text("{}")
    refused = here(*given)
    assert refused.returncode == 2 and "holds no openings (no format number: this program" in refused.stderr
