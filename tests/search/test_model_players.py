"""ArgmaxVal* and imitation, decided by hand, and the lanes they keep."""

import numpy as np
import pytest

from games.rng import derive_many
from search.players.argmax_val import ArgmaxVal
from search.players.config import ArgmaxValConfig, ImitationConfig
from search.players.imitation import Imitation, sample
from search.players.player import Turns
from search.players.table import play_table
from tests.search.models import FunctionModel, hash_model, table_model
from tests.search.toy import EOS, LEADS, ToyGame

HOLDS_1_4 = (LEADS, 0, 3)
"""The history of the leader that holds the cards 1 and 4, tokens 0 and 3."""


def turns(histories: list[tuple[int, ...]], legal: list[list[int]]) -> Turns:
    """Turns of seat 0, one game each."""
    tokens = np.full((len(histories), 8), EOS, np.uint8)
    marked = np.zeros((len(histories), EOS + 1), bool)
    for row, (history, actions) in enumerate(zip(histories, legal, strict=True)):
        tokens[row, : len(history)] = history
        marked[row, actions] = True
    rows = np.arange(len(histories))
    lengths = np.array([len(history) for history in histories], np.int32)
    return Turns(rows, np.zeros_like(rows), tokens, lengths, marked, derive_many(1, len(histories)))


def decide(policy: dict[int, float], values: dict[int, float], threshold: float, policy_weight: float = 0.0) -> int:
    """What ArgmaxVal* leads from 1 and 4."""
    rows = {HOLDS_1_4: (policy, 0.0)} | {(*HOLDS_1_4, action): ({}, value) for action, value in values.items()}
    config = ArgmaxValConfig(threshold=threshold, policy_weight=policy_weight)
    player = ArgmaxVal(FunctionModel(table_model(EOS + 1, rows)), config)
    player.start(ToyGame(), 1)
    return int(player.act(turns([HOLDS_1_4], [[0, 3]]))[0])


@pytest.mark.parametrize(
    ("policy", "values", "threshold", "chosen", "why"),
    [
        ({0: 0.5, 3: 0.5}, {0: -0.5, 3: 0.5}, 0.05, 3, "the higher value"),
        ({0: 0.75, 3: 0.25}, {0: -0.5, 3: 0.5}, 0.25, 3, "a probability equal to the threshold passes"),
        ({0: 0.75, 3: 0.25}, {0: -0.5, 3: 0.5}, 0.26, 0, "a probability below it does not"),
        ({0: 0.375, 3: 0.125, 1: 0.5}, {0: -0.5, 3: 0.5}, 0.25, 3, "probabilities count among legal actions only"),
        ({0: 0.25, 3: 0.75}, {0: 0.5, 3: -0.5}, 0.9, 3, "where none passes, the most probable one"),
        ({0: 0.5, 3: 0.5}, {0: 0.25, 3: 0.25}, 0.05, 0, "of equal values the lowest token"),
        ({1: 1.0}, {0: -0.5, 3: 0.5}, 0.05, 3, "legal actions without any probability are equally likely"),
    ],
)
def test_argmax_val_decides_as_equations_2_and_3_say(
    policy: dict[int, float], values: dict[int, float], threshold: float, chosen: int, why: str
) -> None:
    assert decide(policy, values, threshold) == chosen, why


@pytest.mark.parametrize(
    ("policy", "threshold", "weight", "chosen", "why"),
    [
        ({0: 0.75, 3: 0.25}, 0.05, 0.1, 3, "0.1 * log 3 = 0.110 is less than the 0.125 that 3 is worth more"),
        ({0: 0.75, 3: 0.25}, 0.05, 0.125, 0, "0.125 * log 3 = 0.137 is more"),
        ({0: 0.1, 3: 0.9}, 0.2, 0.0, 3, "what is below the threshold is not chosen"),
        ({0: 0.9, 3: 0.1}, 0.05, 0.0, 3, "the paper's rule looks at values alone"),
        ({0: 0.9, 3: 0.0, 1: 0.1}, 0.0, 1.0, 0, "an action without any probability comes last"),
    ],
)
def test_a_policy_weight_adds_the_log_of_the_probability_to_the_value(
    policy: dict[int, float], threshold: float, weight: float, chosen: int, why: str
) -> None:
    assert decide(policy, {0: 0.25, 3: 0.375}, threshold, weight) == chosen, why


