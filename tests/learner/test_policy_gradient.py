"""Policy gradient: advantages, loss and clip by hand from the papers' formulas, what it reads, an equilibrium."""

from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from games.game import Next
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.samegame.game import SameGame
from games.shards import Sequences, read_shard, write_shard
from learner.config import EngineConfig, LearnerConfig, PolicyConfig
from learner.inference.engine import QueryEngine
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet
from learner.model.rule_inputs import Rules
from learner.observation_model import EMPTY
from learner.training.batch import Batch
from learner.training.batches import Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.policies.gradient import Decisions, Gradient, Terms, advantages, places
from search.players.config import ImitationConfig
from search.players.imitation import Imitation
from search.players.table import play_table
from tests.learner.material import TINY, changed, shard_of, tiny_net, train

CPU, GAME = torch.device("cpu"), HeartsGame()
POLICY = PolicyConfig(kind="gradient", temperature=0.25, clip=0.2)
LEARNER = LearnerConfig(policy=POLICY, num_epochs=1, batch_size=8)


def gradient(worth: list[float] | None = None, **settings: Any) -> Gradient:
    """The policy gradient of Hearts, or of other worths of the outcomes, in temperatures."""
    found = Gradient(GAME, replace(POLICY, **settings), CPU)
    found.worth = found.worth if worth is None else torch.tensor(worth)
    return found


def terms_of(net: PolicyValueNet, batch: Batch, policy: Gradient, magnet: PolicyValueNet | None = None) -> Terms:
    """The terms of a batch's decisions."""
    decisions = batch.policy
    assert isinstance(decisions, Decisions)
    hidden = net.hidden(batch.tokens[:, :-1]).flatten(0, 1)[batch.prefixes[decisions.at]]
    other = None if magnet is None else magnet.next_token_logits(hidden)
    return policy.terms(decisions, net.next_token_logits(hidden), net.outcome_logits(hidden), batch.outcome, other)


def decisions_of(row: torch.Tensor, **given: torch.Tensor) -> Decisions:
    """The decisions of a batch that learns nothing else, by the sequence of each."""
    (place, steps), whole = places(row.numpy()), torch.tensor(float(len(row)))
    at = torch.arange(len(row))
    return Decisions(at=at, row=row, place=torch.from_numpy(place), steps=steps, whole=whole, **given)


# ---- advantages


def gains(values: torch.Tensor, ends: torch.Tensor, row: torch.Tensor, gae_lambda: float) -> torch.Tensor:
    place, steps = places(row.numpy())
    return advantages(values, ends, row, torch.from_numpy(place), steps, gae_lambda)


def test_advantages_are_the_discounted_sums_of_the_papers_differences() -> None:
    """Equation 16 of arXiv 1506.02438 with gamma 1: the sum over l of lambda^l delta(t + l)."""
    values, ends, row = torch.tensor([0.5, 0.2, 0.9, 0.4]), torch.tensor([1.0, 0.0, -1.0]), torch.tensor([0, 0, 0, 2])
    deltas = [0.2 - 0.5, 0.9 - 0.2, 1.0 - 0.9]
    expected = [deltas[0] + 0.5 * deltas[1] + 0.25 * deltas[2], deltas[1] + 0.5 * deltas[2], deltas[2], -1.0 - 0.4]
    torch.testing.assert_close(gains(values, ends, row, 0.5), torch.tensor(expected))


def test_with_lambda_1_an_advantage_is_the_end_less_the_value_and_with_0_one_difference() -> None:
    values, ends, row = torch.rand(7), torch.rand(3), torch.tensor([0, 0, 1, 1, 1, 2, 2])
    torch.testing.assert_close(gains(values, ends, row, 1.0), ends[row] - values)
    torch.testing.assert_close(gains(values, ends, row, 1.0 - 1e-7), ends[row] - values)
    following = torch.tensor([values[1], ends[0], values[3], values[4], ends[1], values[6], ends[2]])
    torch.testing.assert_close(gains(values, ends, row, 0.0), following - values)


# ---- the loss


