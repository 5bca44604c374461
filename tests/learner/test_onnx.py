"""Exported graphs answer as the networks do, run by another program."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from games.game import Game
from games.registry import make_game
from games.rng import derive_many
from learner import kinds
from learner.config import EngineConfig
from learner.export import main
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet
from learner.model.onnx import INPUTS
from learner.model.rule_inputs import Rules
from learner.observation_model import EMPTY
from search.players.histories import tokens_since
from search.roster.engines import Engines
from tests.learner.material import TINY, tiny_net

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


def inputs_of(net: PolicyValueNet, game: Game, tokens: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """The inputs of the graph for histories ``[B, T]`` of so many tokens: what other programs take from their own
    rules."""
    rules, (batch, width) = Rules(game, net.arch), tokens.shape
    after = game.prefixes(tokens)[:, 1:].reshape(-1)
    last = game.views(tokens, lengths)
    types = np.zeros((batch, width, 2), np.int64)
    before = game.next_type(game.prefixes(tokens)[:, :-1].reshape(-1)).reshape(batch, width)
    types[..., 0], types[..., 1] = before, game.next_type(after).reshape(batch, width)
    masks = net.arch.mask_tokens, net.arch.mask_outcomes
    possible = [rules.tokens_to_come(last), game.view_outcomes(last)]
    found = [mask if masked else np.ones_like(mask) for mask, masked in zip(possible, masks, strict=True)]
    features = rules.encode(after).reshape(batch, width, -1)
    return dict(zip(INPUTS, (tokens.astype(np.int64), lengths.astype(np.int64), types, features, *found), strict=True))


@pytest.mark.parametrize(
    ("name", "count"),
    [("tiny", 28), *(pytest.param(name, 350, marks=pytest.mark.slow) for name in ("hearts", "skat", "crew"))],
)
def test_a_graph_says_what_the_network_says_of_many_histories(name: str, count: int, tmp_path: Path) -> None:
    game, out, checkpoint = make_game("skat" if name == "tiny" else name), tmp_path / "net.onnx", f"kibitz:{name}"
    if name == "tiny":
        checkpoint, config = str(tmp_path / "net"), replace(TINY, n_layer=1, token_types=True, features=["all"])
        save_weights(checkpoint, tiny_net(game, config=config), game)
    assert main([checkpoint, str(out), "--onnx"]) == 0
    net = kinds.of_checkpoint(checkpoint).load(checkpoint, game)
    states, seeds = game.deal(derive_many(1, count)), derive_many(2, count)
    game.playout(states, seeds)
    tokens, whole = game.histories(states, np.arange(count) % game.num_players)
    lengths = 1 + (seeds % (whole - 2).astype(np.uint64)).astype(np.int64)
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    found = []
    for rows in np.array_split(np.arange(count), 7):
        inputs = inputs_of(net, game, tokens[rows], lengths[rows])
        behind = np.arange(tokens.shape[1]) >= lengths[rows, None]
        inputs["tokens"][behind], inputs["types"][behind], inputs["features"][behind] = 10**9, -(10**9), 255
        found.append(session.run(None, inputs))  # type: ignore[arg-type]
    policy, outcome = (np.concatenate(parts) for parts in zip(*found, strict=True))
    engine = Engines(game, EngineConfig(device="cpu", precision="fp32")).get(checkpoint)
    for rows in np.array_split(np.arange(count), 7):
        new = tokens_since(tokens[rows], np.zeros(len(rows), np.int64), lengths[rows])
        empty = np.full(len(rows), EMPTY)
        answer = engine.query(empty, *new)
        np.testing.assert_allclose(policy[rows], answer.next_token, atol=2e-5)
        np.testing.assert_allclose(outcome[rows], engine.outcomes(empty, *new), atol=2e-5)
        engine.release(answer.handles)
    about = json.loads((tmp_path / "net.onnx.json").read_text())
    assert about["game"] == game.name and tuple(about["tokens"]) == game.vocabulary.names
    assert np.shape(about["outcomes"]) == game.outcomes.points.shape


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kibitz:alphahearts", "out.onnx"], "--onnx: networks that read histories are exported"),
        (["kibitz:skat", "none/out.onnx"], "none/out.onnx: name a file in a directory that exists"),
        (["kibitz:skat", "."], ".: name a file in a directory that exists"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_line(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "--onnx"]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1 and said in error[0] and not list(tmp_path.iterdir())


def test_a_file_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_text("mine")
    assert main(["kibitz:skat", str(tmp_path / "net.onnx"), "--onnx"]) == 2
    assert "net.onnx: is there already; name a new file" in capsys.readouterr().err
    assert (tmp_path / "net.onnx").read_text() == "mine"
