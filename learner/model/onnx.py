"""A network as an ONNX graph, for programs that run no torch (``python -m learner.export CHECKPOINT OUT --onnx``).

One call answers for whole histories, as ``learner.observation_model.ObservationModel`` does for prefixes it has kept.

Shape letters: ``B`` histories, ``T`` positions, ``F`` features, ``V`` tokens, ``K`` outcome labels.
"""

import json
import logging
import warnings
from pathlib import Path

import torch
from torch import nn

from games.game import Game
from learner.model.network import PolicyValueNet
from learner.model.rule_inputs import RuleInputs, about_actions

INPUTS = ("tokens", "lengths", "types", "features", "possible_tokens", "possible_outcomes")


class Answering(nn.Module):
    """The network's answer after the last token of each history."""

    def __init__(self, net: PolicyValueNet) -> None:
        super().__init__()
        self.net = net

    def forward(
        self,
        tokens: torch.Tensor,
        lengths: torch.Tensor,
        types: torch.Tensor,
        features: torch.Tensor,
        possible_tokens: torch.Tensor,
        possible_outcomes: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """``float32[B, V]`` p(token | h) and ``float32[B, K]`` p(outcome | h).

        Args:
            tokens: ``int64[B, T]``, anything behind the end of a history.
            lengths: ``int64[B]``, 1 or more.
            types: ``int64[B, T, 2]``, of each token and of the one that follows; likewise.
            features: ``uint8[B, T, F]``, after each token; likewise.
            possible_tokens: ``bool[B, V]``, that can come next.
            possible_outcomes: ``bool[B, K]``, that can still come.
        """
        arch = self.net.arch
        behind = torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None]
        tokens, types = tokens.masked_fill(behind, 0), types.masked_fill(behind[..., None], 0)  # any number looked up
        inputs = RuleInputs(types=types if arch.token_types else None, features=features if arch.num_features else None)
        hidden = self.net.hidden(tokens, inputs=inputs)
        rows = torch.arange(tokens.shape[0], device=tokens.device)
        last = hidden[rows, lengths - 1]
        choices = about_actions(features[rows, lengths - 1], arch.choices) if arch.choices else None
        logits = self.net.next_token_logits(last, inputs=RuleInputs(choices=choices))
        outcomes = self.net.outcome_logits(last)
        never = torch.finfo(torch.float32).min
        return (
            torch.softmax(logits.masked_fill(~possible_tokens, never), -1),
            torch.softmax(outcomes.masked_fill(~possible_outcomes, never), -1),
        )


def export_onnx(net: PolicyValueNet, game: Game, path: Path) -> None:
    """Write ``path``, and beside it ``PATH.json`` with what a program needs to ask it: names of tokens and types,
    points of outcomes, sizes. ``ValueError`` for a network of boards, or where the exporter is not installed."""
    if net.arch.boards:
        raise ValueError("--onnx: networks that read boards are not exported")
    try:
        import onnxscript  # noqa: F401  torch's exporter needs it
    except ImportError:
        raise ValueError("--onnx: needs onnx and onnxscript; pip install 'kibitz[onnx]'") from None
    batch, length = torch.export.Dim("batch", max=4096), torch.export.Dim("length", min=2, max=net.arch.n_positions)
    shapes = {name: {0: batch} for name in INPUTS}
    for name in ("tokens", "types", "features"):
        shapes[name] = {0: batch, 1: length}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter about itself
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            Answering(net.float()).eval(), _example(net), str(path), input_names=INPUTS,
            output_names=["next_token", "outcome"], dynamic_shapes=shapes, dynamo=True, external_data=False,
            verbose=False,
        )  # fmt: skip
    about = {
        "game": game.name,
        "options": dict(game.options),
        "rules_version": game.rules_version,
        "tokens": game.vocabulary.names,
        "types": game.token_types,
        "features": net.arch.features,
        "num_features": net.arch.num_features,
        "outcomes": game.outcomes.points.tolist(),
    }
    path.with_name(path.name + ".json").write_text(json.dumps(about), encoding="utf-8")


def _example(net: PolicyValueNet) -> tuple[torch.Tensor, ...]:
    """Two histories of five tokens."""
    arch = net.arch
    return (
        torch.zeros(2, 5, dtype=torch.int64),
        torch.tensor([5, 3]),
        torch.zeros(2, 5, 2, dtype=torch.int64),
        torch.zeros(2, 5, arch.num_features, dtype=torch.uint8),
        torch.ones(2, arch.vocab_size, dtype=torch.bool),
        torch.ones(2, arch.num_outcomes, dtype=torch.bool),
    )