def test_loss_by_hand() -> None:
    """Two decisions of one sequence. Worth of the three outcomes: 0, 1, 2 temperatures. The first has legal actions 0
    and 1, of equal probability; action 0 was drawn with 0.4, so its ratio is 1.25, clipped to 1.2. Outcomes are equally
    likely, so the value is 1, and the deal came to 2: the advantage is 1. The second has actions 1, 2 with 1/4 and 3/4,
    action 1 was drawn with 0.5: the ratio is 0.5, and with the value 2 the advantage is 0."""
    terms = gradient([0.0, 1.0, 2.0], entropy_weight=0.1, magnet_weight=0.5, magnet="some").terms(
        decisions_of(
            row=torch.tensor([0, 0]),
            action=torch.tensor([0, 1]),
            probability=torch.tensor([0.4, 0.5]),
            legal=torch.tensor([[True, True, False], [False, True, True]]),
        ),
        torch.tensor([[0.0, 0.0, 9.0], [-torch.inf, 0.0, log(3.0)]]),
        torch.tensor([[0.0, 0.0, 0.0], [-torch.inf, -torch.inf, 0.0]]),
        torch.tensor([2]),
        torch.tensor([[0.0, log(3.0), 0.0], [0.0, 0.0, log(3.0)]]),
    )
    entropies = [log(2), 0.25 * log(4) + 0.75 * log(4 / 3)]
    distances = [0.5 * log(0.5 / 0.25) + 0.5 * log(0.5 / 0.75), 0.0]
    expected = [-1.2 - 0.1 * entropies[0] + 0.5 * distances[0], -0.1 * entropies[1]]
    torch.testing.assert_close(terms.loss, torch.tensor(expected, dtype=torch.float32))
    torch.testing.assert_close(terms.entropy, torch.tensor(entropies, dtype=torch.float32))
    torch.testing.assert_close(terms.magnet_kl, torch.tensor(distances, dtype=torch.float32))
    assert terms.clipped.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("drawn", "end", "pulls"),
    [(0.45, 1, True), (0.45, -1, True), (0.3, 1, False), (0.3, -1, True), (0.8, 1, True), (0.8, -1, False)],
)
def test_an_advantage_pulls_no_further_than_the_clip(drawn: float, end: int, pulls: bool) -> None:
    """The policy has 1/2 for the action; of the ratios 1.1, 1.7 and 0.6 those outside 0.8 to 1.2 pull back only."""
    logits = torch.zeros(1, 2, requires_grad=True)
    first = torch.tensor([0])
    legal, probability = torch.tensor([[True, True]]), torch.tensor([drawn])
    decisions = decisions_of(first, action=first, probability=probability, legal=legal)
    settings = gradient([-1.0, 0.0, 1.0])
    outcomes = torch.tensor([[-torch.inf, 0.0, -torch.inf]])
    settings.terms(decisions, logits, outcomes, torch.tensor([end + 1]), None).loss.sum().backward()
    assert logits.grad is not None
    ratio, chosen = 0.5 / drawn, torch.tensor([[0.5, -0.5]])  # gradient of the log probability of action 0
    expected = -end * ratio * chosen if pulls else torch.zeros(1, 2)
    torch.testing.assert_close(logits.grad, expected)


# ---- what it reads


def played(
    game: HeartsGame, directory: Path, iteration: int = 1, count: int = 6, config: ImitationConfig | None = None
) -> str:
    """A shard of deals that a network of random weights played by its policy, with the probabilities."""
    net = tiny_net(game, seed=iteration)
    engine = QueryEngine(net, game.outcomes.utility(""), EngineConfig(), game)
    seeds, seating = derive_many(iteration, count), np.zeros((count, game.num_players), int)
    players = [Imitation(engine, config or ImitationConfig())]
    result = play_table(game, players, seating, seeds, secret=iteration, with_probabilities=True)
    sequences = Sequences.of_deals(game, result.states, seeds, "imitation", probabilities=result.probabilities)
    path = str(directory / f"{iteration}.parquet")
    write_shard(path, sequences, game, {"iteration": str(iteration)})
    return path


def loaded(*shards: str, max_staleness: int = 1) -> TrainingData:
    return load_data(GAME, shards, gradient(max_staleness=max_staleness))


def test_a_table_keeps_the_policy_of_the_network_that_played(tmp_path: Path) -> None:
    sequences = read_shard(played(GAME, tmp_path), GAME)
    assert sequences.probabilities is not None
    engine = QueryEngine(tiny_net(GAME, seed=1), GAME.outcomes.utility(""), EngineConfig(), GAME)
    views = GAME.prefixes(sequences.tokens)[:, :-1]
    acts = GAME.next(views.reshape(-1)).reshape(views.shape) == Next.ACTION
    free = acts & (GAME.view_legal(views.reshape(-1)).sum(axis=1) > 1).reshape(views.shape)
    np.testing.assert_array_equal(sequences.probabilities > 0, free)
    for row, place in zip(*np.nonzero(free), strict=True):
        before = sequences.tokens[row, :place]
        policy = engine.query(np.full(1, EMPTY), before, np.array([place])).next_token[0]
        legal = GAME.view_legal(views[row, place : place + 1])[0]
        drawn = policy[sequences.tokens[row, place]] / policy[legal].sum()
        assert sequences.probabilities[row, place] == pytest.approx(drawn, abs=1e-4)


