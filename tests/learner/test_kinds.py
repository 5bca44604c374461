"""Kinds of network: found by name and by checkpoint, and what a package brings is checked."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cluster.errors import UserError
from games import plugins
from games.hearts.game import HeartsGame
from learner import kinds
from learner.config import TransformerConfig
from learner.training.task import check_size


@dataclass
class NoNetworkConfig:
    kind: str = "rnn"


RNN = replace(kinds.find("transformer"), name="rnn", title="recurrent network", model_type="rnn")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch):
    """Let a package offer something as the kind ``rnn``."""

    def offered(kind: object) -> None:
        monkeypatch.setattr(plugins, "offered", lambda group: ("rnn",))
        monkeypatch.setattr(plugins, "load", lambda group, name: kind)

    return offered


def checkpoint_of(directory: Path, config: object) -> Path:
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "model.safetensors").write_bytes(b"")
    return directory


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no record", "'rnn' is a str; it must be a NetworkKind of that name"),
        (replace(RNN, name="lstm"), "it must be a NetworkKind of that name"),
        (replace(RNN, config=NoNetworkConfig), "it must be a NetworkConfig"),
        (replace(RNN, config=3), "it must be a NetworkConfig"),
        (
            replace(RNN, model_type="kibitz_q_network"),
            "has Kibitz's own model_type 'kibitz_q_network'; rename it",
        ),
    ],
)
def test_a_record_that_cannot_be_right_is_refused_in_one_line(offer, kind: object, message: str) -> None:
    offer(kind)
    with pytest.raises(ValueError, match=message) as error:
        kinds.find("rnn")
    assert "\n" not in str(error.value)


def test_a_kind_is_found_by_its_name_and_by_the_type_of_a_checkpoint(offer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model\.kind=rnn: there is no such kind of network; there are tr"):
        kinds.find("rnn")
    checkpoint = checkpoint_of(tmp_path, {"model_type": "rnn"})
    with pytest.raises(
        ValueError, match="model_type is 'rnn', and networks are 'kibitz_policy_value', 'kibitz_q_network'"
    ):
        kinds.of_checkpoint(checkpoint)
    offer(RNN)
    assert kinds.find("rnn") is kinds.of_checkpoint(checkpoint) is kinds.of_checkpoint(checkpoint, "histories") is RNN
    with pytest.raises(ValueError, match=r"not 'kibitz_q_network'; a recurrent network is for players"):
        kinds.of_checkpoint(checkpoint, "states")


def test_a_network_that_writes_another_type_than_its_record_says_is_refused_before_it_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(kinds.BUILT_IN, "transformer", replace(kinds.find("transformer"), model_type="lstm"))
    with pytest.raises(UserError, match="its checkpoints say model_type 'kibitz_policy_value', not 'lstm'"):
        check_size(HeartsGame(), TransformerConfig(n_layer=1, n_head=2, n_embd=16))


@pytest.mark.parametrize("config", [{}, {"model_type": None}, {"model_type": ["rnn"]}])
def test_a_checkpoint_without_a_type_is_refused(tmp_path: Path, config: object) -> None:
    with pytest.raises(ValueError, match=r"config\.json: model_type is"):
        kinds.of_checkpoint(checkpoint_of(tmp_path, config))
