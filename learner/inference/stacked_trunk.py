"""A pass over rows of several networks of one shape, in torch operations, for a GPU.

Passes of few rows take a GPU as long as passes of hundreds, so the networks of a population are asked in one. Their
weights are stacked, and tokens are laid out in *tiles* of one network each, whose weights a batched product gathers
(``torch.bmm``). So the shapes of a pass do not depend on how its rows are spread over the networks.

Shape letters as in ``learner.inference.packing``; ``N`` networks, ``P`` tiles, ``T`` = P * ``TILE`` tokens, ``I`` and
``O`` sizes of a product.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.cuda_graphs import Indices, Shape, filled_up, lay_out, shape_of, to_device, to_host
from learner.inference.packing import Pass
from learner.inference.torch_trunk import AttentionOverSlots, TorchTrunk
from learner.model.rule_inputs import NO_INPUTS, RuleInputs

TILE = 128
"""Tokens of a tile. The last one of each network is filled up, and every tile copies its network's weights."""

_AT_ONCE = 32
"""Tiles whose outcomes are predicted at once: of each 2,234 labels of Hearts take a MB, and the head's weights two."""


class StackedTrunk:
    """``learner.inference.trunk.Trunk`` for several trunks with one cache, whose networks read no rule inputs."""

    def __init__(self, trunks: Sequence[TorchTrunk]) -> None:
        """Copies the weights, and keeps none of the trunks."""
        first, states = trunks[0], [trunk.net.state_dict() for trunk in trunks]
        self._arch, self._device, self._dtype = first.net.arch, first.device, first.dtype
        self._cache, self._spare, self._history, self._fill_up = first.cache, first.spare, first.history, first.fill_up
        self._weights = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        for name in self._weights:
            if name.startswith(("lm_", "val_")):  # linear layers, which have [O, I]
                self._weights[name] = self._weights[name].transpose(1, 2).contiguous()
        self._utility = torch.stack([trunk.utility for trunk in trunks])
        self._run = first.runner(self._forward)

    @torch.inference_mode()
    def start(self, plan: Pass, valued: np.ndarray, network: np.ndarray) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """See ``Trunk``; without look-ahead. ``network``, ``int64[M]``: the network of each row, those of
        one network one after the other."""
        shape, given = laid_out(plan, valued, network, self._fill_up, self._spare)
        arrived = to_host(self._run(shape, to_device(torch.from_numpy(given), self._device), NO_INPUTS))

        def answer() -> tuple[np.ndarray, np.ndarray]:
            result = arrived()
            next_token = result[: len(result) - shape.valued].reshape(-1, self._arch.vocab_size)
            return next_token[: len(network)], result[len(result) - shape.valued :][: len(valued)]

        return answer

    def _forward(self, shape: Shape, given: torch.Tensor, inputs: RuleInputs) -> torch.Tensor:
        """``float32[M * V + J + Z]``: next-token distributions, then values. All tokens are taken through the heads:
        the heads' tiles are those of the trunk."""
        *indices, tiles = given.split((*shape.sizes, shape.tokens // TILE))
        at = Indices(*indices)
        hidden_TE = self._hidden(shape, at, tiles)
        next_token = torch.softmax(self._head("lm", hidden_TE, tiles)[at.answered[: shape.rows]], dim=-1)
        if not shape.valued:
            return next_token.flatten()
        parts = zip(hidden_TE.split(_AT_ONCE * TILE), tiles.split(_AT_ONCE), strict=True)
        values_T = torch.cat([self._values(*part) for part in parts])
        return torch.cat([next_token.flatten(), values_T[at.answered[at.valued]]])

    def _hidden(self, shape: Shape, at: Indices, tiles: torch.Tensor) -> torch.Tensor:
        """``float32[T, E]``: hidden states of all tokens."""
        size, network_T = self._arch.n_embd, tiles.unsqueeze(1).expand(-1, TILE).flatten()
        attention = AttentionOverSlots(shape, at, self._dtype)
        of_ids, of_positions = self._weights["transformer.wte.weight"], self._weights["transformer.wpe.weight"]
        x_TE = of_ids[network_T, at.ids] + of_positions[network_T, at.position]
        for layer, cache in enumerate(self._cache):
            block = f"transformer.h.{layer}"
            qkv = self._product(f"{block}.attn.c_attn", self._norm(f"{block}.ln_1", x_TE, tiles), tiles)
            cache.index_copy_(0, at.slot, qkv[:, size:])
            attended = attention(qkv[:, :size], cache, self._arch.n_head) if self._history else qkv[:, 2 * size :]
            x_TE = x_TE + self._product(f"{block}.attn.c_proj", attended, tiles)
            inner = self._product(f"{block}.mlp.c_fc", self._norm(f"{block}.ln_2", x_TE, tiles), tiles)
            x_TE = x_TE + self._product(f"{block}.mlp.c_proj", F.gelu(inner, approximate="tanh"), tiles)
        return self._norm("transformer.ln_f", x_TE, tiles)

    def _product(self, name: str, x_TI: torch.Tensor, tiles: torch.Tensor) -> torch.Tensor:
        """``[T, O]``, of the weights' type."""
        weight, bias = self._weights[f"{name}.weight"][tiles], self._weights[f"{name}.bias"][tiles]
        return torch.baddbmm(bias.unsqueeze(1), x_TI.to(weight.dtype).unflatten(0, (-1, TILE)), weight).flatten(0, 1)

    def _head(self, name: str, x_TE: torch.Tensor, tiles: torch.Tensor) -> torch.Tensor:
        """``float32[T, V or K]`` logits."""
        hidden, out = self._weights[f"{name}_hidden.weight"][tiles], self._weights[f"{name}_head.weight"][tiles]
        return torch.bmm(F.gelu(torch.bmm(x_TE.unflatten(0, (-1, TILE)), hidden)), out).flatten(0, 1)

    def _values(self, x_TE: torch.Tensor, tiles: torch.Tensor) -> torch.Tensor:
        """``float32[T]``: expected utility."""
        outcomes = torch.softmax(self._head("val", x_TE, tiles), dim=-1).unflatten(0, (-1, TILE))
        return torch.bmm(outcomes, self._utility[tiles].unsqueeze(-1)).flatten()

    def _norm(self, name: str, x_TE: torch.Tensor, tiles: torch.Tensor) -> torch.Tensor:
        """``float32[T, E]``: layer norm."""
        normed = F.layer_norm(x_TE, x_TE.shape[-1:], eps=self._arch.layer_norm_epsilon).unflatten(0, (-1, TILE))
        factors, offsets = (self._weights[f"{name}.{part}"][tiles].unsqueeze(1) for part in ("weight", "bias"))
        return torch.addcmul(offsets, normed, factors).flatten(0, 1)


def laid_out(
    plan: Pass, valued: np.ndarray, network: np.ndarray, fill_up: bool, spare: int
) -> tuple[Shape, np.ndarray]:
    """The shape of a pass in tiles, with ``fill_up`` one of a few; and ``int64``: what ``lay_out`` gives, then the
    network of each tile. Arguments as those of ``StackedTrunk``."""
    tiled, tiles = _in_tiles(plan, network, spare)
    shape = shape_of(tiled, valued, look_ahead=False)
    shape = filled_up(shape) if fill_up else shape
    return shape, np.concatenate([lay_out(tiled, valued, shape, spare), np.resize(tiles, shape.tokens // TILE)])


def _in_tiles(plan: Pass, network: np.ndarray, spare: int) -> tuple[Pass, np.ndarray]:
    """The pass with each network's tokens filled up to whole tiles by tokens of the slot ``spare``, and ``int64[P]``
    the network of each tile."""
    owner = network[plan.row]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    sizes = np.diff(begins, append=len(owner))
    tiles = -(-sizes // TILE)
    place = np.arange(len(owner)) + np.repeat((np.cumsum(tiles) - tiles) * TILE - begins, sizes)

    def spread(column: np.ndarray, fill: int) -> np.ndarray:
        whole = np.full(tiles.sum() * TILE, fill)
        whole[place] = column
        return whole

    return replace(
        plan,
        ids=spread(plan.ids, 0),
        position=spread(plan.position, 0),
        slot=spread(plan.slot, spare),
        row=spread(plan.row, len(plan.lengths)),  # behind the grid, or a row that fills it up
        column=spread(plan.column, 0),
        answered=place[plan.answered],
    ), np.repeat(owner[begins], tiles)
