"""Kinds of network: found by name and by checkpoint, and what a package brings is checked."""

import json
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from games import plugins
from games.hearts.game import HeartsGame
from games.registry import make_game
from learner import kinds
from learner.config import TransformerConfig
from learner.conformance import check_kind
from learner.task import check_size
from tests.learner.material import BOARD, ON_BLOCKS, ON_BOARD, TINY
from tests.packaging.tiny_tricks.networks import FIRST_CARD, FirstCard, Regression, Shape
from tests.search.toy import ToyGame


@dataclass
class NoNetworkConfig:
    kind: str = "rnn"


RNN = replace(kinds.find("transformer"), name="rnn", title="recurrent network", model_type="rnn")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch):
    """Let a package offer something as a kind, or raise."""

    def offered(kind: object, name: str = "rnn") -> None:
        brought[name] = kind
        monkeypatch.setattr(plugins, "offered", lambda group: tuple(brought))
        monkeypatch.setattr(plugins, "load", load)

    def load(group: str, name: str) -> object:
        if isinstance(brought[name], Exception):
            raise brought[name]
        return brought[name]

    brought: dict[str, object] = {}
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
        (replace(RNN, model_type="kibitz_q_network"), "has Kibitz's own model_type 'kibitz_q_network'; rename it"),
        (ValueError("cannot be imported"), "cannot be imported"),
    ],
)
def test_a_record_that_cannot_be_right_is_refused_in_one_line(offer, kind: object, message: str) -> None:
    offer(kind)
    with pytest.raises(kinds.UnusableKindError, match=message) as error:
        kinds.find("rnn")
    assert "\n" not in str(error.value)


def test_a_kind_shares_no_name_with_a_preset_and_no_model_type_with_another(offer, tmp_path: Path) -> None:
    offer(replace(RNN, name="fc", model_type="fc"), "fc")
    with pytest.raises(ValueError, match="'fc' has the name of Kibitz's own preset model=fc; rename it"):
        kinds.find("fc")
    offer(RNN)
    offer(ValueError("broken"), "gone")
    offer(replace(RNN, name="lstm"), "lstm")
    with pytest.raises(ValueError, match="'lstm' has the model_type 'rnn', as 'rnn' has; uninstall one of their"):
        kinds.find("lstm")
    with pytest.raises(ValueError, match="'rnn' has the model_type 'rnn', as 'lstm' has; uninstall one of their"):
        kinds.of_checkpoint(checkpoint_of(tmp_path, {"model_type": "rnn"}))


def test_a_kind_that_two_packages_offer_is_refused_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    twice = [EntryPoint("rnn", value, plugins.MODELS) for value in ("a:RNN", "b:RNN")]
    monkeypatch.setattr(plugins, "_entries", lambda group: twice)
    with pytest.raises(ValueError, match=r"more than once \(a:RNN of .*, b:RNN of .*\); uninstall one of the packages"):
        kinds.find("rnn")


def test_an_input_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="'rnn': input is 'hands'; give 'histories' or 'states'"):
        replace(RNN, input="hands")


