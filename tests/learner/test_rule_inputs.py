"""Networks that read what the rules know: the engine and training against the transformers model, which is given views
rebuilt from every prefix by itself; and values over outcomes that can still come alone."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from games.features import FeatureSet
from games.game import Game
from games.hearts.game import HeartsGame
from games.openspiel import OpenSpielGame
from games.registry import make_game
from learner import kinds
from learner.config import EngineConfig, LearnerConfig
from learner.export import mean
from learner.inference.engine import QueryEngine, open_engine
from learner.model.architecture import architecture, same_value
from learner.model.checkpoint import load_weights, save_weights
from learner.model.rule_inputs import RuleInputs, Rules
from learner.network_kind import TrainingSetup
from learner.observation_model import EMPTY
from learner.training.batches import Recipe, make_batch
from learner.training.data import load_data
from learner.training.loop import starting_network
from learner.training.loss import losses
from learner.training.policies.policy import PLAYED
from tests.games.material import histories_of
from tests.learner.material import BOARD, ON_BLOCKS, ON_BOARD, TINY, inputs, shard_of, tiny_net, transformers_model
from tests.marks import slow


def _choices(views: np.ndarray, numbers: np.ndarray) -> None:
    """``uint8[B, 52, 2]``: of every card whether it is held, and whether it is legal now."""
    numbers[..., 0] = HeartsGame.features["hand"].encode(views)
    numbers[..., 1] = numbers[..., 0] & GAME.view_legal(views)[:, :52]


class Hearts(HeartsGame):
    """With numbers about each card, by which the network scores them."""

    features = HeartsGame.features | {"choices": FeatureSet("held; legal", (52, 2), _choices, of_actions=True)}


GAME = Hearts()
FEATURES = list(GAME.features)
SETTINGS = {
    "types": replace(TINY, token_types=True),
    "masks": replace(TINY, mask_tokens=True, mask_outcomes=True),
    "features": replace(TINY, features=list(HeartsGame.features)),
    "choices": replace(TINY, features=["gone", "choices", "voids"]),
    "everything": replace(TINY, token_types=True, mask_tokens=True, mask_outcomes=True, features=FEATURES),
}
MASKED = "values over outcomes that can still come"
NETWORKS = {
    **{name: (GAME, config) for name, config in SETTINGS.items()},
    **{name: (GAME, TINY) for name in ("nothing", MASKED)},
    "board": (BOARD, ON_BOARD),
    "blocks": (BOARD, ON_BLOCKS),
}
UTILITY = np.random.default_rng(0).normal(size=GAME.outcomes.num_labels).astype(np.float32)
CPU = EngineConfig(device="cpu")


def histories(game: Game) -> list[list[int]]:
    """Beginnings of real histories, whole ones, and some that could not have happened."""
    tokens, lengths = histories_of(game, 7, 1)
    ends = (20, 20, 22, 21, 23, 25) if game is BOARD else (1, 9, 21, 40, 58, 70)
    cut = [tokens[row, :length].tolist() for row, length in enumerate(ends)]
    whole = tokens[6, : lengths[6] - 1].tolist()
    return [*cut, whole, [*cut[4][:-1], cut[4][-2]], [*cut[3], game.vocabulary.size - 3, 3]]


FOUR = replace(CPU, max_batch=4)
ENGINES = {
    "compiled": FOUR, "torch": replace(FOUR, trunk="torch"), "filled": replace(FOUR, trunk="torch", cuda_graphs=True)
}  # fmt: skip


FAST = ("everything", MASKED, "board", "blocks")


@pytest.mark.parametrize("name", [*FAST, *slow(*(name for name in NETWORKS if name not in FAST))])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_tells_the_network_what_every_history_alone_would_be_told(name: str, engine: str) -> None:
    """Next tokens, values and outcomes are those of plain passes; of outcomes that can still come, where these are
    asked for alone. Asking for outcomes holds nothing."""
    (game, config), masked = NETWORKS[name], name == MASKED
    net, utility = tiny_net(game, seed=3, config=config), UTILITY[: game.outcomes.num_labels]
    model, asked, rng = transformers_model(net).eval(), histories(game), np.random.default_rng(1)
    queried = QueryEngine(net, utility, replace(ENGINES[engine], mask_outcomes=masked), game)
    free, halves = queried.slots_left, np.array([max(net.arch.first + 1, len(history) // 2) for history in asked])
    halves[0] = 0
    begun, nothing = [history[:half] for history, half in zip(asked[1:], halves[1:], strict=True)], np.empty(0, int)
    held = queried.query(np.full(len(begun), EMPTY), np.concatenate(begun), halves[1:]).handles
    left, none = queried.slots_left, np.zeros(len(held), int)
    rest = [history[half:] for history, half in zip(asked, halves, strict=True)]
    behind = np.append(EMPTY, held), np.concatenate(rest), np.array([len(part) for part in rest])
    outcomes = [*queried.outcomes(*behind), *queried.outcomes(held, nothing, none)]
    assert queried.slots_left == left
    candidates = rng.random((len(asked), net.arch.vocab_size)) < 0.1
    answer = queried.query(*behind, candidates, np.ones(len(asked), bool), look_ahead=True)
    leaves = [[*asked[row], token] for row, token in zip(*np.nonzero(candidates), strict=True)]
    found = zip([*answer.next_token, *answer.action_next], [*answer.value, *answer.action_values], strict=True)
    expected = []
    for history in (*asked, *begun, *leaves):
        with torch.no_grad():
            wanted = model(**inputs(net, game, history))
        chances = torch.softmax(wanted.outcome_logits[0, -1].double(), -1).numpy()
        if masked:
            chances *= game.view_outcomes(game.views(np.array([history]), np.array([len(history)])))[0]
        expected.append((torch.softmax(wanted.logits[0, -1], -1).numpy(), chances / chances.sum()))
    np.testing.assert_allclose(outcomes, [chances for _, chances in expected[: len(outcomes)]], atol=2e-5)
    del expected[len(asked) : len(outcomes)]  # of which outcomes alone were asked for
    for (next_token, value), (policy, chances) in zip(found, expected, strict=True):
        np.testing.assert_allclose(next_token, policy, atol=2e-5)
        assert value == pytest.approx(chances @ utility, abs=2e-5)
    for handles in (held, answer.handles, answer.action_handles):
        queried.release(handles)
    assert queried.slots_left == free and queried.outcomes(nothing, nothing, nothing).shape == (0, len(utility))
    with pytest.raises(ValueError, match=r"row 0: the handle .* is not held"):
        queried.outcomes(held, nothing, none)


def test_a_game_whose_views_are_objects_reads_rules_too() -> None:
    game = OpenSpielGame("leduc_poker")
    tokens, lengths = histories_of(game, 5, 1)
    net = tiny_net(game, config=replace(TINY, token_types=True, mask_tokens=True))  # type: ignore[arg-type]
    engine = QueryEngine(net, game.outcomes.utility(""), CPU, game)
    asked = [row[:length] for row, length in zip(tokens, lengths - 1, strict=True)]
    answer = engine.query(np.full(5, EMPTY), np.concatenate(asked), lengths - 1)
    possible = Rules(game, net.arch).tokens_to_come(game.views(tokens, lengths - 1))
    assert np.array_equal(answer.next_token > 0, possible) and (possible.sum(axis=1) == 1).all()  # eos


@pytest.mark.parametrize("judged", [0, 3])
@pytest.mark.parametrize("name", ["everything", *slow("types", "masks", "features", "choices")])
def test_training_tells_the_network_what_every_prefix_alone_would_be_told(name, judged, tmp_path):
    net = tiny_net(GAME, seed=3, config=SETTINGS[name])
    model = transformers_model(net).eval()
    data = load_data(GAME, [shard_of(GAME, tmp_path, 4)], PLAYED)
    batch = make_batch(data, np.arange(5), Recipe(Rules(GAME, net.arch), num_judged=judged), seed=9)
    observation, outcome = [], []
    for row, length in enumerate(batch.lengths.tolist()):
        history = batch.tokens[row, : length - 1]
        with torch.no_grad():
            wanted = model(**inputs(net, GAME, history.tolist()))
        observation.append(F.cross_entropy(wanted.logits[0], batch.tokens[row, 1:length], reduction="none"))
        every = F.cross_entropy(wanted.outcome_logits[0], batch.outcome[row].expand(length - 1), reduction="none")
        outcome.append(every if batch.judged is None else every[batch.judged[row]] * (length - 1) / judged)
    with torch.no_grad():
        found = losses(net, batch)
    torch.testing.assert_close(found.observation, torch.cat(observation).mean())
    torch.testing.assert_close(found.outcome, torch.cat(outcome).sum() / len(batch.prefixes))
    assert found.outcome.isfinite() and found.observation.isfinite()


def test_with_a_weight_for_others_the_observer_s_own_cards_count_in_full(tmp_path: Path) -> None:
    net = tiny_net(GAME, seed=3)
    data = load_data(GAME, [shard_of(GAME, tmp_path, 4)], PLAYED)
    batch = make_batch(data, np.arange(5), Recipe(Rules(GAME, net.arch), others_weight=0.25))
    weighted = []
    for row, length in enumerate(batch.lengths.tolist()):
        history = batch.tokens[row, :length].tolist()
        hold, dealt = history[0] == GAME.vocabulary.first("Pass directions"), set(history[1:14])
        passed, received = (set(), set()) if hold else (set(history[14:17]), set(history[17:20]))
        hand = (dealt - passed) | received
        plays = 15 if hold else 21  # behind the position of the leader
        mine = [14 <= at < 17 if at < plays else token in hand for at, token in enumerate(history)]
        assert sum(mine) == (13 if hold else 16)
        with torch.no_grad():
            logits = net.next_token_logits(net.hidden(batch.tokens[row : row + 1, : length - 1]))[0]
        each = F.cross_entropy(logits, batch.tokens[row, 1:length], reduction="none")
        weighted.append(each * torch.tensor([1.0 if own else 0.25 for own in mine[1:]]))
    with torch.no_grad():
        found = losses(net, batch)
    torch.testing.assert_close(found.observation, torch.cat(weighted).sum() / len(batch.prefixes))


def test_actions_are_scored_by_what_is_said_of_each_of_them() -> None:
    net = tiny_net(GAME, seed=3, config=SETTINGS["choices"])
    hidden, choices = torch.randn(2, 16), torch.zeros(2, 52, 2, dtype=torch.uint8)
    choices[0, 7], choices[1, 3], choices[1, 9] = torch.tensor([1, 0]), torch.tensor([1, 1]), torch.tensor([1, 1])
    with torch.no_grad():
        plain, scored = net.next_token_logits(hidden), net.next_token_logits(hidden, inputs=RuleInputs(choices=choices))
        added = scored - plain
        weights = [net.choice_features.weight, net.choice_hidden.weight, net.choice_head.weight]
        by_hand = weights[2] @ F.gelu(weights[0] @ torch.tensor([1.0, 0.0]) + weights[1] @ hidden[0])
    torch.testing.assert_close(added[0, 7], by_hand[0])
    torch.testing.assert_close(added[1, 3], added[1, 9])
    assert abs(added[0, 7]) > 1e-3 and not added[0, :7].any() and not added[:, 10:].any()
    torch.testing.assert_close(net.next_token_logits(hidden, inputs=RuleInputs(choices=choices)).detach(), scored)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_cannot_come_is_minus_infinity_and_its_logits_learn_nothing(dtype: torch.dtype) -> None:
    net, hidden = tiny_net(GAME, seed=3), torch.randn(9, 16)
    possible, targets = torch.rand(9, GAME.vocabulary.size) < 0.3, torch.arange(9)
    possible[targets, targets] = True
    found = net.next_token_logits(hidden, dtype, RuleInputs(tokens=possible))
    wanted = torch.where(possible, net.next_token_logits(hidden, dtype), -torch.inf)
    assert found.dtype == dtype and torch.equal(found, wanted)
    one, other = (
        torch.autograd.grad(F.cross_entropy(logits.float(), targets), net.lm_head.weight)[0]
        for logits in (found, wanted)
    )
    assert torch.equal(one, other) and one.any()


def test_what_the_game_does_not_tell_is_named() -> None:
    with pytest.raises(ValueError, match=r"model\.features: hearts has no 'hands'; it has hand, gone, trick, points"):
        architecture(GAME, replace(TINY, features=["hands", "gone"]))
    with pytest.raises(ValueError, match=r"has no 'hand'; it has none"):
        architecture(OpenSpielGame("leduc_poker"), replace(TINY, features=["hand"]))
    with pytest.raises(ValueError, match="the engine needs the game"):
        QueryEngine(tiny_net(GAME, config=SETTINGS["types"]), UTILITY, CPU)
    with pytest.raises(ValueError, match=r"engine\.mask_outcomes=true: the engine needs the game"):
        QueryEngine(tiny_net(GAME), UTILITY, replace(CPU, mask_outcomes=True))


def test_all_features_are_those_of_the_rules_and_one_by_strategy_takes_the_place_of_its_like() -> None:
    crew = make_game("crew", {})
    rules = architecture(crew, replace(TINY, features=["all"]))
    assert "choices" in rules.features and "estimates" not in rules.features
    assert rules.choices["numbers"] == 32
    told = architecture(crew, replace(TINY, features=["all", "estimates"]))
    assert set(told.features) == {*rules.features} - {"choices"} | {"estimates"}
    assert told.choices["numbers"] == 35 and told.num_features == rules.num_features + 3 * 40
    with pytest.raises(ValueError, match="of crew's sets about actions take one: choices, estimates"):
        architecture(crew, replace(TINY, features=["choices", "estimates"]))
    with pytest.raises(ValueError, match=r"model\.features: crew has no 'estimate'; it has hand, gone"):
        architecture(crew, replace(TINY, features=["all", "estimate"]))


def test_a_network_told_what_means_something_else_by_now_is_refused(tmp_path, monkeypatch):
    save_weights(tmp_path / "net", tiny_net(GAME, config=SETTINGS["everything"]), GAME)
    newer = {**GAME.features, "hand": replace(GAME.features["hand"], version=2)}
    monkeypatch.setattr(Hearts, "features", newer)
    with pytest.raises(ValueError, match=r"config\.json: features is .*'hand': 1.* hearts has .*'hand': 2"):
        load_weights(tmp_path / "net", GAME)
    monkeypatch.setattr(Hearts, "features", dict[str, FeatureSet]())
    with pytest.raises(ValueError, match=r"config\.json: features is .* and hearts has \{\} by now"):
        load_weights(tmp_path / "net", GAME)
    assert json.loads((tmp_path / "net/config.json").read_text())["features"]["hand"] == 1


def test_networks_whose_features_stand_in_another_order_are_of_another_shape(tmp_path: Path) -> None:
    """The order is that of the weights."""
    one, other = ["hand", "gone"], ["gone", "hand"]
    for number, names in enumerate((one, other)):
        save_weights(tmp_path / str(number), tiny_net(GAME, config=replace(TINY, features=names)), GAME)
    config = EngineConfig("cpu", "fp32", cache_mb=16)
    engines = [open_engine(tmp_path / "0", GAME, config, "")]
    engines += [open_engine(tmp_path / number, GAME, config, "", engines[:1]) for number in ("0", "1")]
    assert engines[1].pool is engines[0].pool is not engines[2].pool
    kind = kinds.find("transformer")
    with pytest.raises(ValueError, match="another shape"):
        mean(kind, GAME, [str(tmp_path / "0"), str(tmp_path / "1")])
    setup = TrainingSetup(kind, GAME, replace(TINY, features=other), LearnerConfig(), ())
    with pytest.raises(ValueError, match="has features="):
        starting_network(setup, tmp_path / "0")
    assert not same_value(dict.fromkeys(one, 1), dict.fromkeys(other, 1))
