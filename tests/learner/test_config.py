"""Values out of range are refused by key, value and range; presets and defaults are good."""

from functools import partial
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from cluster.config import ClusterConfig
from cluster.fields import flat
from games.hearts.game import HeartsGame
from learner import kinds
from learner.config import (
    EngineConfig,
    LearnerConfig,
    LossConfig,
    NetworkConfig,
    PolicyConfig,
    QNetworkConfig,
    TransformerConfig,
)
from learner.model.architecture import architecture
from learner.skat_policies.config import SkatPoliciesConfig
from search.config import SearchConfig

CONF = Path(__file__).parents[2] / "conf"
SAID_AGAIN = {("model", "n_inner")}
"""Keys whose value was written out in every run so far, though it is what 0 means; kept so that those resume."""


ON_ACTIONS = partial(LearnerConfig, targets="actions")
BY_GRADIENT = partial(LearnerConfig, policy=PolicyConfig(kind="gradient"))


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (TransformerConfig, {"n_layer": 0}, "model.n_layer=0: must be at least 1"),
        (TransformerConfig, {"n_embd": 30, "n_head": 4}, "model.n_embd=30: must be a multiple of model.n_head=4"),
        (TransformerConfig, {"embd_pdrop": 1.0}, "model.embd_pdrop=1.0: must be at least 0 and below 1"),
        (TransformerConfig, {"layer_norm_epsilon": 0.0}, "model.layer_norm_epsilon=0.0: must be above 0"),
        (QNetworkConfig, {"architecture": "pv17"}, "model.architecture=pv17: must be one of fc, pv16, pv24"),
        (QNetworkConfig, {"width": 0}, "model.width=0: must be at least 1"),
        (QNetworkConfig, {"discount": 1.1}, "model.discount=1.1: must be between 0 and 1"),
        (QNetworkConfig, {"huber_delta": 0.0}, "model.huber_delta=0.0: must be above 0"),
        (LearnerConfig, {"batch_size": 0}, "learner.batch_size=0: must be at least 1"),
        (LearnerConfig, {"learning_rate": float("nan")}, "learner.learning_rate=nan: must be a finite number"),
        (LearnerConfig, {"precision": "fp8"}, "learner.precision=fp8: must be one of auto, fp32, bf16"),
        (LearnerConfig, {"betas": (0.9, 1.0)}, "learner.betas="),
        (LossConfig, {"observation_weight": 0.0, "outcome_weight": 0.0}, "one must be above 0"),
        (LossConfig, {"branch_weight": -1}, "learner.loss.branch_weight=-1: must be at least 0"),
        (LearnerConfig, {"schedule_steps": 5, "warmup_steps": 5}, "learner.schedule_steps=5"),
        (ON_ACTIONS, {"loss": LossConfig(outcome_positions=8)}, "outcome_positions=8: must be 0 with targets=actions"),
        (TransformerConfig, {"board_channels": []}, "model.board_channels=[]: must be numbers above 0"),
        (TransformerConfig, {"outcome_init": "similar"}, "outcome_init=similar: must be one of normal, points"),
        (TransformerConfig, {"initializer_range": 1.0}, "initializer_range=1.0: must be at least 0 and below 1"),
        (
            TransformerConfig,
            {"features": ["hand", "hand"]},
            "model.features=['hand', 'hand']: must be names given once",
        ),
        (SkatPoliciesConfig, {"hidden": [16]}, "model.hidden"),
        (SkatPoliciesConfig, {"bid_loss": "first"}, "model.bid_loss=first: must be one of last, censored"),
        (PolicyConfig, {"kind": "argmax"}, "policy.kind=argmax: must be one of played, labels, values, gradient"),
        (PolicyConfig, {"temperature": 0.0}, "learner.policy.temperature=0.0: must be above 0"),
        (PolicyConfig, {"weight": -1.0}, "learner.policy.weight=-1.0: must be above 0"),
        (PolicyConfig, {"clip": 0.0}, "learner.policy.clip=0.0: must be above 0"),
        (PolicyConfig, {"entropy_weight": -0.1}, "learner.policy.entropy_weight=-0.1"),
        (PolicyConfig, {"advantage_lambda": 1.5}, "learner.policy.advantage_lambda=1.5"),
        (
            BY_GRADIENT,
            {"loss": LossConfig(outcome_positions=8)},
            "outcome_positions=8: must be 0 with a policy gradient",
        ),
        (BY_GRADIENT, {"targets": "actions"}, "learner.targets=actions: must be all with a policy gradient"),
        (LossConfig, {"outcome_positions": -1}, "learner.loss.outcome_positions=-1: must be at least 0"),
    ],
)
def test_values_out_of_range_are_named(kind, values, message):
    with pytest.raises(ValueError) as error:
        kind(**values)
    assert message in str(error.value)


