"""What generators write beside games, and when: branches that rules or the newest network play out, values by another
player, labels. ``test_branches`` plays branches over again by hand, and ``test_labels`` asks for labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from games.branches import NO_OUTCOME, Branches
from games.hearts.game import HeartsGame
from games.shards import ShardError, read_shard, shard_info, write_shard
from learner.config import PolicyConfig
from learner.inference.engine import QueryEngine
from learner.model.checkpoint import save_weights
from learner.model.rule_inputs import Rules
from learner.training.batches import Recipe, make_batch
from learner.training.data import load_data
from learner.training.policies.policy import PLAYED
from learner.training.policies.values import Values
from search.players.player import ChoosingPlayer, Turns
from selfplay.branch_values import valued
from selfplay.config import InitialConfig, TrainConfig
from selfplay.generator import Generator, generator_settings
from selfplay.plan import Network, Seating, ShardPlan
from selfplay.players import check_memory
from selfplay.targets import read_by
from tests.learner.material import tiny_net
from tests.selfplay.material import (
    MADE,
    TINY_RUN,
    InProcess,
    contents,
    first_of,
    generated,
    initial,
    over,
    random_deals,
    run,
    settings,
)
from tests.selfplay.test_resume import plain

HEARTS = HeartsGame()
SEARCH = "pimc:worlds=4:evaluator=playouts"


@pytest.mark.parametrize(
    ("games", "column", "said"),
    [
        ({"branches": 2}, "branches", "2 decisions of each sequence, played out by hearts_rules"),
        ({"branches": 2, "branch_values": SEARCH}, "branches", f"2 decisions of each sequence, valued by {SEARCH}"),
        ({"labels": "hearts_rules"}, "labels", "hearts_rules"),
    ],
)
def test_a_generator_adds_what_is_asked_for_and_changes_nothing_else(games, column, said, tmp_path) -> None:
    plan, names = initial(["random", "hearts_rules"], 3), ("with", "again", "without")
    (rows, provenance), _, (without, plain) = (
        generated(plan, tmp_path / name, **(games if name != "without" else {})) for name in names
    )
    assert (tmp_path / "with").read_bytes() == (tmp_path / "again").read_bytes()
    assert getattr(without, column) is None and np.array_equal(rows.tokens, without.tokens)
    assert provenance[column] == said and column not in plain
    if column == "branches":
        decisions = {(row, place) for row, place in zip(rows.branches.row, rows.branches.place, strict=True)}
        assert len(decisions) == 2 * len(rows)
        assert (rows.branches.value is None) != ("branch_values" in games)
    else:
        assert (rows.labels != HEARTS.vocabulary.eos).sum() > 5 * len(rows)


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
        config = over(TINY_RUN, given if first is None else f"{given}; initial_learner.{key}={value(first)}")
        assert read_by(config, "branches") == expected
    if replay_games and not first and later:  # nobody learns from iteration 0 again
        apart = over(config, "selfplay.replay_from=1")
        assert read_by(apart, "branches") == (first is None and iterations > 0, iterations > 0)


# ---- values


class ByToken(ChoosingPlayer):
    """Values actions by their tokens and the seat; does not consider the highest one."""

    name = "by_token"

    def action_values(self, turns: Turns) -> np.ndarray:
        tokens = np.arange(turns.legal.shape[1], dtype=float)
        worth = np.where(turns.legal, tokens / 7 + turns.seat[:, None], -np.inf)
        worth[np.arange(len(worth)), turns.legal.shape[1] - 1 - turns.legal[:, ::-1].argmax(axis=1)] = -np.inf
        return worth


def test_every_considered_action_of_the_drawn_decisions_has_its_value() -> None:
    _, sequences = random_deals(HEARTS, 12)
    found = valued(HEARTS, sequences, ByToken(), 3, 5)
    assert (found.outcome == NO_OUTCOME).all()
    np.testing.assert_allclose(found.value, found.token / 7 + sequences.seat[found.row], rtol=1e-6)
    views = HEARTS.prefixes(sequences.tokens)
    decisions = np.unique(np.stack([found.row, found.place]), axis=1)
    assert (np.bincount(decisions[0]) <= 3).all() and decisions.shape[1] > 12 * 4 * 2
    for row, place in decisions.T:
        legal = np.flatnonzero(HEARTS.view_legal(views[row, place : place + 1])[0])
        assert found.token[(found.row == row) & (found.place == place)].tolist() == legal[:-1].tolist()


def test_a_policy_learns_from_values_in_their_own_unit(tmp_path: Path) -> None:
    path = tmp_path / "values.parquet"
    sequences, _ = generated(initial(["hearts_rules"], 2), path, branches=2, branch_values=SEARCH)
    branches = sequences.branches
    assert np.isfinite(branches.value).all()
    policy = Values(HEARTS, PolicyConfig(kind="values", temperature=0.25))
    lengths = (sequences.tokens == HEARTS.vocabulary.eos).argmax(axis=1) + 1
    targets = policy.of_branches(branches, lengths, HEARTS.vocabulary.size)
    first = branches.take(np.array([0]))
    chosen = first.place == np.unique(first.place[first.place > 0])[0]
    torch.testing.assert_close(targets.values[0, first.token[chosen]], torch.from_numpy(first.value[chosen]) / 0.25)
    data = load_data(HEARTS, [str(path)], policy)
    assert data.policy_branches is not None and data.branches is None
    with pytest.raises(ValueError, match=r"learner\.loss\.branch_weight=1\.0: shards .* hold no branches"):
        load_data(HEARTS, [str(path)], PLAYED, branch_weight=1.0)


def test_decisions_of_some_types_of_token_alone_are_valued(tmp_path: Path) -> None:
    passes = {"branches": 3, "branch_types": ["card I pass"]}
    plan = initial(["hearts_rules"], 2)
    sequences, said = generated(plan, tmp_path / "values.parquet", **passes, branch_values=SEARCH)
    branches = sequences.branches
    assert said["branches"] == f"3 decisions of each sequence (card I pass), valued by {SEARCH}"
    assert len(branches.place)
    views = HEARTS.views(sequences.tokens[branches.row], branches.place.astype(np.int64))
    assert {HEARTS.token_types[kind] for kind in HEARTS.next_type(views)} == {"card I pass"}
    other = generated(plan, tmp_path / "ends.parquet", **passes)[0].branches
    np.testing.assert_array_equal(np.unique(other.place), np.unique(branches.place))


def mixed() -> Branches:
    """One branch with an outcome, two with values, of two sequences."""
    values = np.array([np.nan, 0.5, 0.25], np.float32)
    columns = (np.array(column) for column in ([0, 1, 1], [14, 14, 14], [3, 4, 5], [2, NO_OUTCOME, NO_OUTCOME]))
    return Branches.of_rows(2, *columns, value=values)


def test_values_and_outcomes_may_stand_side_by_side() -> None:
    assert [mixed().with_outcomes.token.tolist(), mixed().with_outcomes.value] == [[3], None]
    both = Branches.concat([mixed().with_outcomes, mixed()])
    np.testing.assert_array_equal(both.value, np.array([np.nan, np.nan, 0.5, 0.25], np.float32))
    assert mixed().take(np.array([1])).value.tolist() == [0.5, 0.25]


def test_shards_keep_them_and_refuse_what_is_neither(tmp_path: Path) -> None:
    _, sequences = random_deals(HEARTS, 1)
    two = first_of(sequences, 2)
    write_shard(tmp_path / "s.parquet", replace(two, branches=mixed()), HEARTS, {})
    found = read_shard(tmp_path / "s.parquet", HEARTS).branches
    np.testing.assert_array_equal(found.value, mixed().value)
    for value, message in (
        (np.array([1.0, 0.5, 0.2], np.float32), "value 1.0 beside outcome"),
        (None, "of a branch without a value"),
    ):
        with pytest.raises((ValueError, ShardError), match=message):
            write_shard(tmp_path / "t.parquet", replace(two, branches=replace(mixed(), value=value)), HEARTS, {})


# ---- ends that the newest network plays out

NEWEST: dict[str, Any] = {"branches": 2, "newest_branch_player": "argmax_val:threshold=0.02"}
STEPS: dict[str, Any] = {**NEWEST, "branch_steps": 1}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Network:
    path = tmp_path_factory.mktemp("network") / "000"
    save_weights(path, tiny_net(HeartsGame(), seed=4), HeartsGame())
    return Network("000", str(path))


def plan_of(network: Network | None) -> ShardPlan:
    seating, networks = (Seating.EVERYBODY, (network,)) if network else (Seating.INITIAL, ())
    return ShardPlan(len(networks), 2, 3, seating, InitialConfig(), networks, run_seed=9)


@pytest.fixture(scope="module")
def made(network: Network, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Shards of the same deals with branches that rules, and that the network, have played out."""
    root, kinds = tmp_path_factory.mktemp("shards"), {"rules": {"branches": 2}, "newest": NEWEST, "steps": STEPS}
    for name, games in kinds.items():
        Generator(settings(**games)).generate(plan_of(network), str(root / name))
    return {name: root / name for name in kinds}


