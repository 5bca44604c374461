"""Branches of played deals: which there are, how they end in a game that is small enough to know, and what a generator
writes of them. ``test_network_branches`` plays them over again by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from games.branches import Branches
from games.config import GameConfig
from games.game import Game
from games.hearts.game import HeartsGame
from games.openspiel import OpenSpielGame
from games.rng import derive_many
from games.shards import Sequences, read_shard, shard_info
from search.scripted.hearts.rules import HeartsRules
from selfplay.branches import branch, draw_places
from selfplay.config import GamesConfig, InitialConfig, TrainConfig
from selfplay.generator import Generator, GeneratorSettings, generator_settings
from selfplay.plan import Seating, ShardPlan
from selfplay.targets import read_by
from tests.selfplay.material import MADE, InProcess, contents, over, run, tiny_config
from tests.selfplay.test_resume import plain

HEARTS, KUHN = HeartsGame(), OpenSpielGame("kuhn_poker")
CONFIG = tiny_config("unused")
PASS, BET = 0, 1


def random_deals(game: Game, count: int, keep: np.ndarray | None = None) -> tuple[np.ndarray, Sequences]:
    """Final states, and the sequences of the seats that are kept (``bool[count, P]``), all of them if None."""
    seeds = derive_many(5, count)
    states = game.deal(seeds)
    game.playout(states, derive_many(6, count))
    row, seat = np.nonzero(np.ones((count, game.num_players)) if keep is None else keep)
    names = np.full(len(row), "random", object)
    outcome = game.outcome(states)[row, seat]
    return states, Sequences(game.histories(states[row], seat)[0], outcome, seat, names, seeds[row], row)


def test_every_legal_action_of_the_drawn_decisions_is_a_branch_the_sequence_s_own_too() -> None:
    states, sequences = random_deals(HEARTS, 20)
    branches = branch(HEARTS, states, sequences, None, 3, seed=3)
    marked = draw_places(HEARTS, sequences, 3, seed=3)
    rows, places = np.nonzero(marked)
    assert (np.bincount(rows) == 3).all()
    legal = HEARTS.view_legal(HEARTS.views(sequences.tokens[rows], places))
    assert (legal.sum(axis=1) > 1).all() and legal[np.arange(len(rows)), sequences.tokens[rows, places]].all()
    decision, tokens = np.nonzero(legal)
    assert np.array_equal(branches.row, rows[decision])
    assert np.array_equal(branches.place, places[decision]) and np.array_equal(branches.token, tokens)


def kuhn_ends(cards: tuple[int, int], actions: list[int]) -> set[tuple[int, int]]:
    """What can still be paid to seat 0 and to seat 1 in Kuhn poker."""
    winner = int(cards[1] > cards[0])
    if actions[-2:] == [BET, PASS]:
        winner, stake = len(actions) % 2, 1  # who bet
    elif actions in ([PASS, PASS], [BET, BET], [PASS, BET, BET]):
        stake = 1 + (BET in actions)
    else:
        return kuhn_ends(cards, [*actions, PASS]) | kuhn_ends(cards, [*actions, BET])
    return {(stake, -stake) if winner == 0 else (-stake, stake)}


def test_in_kuhn_poker_branches_end_as_cards_and_actions_say() -> None:
    states, sequences = random_deals(KUHN, 60)
    branches = branch(KUHN, states, sequences, None, 9, seed=1)
    seen: dict[tuple[tuple[int, int], int, tuple[int, ...]], set[tuple[int, int]]] = {}
    for row, place, token, outcome in zip(branches.row, branches.place, branches.token, branches.outcome, strict=True):
        names, seat = [KUHN.vocabulary.name(t) for t in sequences.tokens[row]], int(sequences.seat[row])
        done = [int(name[-1]) for name in [*names[:place], KUHN.vocabulary.name(token)] if name.startswith("action")]
        cards = tuple(states[sequences.game[row]].spiel.history()[:2])
        own, other = (int(points) for points in KUHN.outcomes.points[outcome])
        seen.setdefault((cards, seat, tuple(done)), set()).add((own, other) if seat == 0 else (other, own))
    assert all(found <= kuhn_ends(cards, list(done)) for (cards, _, done), found in seen.items())
    assert len(seen) > 20 and sum(len(found) > 1 for found in seen.values()) > 3
    decisions = {(row, place) for row, place in zip(branches.row, branches.place, strict=True)}
    turns = (sequences.tokens == KUHN.vocabulary.first("Turn")).sum()
    assert len(decisions) == turns and len(branches.place) == 2 * turns  # nine are more than there are


def test_all_actions_of_a_decision_meet_the_same_random_numbers() -> None:
    states, sequences = random_deals(KUHN, 60)
    branches = branch(KUHN, states, sequences, None, 9, seed=1)
    opening = (sequences.seat[branches.row] == 0) & (branches.place == 3)
    points = KUHN.outcomes.points[branches.outcome[opening], 0].reshape(-1, 2)  # of passing and of betting
    cards = np.array([states[sequences.game[row]].spiel.history()[:2] for row in branches.row[opening][::2]])
    wins = np.where(cards[:, 0] > cards[:, 1], 1, -1)
    passes = np.abs(points[:, 1]) == 1  # what seat 1 does after the bet, it does after the pass too
    assert len(points) == 60 and 10 < passes.sum() < 50
    assert (points[passes, 0] == wins[passes]).all()
    assert ((points[:, 0] == -1) | (points[:, 0] == 2 * wins))[~passes].all()


def test_branches_depend_on_the_sequence_alone_and_only_kept_ones_have_some() -> None:
    states, _ = random_deals(HEARTS, 12)
    keep = np.arange(4) == (np.arange(12) % 4)[:, None]
    keep[5] = False
    _, some = random_deals(HEARTS, 12, keep)
    found = branch(HEARTS, states, some, HeartsRules(), 2, seed=7)
    assert (np.bincount(found.row, minlength=11) > 3).all()
    assert not np.array_equal(found.place, branch(HEARTS, states, some, HeartsRules(), 2, seed=8).place)
    first = Sequences(**{name: column[:3] for name, column in vars(some).items() if column is not None})
    alone = branch(HEARTS, states, first, HeartsRules(), 2, seed=7)
    for name in ("starts", "place", "token", "outcome"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(found.take(np.arange(3)), name))


# ---- the generator


def settings(game: GameConfig = CONFIG.game, **changes: object) -> GeneratorSettings:
    return GeneratorSettings(game, CONFIG.search, CONFIG.engine, GamesConfig(games_per_table=5, **changes))


def plan(players: list[str], num_games: int = 6) -> ShardPlan:
    return ShardPlan(0, 2, num_games, Seating.INITIAL, InitialConfig(players=players), (), run_seed=9)


def test_a_generator_adds_branches_and_changes_nothing_else(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("with.parquet", "again.parquet", "without.parquet")]
    for path, count in zip(paths, (2, 2, 0), strict=True):
        Generator(settings(branches=count)).generate(plan(["random", "hearts_rules"]), str(path))
    rows, without = read_shard(paths[0], HEARTS), read_shard(paths[2], HEARTS)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert without.branches is None and np.array_equal(rows.tokens, without.tokens)
    assert isinstance(rows.branches, Branches)
    decisions = {(row, place) for row, place in zip(rows.branches.row, rows.branches.place, strict=True)}
    assert len(decisions) == 2 * len(rows)
    said = shard_info(paths[0]).provenance["branches"]
    assert said == "2 decisions of each sequence, played out by hearts_rules"
    assert "branches" not in shard_info(paths[2]).provenance


class Everywhere(InProcess):
    """Branches in every iteration, whoever reads them."""

    def __init__(self, config: TrainConfig) -> None:
        super().__init__(config)
        self._generator = Generator(replace(generator_settings(config), branched=(True, True)))


def test_branches_that_nobody_reads_are_not_made_and_would_change_no_weight(tmp_path: Path) -> None:
    weights = []
    for kind in (InProcess, Everywhere):
        run(plain(tmp_path / kind.__name__, branches=2, iterations=0), kind)
        shards = (tmp_path / kind.__name__ / "iterations/000/shards").iterdir()
        assert {"branches" in shard_info(path).provenance for path in shards} == {kind is Everywhere}
        weights.append(contents(tmp_path / kind.__name__, MADE[1]))
    assert len(weights[0]) == 1 and weights[0] == weights[1]


@pytest.mark.parametrize(
    ("first", "later", "replay_games", "iterations", "expected"),
    [
        (0.5, 0.0, 30, 2, (True, False)),
        (0.0, 0.5, 0, 2, (False, True)),
        (0.0, 0.5, 30, 2, (True, True)),  # iteration 1 sees shards of iteration 0
        (0.0, 0.5, 30, 0, (False, False)),
        (None, 0.5, 0, 2, (True, True)),
        (None, 0.0, 0, 2, (False, False)),
    ],
)
def test_branches_are_made_where_a_learner_reads_them(first, later, replay_games, iterations, expected) -> None:
    sizes = f"selfplay={{branches: 2, replay_games: {replay_games}, iterations: {iterations}}}"
    for key, value in (("loss.branch_weight", float), ("policy.kind", lambda much: "values" if much else "played")):
        given = f"{sizes}; learner.{key}={value(later)}"
        config = over(CONFIG, given if first is None else f"{given}; initial_learner.{key}={value(first)}")
        assert read_by(config, "branches") == expected
    if replay_games and not first and later:  # nobody learns from iteration 0 again
        apart = over(config, "selfplay.replay_from=1")
        assert read_by(apart, "branches") == (first is None and iterations > 0, iterations > 0)