def test_a_forced_move_asks_the_model_nothing() -> None:
    for player_of in (ArgmaxVal, Imitation):
        model = FunctionModel(hash_model(ToyGame(), 0.1))
        config = ArgmaxValConfig() if player_of is ArgmaxVal else ImitationConfig()
        player = player_of(model, config)  # type: ignore[arg-type]
        player.start(ToyGame(), 2)
        answers = player.act(turns([HOLDS_1_4, HOLDS_1_4], [[3], [0, 3]]))
        assert answers[0] == 3
        assert model.histories_asked == [HOLDS_1_4]


def test_the_imitation_player_samples_the_policy_over_legal_actions() -> None:
    model = FunctionModel(table_model(EOS + 1, {HOLDS_1_4: ({0: 0.1, 3: 0.3, 1: 0.6}, 0.0)}))
    player = Imitation(model, ImitationConfig())
    player.start(ToyGame(), 20_000)
    asked = turns([HOLDS_1_4] * 20_000, [[0, 3]] * 20_000)
    chosen = player.act(asked)
    assert set(chosen.tolist()) == {0, 3}
    assert abs(np.mean(chosen == 0) - 0.25) < 0.015  # nearly five standard deviations
    player.start(ToyGame(), 20_000)
    assert np.array_equal(player.act(asked), chosen)


@pytest.mark.parametrize(("temperature", "share"), [(0.5, 0.1), (1.0, 0.25), (2.0, 0.366)])
def test_temperature_sharpens_or_flattens_the_imitation_policy(temperature: float, share: float) -> None:
    model = FunctionModel(table_model(EOS + 1, {HOLDS_1_4: ({0: 0.25, 3: 0.75}, 0.0)}))
    player = Imitation(model, ImitationConfig(temperature))
    player.start(ToyGame(), 20_000)
    chosen = player.act(turns([HOLDS_1_4] * 20_000, [[0, 3]] * 20_000))
    assert abs(np.mean(chosen == 0) - share) < 0.017


def test_a_greedy_imitation_plays_the_most_probable_legal_action_for_sure() -> None:
    model = FunctionModel(table_model(EOS + 1, {HOLDS_1_4: ({0: 0.1, 3: 0.3, 1: 0.6}, 0.0)}))
    player = Imitation(model, ImitationConfig(greedy=True))
    player.start(ToyGame(), 200)
    assert set(player.act(turns([HOLDS_1_4] * 200, [[0, 3]] * 199 + [[0]]))[:199]) == {3}
    assert player.probabilities.tolist() == [1.0] * 199 + [0.0]


@pytest.mark.parametrize("policy", [{0: 0.3, 3: 0.3}, {1: 1.0}])
def test_a_greedy_imitation_plays_the_lowest_of_the_most_probable_tokens(policy: dict[int, float]) -> None:
    player = Imitation(FunctionModel(table_model(EOS + 1, {HOLDS_1_4: (policy, 0.0)})), ImitationConfig(greedy=True))
    player.start(ToyGame(), 1)
    assert player.act(turns([HOLDS_1_4], [[0, 3]])) == [0]


def test_sampling_never_gives_a_token_of_probability_zero() -> None:
    policy = np.tile([0.0, 0.1, 0.0, 0.2, 0.7, 0.0], (4, 1))
    ends = np.array([0, 2**64 - 1, 2**11 - 1, 2**63], np.uint64)
    assert sample(policy, ends).tolist() == [1, 4, 1, 4]


@pytest.mark.parametrize("player_of", [ArgmaxVal, Imitation])
def test_every_token_of_a_deal_is_computed_once_and_none_is_held_behind_its_end(player_of: type) -> None:
    config = ArgmaxValConfig() if player_of is ArgmaxVal else ImitationConfig()
    for seed in range(10):
        model = FunctionModel(hash_model(ToyGame(), 0.1))
        player = player_of(model, config)
        play_table(ToyGame(), [player], np.zeros((1, 2), np.int64), np.array([seed], np.uint64), secret=1)
        assert len(set(model.computed)) == len(model.computed) > 0
        assert not model.slots


def test_a_history_asked_about_again_after_its_move_is_answered() -> None:
    model = FunctionModel(hash_model(ToyGame(), 0.1))
    player = ArgmaxVal(model, ArgmaxValConfig())
    player.start(ToyGame(), 1)
    asked = turns([HOLDS_1_4], [[0, 3]])
    assert player.act(asked) == player.act(asked)
    assert len(model.slots) == len(HOLDS_1_4) + 1
    player.start(ToyGame(), 1)
    assert not model.slots