def test_the_newest_network_plays_branches_out_as_soon_as_there_is_one_and_changes_nothing_else(made, tmp_path) -> None:
    rows = [read_shard(path, HEARTS) for path in made.values()]
    for other in rows[1:]:
        assert np.array_equal(other.tokens, rows[0].tokens) and np.array_equal(other.outcome, rows[0].outcome)
    by_rules, by_network, drawn = (each.branches for each in rows)
    assert by_rules and by_network and drawn and np.array_equal(by_rules.token, by_network.token)
    assert not np.array_equal(by_rules.outcome, by_network.outcome)
    assert np.array_equal(drawn.token[drawn.first], by_network.token) and len(drawn.token) > 3 * drawn.first.sum()
    said = [shard_info(path).provenance["branches"] for path in made.values()]
    assert said == [
        "2 decisions of each sequence, played out by hearts_rules",
        "2 decisions of each sequence, played out by argmax_val:threshold=0.02@000",
        "2 decisions of each sequence, played out by argmax_val:threshold=0.02@000 to turn 1 of the seat, 8 outcomes "
        "expected there",
    ]
    for name, games in (("first", STEPS), ("before", {"branches": 2})):
        Generator(settings(**games)).generate(plan_of(None), str(tmp_path / name))
    assert (tmp_path / "first").read_bytes() == (tmp_path / "before").read_bytes()