GROUPS = {
    "model": NetworkConfig,
    "learner": LearnerConfig,
    "engine": EngineConfig,
    "search": SearchConfig,
    "cluster": ClusterConfig,
}


def preset(group, name):
    """What a preset says itself, and the settings that it says it over."""
    own = OmegaConf.create((CONF / group / f"{name}.yaml").read_text())
    below = OmegaConf.structured(GROUPS[group])
    for base in own.pop("defaults", []):
        if isinstance(base, str) and base != "_self_":
            said, lower = preset(group, base)
            below = OmegaConf.merge(lower, said)
        elif "/kinds/model@_here_" in base:  # chooses the keys that a network has
            below = OmegaConf.structured(kinds.config_of(base["/kinds/model@_here_"]))
    return own, below


def whole(group, name):
    """The settings of a preset, checked."""
    own, below = preset(group, name)
    return OmegaConf.to_object(OmegaConf.merge(below, own))


@pytest.mark.parametrize(("group", "kind"), GROUPS.items())
def test_every_preset_says_what_differs_alone_and_passes_the_checks(group, kind):
    names = sorted(path.stem for path in (CONF / group).glob("*.yaml"))
    assert names
    for name in names:
        own, below = preset(group, name)
        for key, value in flat(OmegaConf.to_container(own)).items():
            assert (group, key) in SAID_AGAIN or OmegaConf.select(below, key) != value, f"{group}/{name}: {key}"
        if name != "existing":  # wants an address
            assert isinstance(whole(group, name), kind)


def test_presets_of_models_bring_the_learner_that_suits_their_kind():
    learners = {path.stem for path in (CONF / "learner").glob("*.yaml")}
    for path in (CONF / "model").glob("*.yaml"):
        said = OmegaConf.create(path.read_text()).get("defaults", [])
        given = {key: value for base in said if not isinstance(base, str) for key, value in base.items()}
        if "/kinds/model@_here_" in given:  # others stand on one of these
            wanted = kinds.find(given["/kinds/model@_here_"]).learner
            assert given.get("override /learner@_global_.learner", "default") == wanted
            assert wanted in learners | {"default"}


def test_the_paper_preset_trains_as_table_6_says():
    config = whole("learner", "paper")
    assert (config.learning_rate, config.schedule, config.num_epochs) == (1e-4, "linear", 3)
    assert (config.loss.observation_weight, config.loss.outcome_weight) == (0.9, 0.1)
    assert config.weight_decay == 0.0  # TrainingArguments' default; torch's AdamW would decay by 0.01


def test_the_q_network_presets_train_as_paper_002_says():
    learner, network = (whole(*name) for name in (("learner", "q_network"), ("model", "pv16")))
    assert (learner.learning_rate, list(learner.betas), learner.batch_size) == (1e-3, [0.3, 0.999], 32)
    assert (network.architecture, network.discount, network.states_per_step) == ("pv16", 0.99, 4)
    assert learner.weight_decay == 0.0  # Adam


@pytest.mark.parametrize(
    ("settings", "unread"),
    [
        ({}, []),
        ({"label_weight": 0.1, "clip": 0.2, "weight": 2.0}, ["weight", "label_weight", "clip"]),
        ({"kind": "labels", "weight": 2.0, "temperature": 0.2, "improved": True}, ["temperature", "improved"]),
        ({"kind": "values", "temperature": 0.2, "improved": True, "max_staleness": 2}, ["max_staleness"]),
        ({"kind": "gradient", "temperature": 0.2, "clip": 0.2, "magnet": "DIR", "label_weight": 1.0}, ["label_weight"]),
    ],
)
def test_settings_of_the_policy_without_effect_are_noted(settings, unread):
    policy = PolicyConfig(**settings)
    said = kinds.find("transformer").without_effect(LearnerConfig(policy=policy))
    expected = f"learner.policy.{', '.join(unread)}: no effect with learner.policy.kind={policy.kind}"
    assert policy.unread() == unread and said == ([expected] if unread else [])
    assert kinds.find("q_network").without_effect(LearnerConfig(policy=policy)) == []


def test_too_short_a_network_for_the_game_is_refused():
    with pytest.raises(ValueError, match=r"model\.n_positions=50: hearts has histories of 75 tokens"):
        architecture(HeartsGame(), TransformerConfig(n_positions=50))