def test_a_kind_is_found_by_its_name_and_by_the_type_of_a_checkpoint(offer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model\.kind=rnn: there is no such kind of network; there are tr"):
        kinds.find("rnn")
    checkpoint = checkpoint_of(tmp_path, {"model_type": "rnn"})
    said = "model_type is 'rnn', and networks are 'kibitz_policy_value', 'kibitz_q_network'"
    with pytest.raises(ValueError, match=said):
        kinds.of_checkpoint(checkpoint)
    offer(RNN)
    assert kinds.find("rnn") is kinds.of_checkpoint(checkpoint) is RNN


def test_a_network_that_writes_another_type_than_its_record_says_is_refused_before_it_is_trained(monkeypatch):
    monkeypatch.setitem(kinds.BUILT_IN, "transformer", replace(kinds.find("transformer"), model_type="lstm"))
    with pytest.raises(UserError, match="its checkpoints say model_type 'kibitz_policy_value', not 'lstm'"):
        check_size(HeartsGame(), TransformerConfig(n_layer=1, n_head=2, n_embd=16))


@pytest.mark.parametrize("config", [{}, {"model_type": None}, {"model_type": ["rnn"]}])
def test_a_checkpoint_without_a_type_is_refused(tmp_path: Path, config: object) -> None:
    with pytest.raises(ValueError, match=r"config\.json: model_type is"):
        kinds.of_checkpoint(checkpoint_of(tmp_path, config))


class Endless(Regression):
    def losses(self, batch):
        loss, _ = super().losses(batch)
        return loss * float("nan"), {"loss": loss * float("nan")}


class Lazy(Regression):
    def losses(self, batch):
        loss, parts = super().losses(batch)
        return loss * 0, parts


class Silent:
    def __init__(self, answer):
        self.values = lambda states, seats: answer(len(states))


def leaky(*given):
    engine = kinds.find("transformer").engine(*given)
    engine.release = lambda handles: None
    return engine


@pytest.mark.parametrize(
    ("kind", "game", "config"),
    [
        (kinds.find("transformer"), HeartsGame(), TINY),
        (kinds.find("transformer"), BOARD, ON_BOARD),
        (kinds.find("transformer"), BOARD, ON_BLOCKS),
        (kinds.find("q_network"), make_game("hearts", {"pass_cards": False}), None),
        (FIRST_CARD, ToyGame(), None),
    ],
)
def test_every_kind_conforms(kind, game, config) -> None:
    check_kind(kind, game, config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "second"}, r"config\(\).kind is 'first_card'; its default must be the kind's name"),
        ({"deal_bytes": lambda game, config: 0.5}, "deal_bytes gives 0.5; it must be an int above 0"),
        ({"history_bytes": lambda arch, engine: -1}, "history_bytes gives -1"),
        ({"architecture": lambda game, config: (8,)}, r"architecture gives \(8,\), which is no dataclass"),
        ({"build": lambda arch: FirstCard(Shape(3))}, "arch is another than arch"),
        ({"build": lambda arch: 1 / 0}, "deal_bytes or history_bytes raised ZeroDivisionError: division by zero"),
        ({"initialise": lambda net, game, seed: torch.nn.init.normal_(net.points)}, "other weights with the same seed"),
        ({"model_type": "second"}, "checkpoints say model_type 'first_card', and the record 'second'"),
        ({"load": lambda checkpoint, game: FirstCard(Shape(8))}, "load takes a checkpoint of other rules"),
        ({"load": lambda checkpoint, game: FirstCard(Shape(8, 2.0))}, "load gives other weights or another arch"),
        ({"objective": Endless}, "the objective raised UserError: the loss is nan at step 1"),
        ({"objective": Lazy}, "2 steps left the weights as they were"),
        ({"engine": lambda *given: Silent(lambda rows: np.zeros((rows, 3)))}, r"values has shape \(40, 3\), not"),
        ({"engine": lambda *given: Silent(lambda rows: np.full((rows, 8), np.nan))}, "legal actions are not finite"),
        ({"engine": lambda *given: Silent(lambda rows: np.full((rows, 8), rows))}, "change with the batch"),
        ({"engine": lambda *given: None}, "the engine raised AttributeError"),
    ],
)
def test_what_a_kind_does_wrong_is_said_in_one_line(change, message) -> None:
    with pytest.raises(AssertionError, match=message) as error:
        check_kind(replace(FIRST_CARD, **change), ToyGame())
    assert "\n" not in str(error.value) and str(error.value).startswith("kind '")


def test_an_engine_that_keeps_what_was_released_is_found() -> None:
    said = "kind 'transformer': slots_left is another after all handles were released"
    with pytest.raises(AssertionError, match=said):
        check_kind(replace(kinds.find("transformer"), engine=leaky), ToyGame(), TINY)