def test_no_input_of_training_sees_a_branch(made: dict[str, Path]) -> None:
    rules, batches = Rules(HeartsGame(), tiny_net(HeartsGame()).arch), []
    for name in ("rules", "steps"):
        data = load_data(HEARTS, [str(made[name])], PLAYED, branch_weight=1.0)
        batches.append(make_batch(data, np.arange(9), Recipe(rules)))
    one, other = batches
    assert torch.equal(one.tokens, other.tokens) and torch.equal(one.outcome, other.outcome)
    assert torch.equal(one.leaves.tokens, other.leaves.tokens) and torch.equal(one.leaves.places, other.leaves.places)
    assert float(other.leaves.weights.sum()) == len(other.leaves.real)


def test_a_generator_that_dies_among_branches_makes_the_same_bytes_again(network, made, tmp_path, monkeypatch):
    begun, query = Generator(settings(**STEPS)), QueryEngine.outcomes

    def dies(engine: QueryEngine, *asked: Any) -> np.ndarray:
        query(engine, *asked)
        raise ConnectionError("gone")

    monkeypatch.setattr(QueryEngine, "outcomes", dies)
    with pytest.raises(ConnectionError):
        begun.generate(plan_of(network), str(tmp_path / "shard"))
    assert not (tmp_path / "shard").exists()
    monkeypatch.undo()
    begun.generate(plan_of(network), str(tmp_path / "shard"))  # its engine was left with handles
    assert (tmp_path / "shard").read_bytes() == made["steps"].read_bytes()


def test_outcomes_beyond_memory_are_refused() -> None:
    many = settings(**{**STEPS, "branches": 10**8})
    with pytest.raises(UserError, match="games_per_shard=10000"):
        check_memory(many, HeartsGame(), {"games_per_shard=10000": 10_000})
    check_memory(settings(**STEPS), HeartsGame(), {"games_per_shard=10000": 10_000})


class Holding(ByToken):
    """Holds something for every game until it may forget it."""

    def __init__(self) -> None:
        self.held = set[int]()

    def action_values(self, turns: Turns) -> np.ndarray:
        self.held.update(turns.game.tolist())
        return super().action_values(turns)

    def forget(self, games: np.ndarray) -> None:
        self.held.difference_update(games.tolist())


def test_a_player_that_values_a_shard_may_forget_it() -> None:
    """Its engines outlive it, and would fill up."""
    player, (_, sequences) = Holding(), random_deals(HEARTS, 12)
    valued(HEARTS, sequences, player, 3, 5)
    assert not player.held