def test_the_network_that_played_has_ratios_of_1(tmp_path: Path) -> None:
    """So its loss is that of the other tokens and minus the mean advantage."""
    data, net = loaded(played(GAME, tmp_path)), tiny_net(GAME, seed=1)
    batch = make_batch(data, data.training[:5], Recipe(Rules(GAME, net.arch), gradient()))
    found, policy = losses(net, batch, gradient()), batch.policy
    assert isinstance(policy, Decisions)
    hidden = net.hidden(batch.tokens[:, :-1]).flatten(0, 1)[batch.prefixes[policy.at]]
    points = torch.from_numpy(GAME.outcomes.points)
    worth = (points[:, 1:].mean(dim=1) - points[:, 0]) / 26 / POLICY.temperature  # equation 4, in temperatures
    values = net.outcome_logits(hidden).softmax(-1) @ worth
    ends = worth[batch.outcome[policy.row]]
    torch.testing.assert_close(terms_of(net, batch, gradient()).loss, -(ends - values), atol=1e-3, rtol=1e-3)
    assert not found.figures["clipped"] and found.figures["entropy"] > 0


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_whoever_is_said_to_draw_from_the_policy_has_nothing_clipped_before_a_step(temperature, tmp_path):
    """``checks`` takes players that ``samples`` alone; drawn otherwise, the clip cuts at once."""
    config = ImitationConfig(temperature=temperature)
    data, net = loaded(played(GAME, tmp_path, config=config)), tiny_net(GAME, seed=1)
    batch = make_batch(data, data.training, Recipe(Rules(GAME, net.arch), gradient()))
    assert config.samples == (not losses(net, batch, gradient()).figures["clipped"])


def test_old_shards_teach_nothing_and_are_counted(tmp_path: Path) -> None:
    shards = [played(GAME, tmp_path, iteration, 6) for iteration in (1, 3, 4)]
    fresh = loaded(*shards)
    assert (len(fresh.lengths), fresh.stale) == (48, 1)
    every = loaded(*shards, max_staleness=3)
    assert (len(every.lengths), every.stale) == (72, 0)
    metrics = train(GAME, TINY, LEARNER, shards, tmp_path / "out")
    assert metrics["stale_shards"] == 1


def test_a_teachers_shard_beside_own_ones_is_imitated(tmp_path: Path) -> None:
    data = loaded(played(GAME, tmp_path), shard_of(GAME, tmp_path, 6))
    batch = make_batch(data, np.arange(24, 30), Recipe(Rules(GAME, tiny_net(GAME).arch), gradient()))
    assert isinstance(batch.policy, Decisions) and len(batch.policy.at) == 0


def test_a_game_without_exact_labels_is_refused() -> None:
    with pytest.raises(ValueError, match=r"policy\.kind=gradient: samegame has no exact outcome labels"):
        Gradient(SameGame(), POLICY, CPU)


def test_a_missing_magnet_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=str(tmp_path / "nowhere")):
        config = changed(LEARNER, magnet_weight=0.1, magnet=str(tmp_path / "nowhere"))
        train(GAME, TINY, config, [played(GAME, tmp_path)], tmp_path / "out")
    with pytest.raises(UserError, match=r"learner\.policy\.magnet: give the checkpoint"):
        train(GAME, TINY, changed(LEARNER, magnet_weight=0.1), [played(GAME, tmp_path)], tmp_path / "other")


def test_a_magnet_that_reads_other_inputs_than_the_network_is_refused(tmp_path: Path) -> None:
    magnet = tiny_net(GAME, config=replace(TINY, features=["hand"]))
    save_weights(tmp_path / "magnet", magnet, GAME)
    config = changed(LEARNER, magnet_weight=0.1, magnet=str(tmp_path / "magnet"))
    with pytest.raises(UserError, match=r"magnet=.*: has features=\{'hand': 1\}, and the network \{\}"):
        train(GAME, TINY, config, [played(GAME, tmp_path)], tmp_path / "out")
