"""The trunk in torch operations, for a GPU and for everything else that torch runs on.

Shape letters as in ``learner.inference.packing``; ``W`` = M + Z, ``J`` rows whose value is asked for, ``N`` = W or M;
``L`` n_layer, ``E`` n_embd, ``H`` heads, ``D`` = E / H, ``V`` tokens of the vocabulary. Weights, keys and values have
the type that the products are computed in; the residual stream, layer norms and heads are float32.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.cuda_graphs import Graphs, Indices, Shape, filled_up, lay_out, shape_of, split, to_device
from learner.inference.packing import Pass
from learner.model.network import Block, PolicyValueNet, Projection


class _Layer(NamedTuple):
    norm_1: tuple[torch.Tensor, torch.Tensor]
    attention_in: tuple[torch.Tensor, torch.Tensor]
    attention_out: tuple[torch.Tensor, torch.Tensor]
    norm_2: tuple[torch.Tensor, torch.Tensor]
    feed_forward_in: tuple[torch.Tensor, torch.Tensor]
    feed_forward_out: tuple[torch.Tensor, torch.Tensor]


def _layer(block: Block, device: torch.device, dtype: torch.dtype) -> _Layer:
    def projection(module: Projection) -> tuple[torch.Tensor, torch.Tensor]:
        return module.bias.detach().to(device, dtype), module.weight.detach().to(device, dtype)

    return _Layer(
        _norm(block.ln_1, device),
        projection(block.attn.c_attn),
        projection(block.attn.c_proj),
        _norm(block.ln_2, device),
        projection(block.mlp.c_fc),
        projection(block.mlp.c_proj),
    )


def _norm(module: torch.nn.LayerNorm, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    return module.weight.detach().to(device), module.bias.detach().to(device)


class TorchTrunk:
    """``learner.inference.trunk.Trunk`` on any device, with one slot to spare."""

    def __init__(
        self,
        net: PolicyValueNet,
        utility: np.ndarray,
        num_slots: int,
        device: torch.device,
        dtype: torch.dtype,
        graphs: bool = False,
    ) -> None:
        """Allocates the whole cache. With ``graphs`` passes are filled up to a few shapes, and replayed on CUDA."""
        arch, transformer = net.arch, net.transformer
        self._heads, self._size, self._epsilon = arch.n_head, arch.n_embd, arch.layer_norm_epsilon
        self._device, self._dtype, self._net = device, dtype, net
        self._layers = [_layer(block, device, dtype) for block in net.blocks]
        self._tokens = transformer.wte.weight.detach().to(device)
        self._positions = transformer.wpe.weight.detach().to(device)
        self._norm = _norm(transformer.ln_f, device)
        self._utility = torch.from_numpy(utility).to(device)
        self._fill_up = graphs
        self._graphs = Graphs(self._forward) if graphs and device.type == "cuda" else None
        self._spare = num_slots
        self.cache = torch.empty(arch.n_layer, num_slots + 1, 2 * arch.n_embd, dtype=dtype, device=device)
        """``[L, slots + 1, 2E]``: keys, then values."""
        self.cache[:, self._spare] = 0

    @torch.inference_mode()
    def __call__(self, plan: Pass, judged: np.ndarray, look_ahead: bool) -> tuple[np.ndarray, np.ndarray]:
        """See ``Trunk``. Only the copy of the answer waits for the device."""
        rows, answered = len(plan.last), len(plan.answered)
        valued = np.concatenate([np.flatnonzero(judged), np.arange(rows, answered)])
        shape = shape_of(plan, valued, look_ahead)
        if self._fill_up:
            shape = filled_up(shape)
        given = to_device(lay_out(plan, valued, shape, self._spare), self._device)
        result = self._forward(shape, split(given, shape)) if self._graphs is None else self._graphs(shape, given)
        whole = result.cpu().numpy()
        next_token = whole[: len(whole) - shape.valued].reshape(-1, self._net.arch.vocab_size)
        values = whole[len(whole) - shape.valued :]
        return next_token[: answered if look_ahead else rows], values[: len(valued)]

    def _forward(self, shape: Shape, at: Indices) -> torch.Tensor:
        """``float32[N * V + J + Z]``: next-token distributions, then values, together so that one copy brings both."""
        hidden_WE = self._hidden(shape, at)
        asked_NE = hidden_WE if shape.look_ahead else hidden_WE[: shape.rows]
        next_token = torch.softmax(self._net.next_token_logits(asked_NE), dim=-1)
        outcomes = torch.softmax(self._net.outcome_logits(hidden_WE[at.valued]), dim=-1)
        return torch.cat([next_token.flatten(), outcomes @ self._utility])

    def _hidden(self, shape: Shape, at: Indices) -> torch.Tensor:
        """``float32[W, E]``: hidden states behind the packed tokens ``answered``."""
        attention = _Attention(shape, at, self._dtype)
        x_TE = self._tokens[at.ids] + self._positions[at.position]
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            qkv = torch.addmm(layer.attention_in[0], self._normed(x_TE, layer.norm_1), layer.attention_in[1])
            cache = self.cache[index]
            cache.index_copy_(0, at.slot, qkv[:, self._size :])
            attended = attention(qkv[:, : self._size], cache, self._heads)
            if index == last:  # no later layer reads the other positions
                x_TE, attended = x_TE[at.answered], attended[at.answered]
            x_TE = x_TE + torch.addmm(layer.attention_out[0], attended, layer.attention_out[1])
            inner = torch.addmm(layer.feed_forward_in[0], self._normed(x_TE, layer.norm_2), layer.feed_forward_in[1])
            inner = F.gelu(inner, approximate="tanh")
            x_TE = x_TE + torch.addmm(layer.feed_forward_out[0], inner, layer.feed_forward_out[1])
        return F.layer_norm(x_TE, (self._size,), *self._norm, self._epsilon)

    def _normed(self, x_TE: torch.Tensor, norm: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return F.layer_norm(x_TE, (self._size,), *norm, self._epsilon).to(self._dtype)


class _Attention:
    """Attention of one pass over keys and values gathered for every row and queries padded to a grid.

    torch's fused attention cannot read keys and values by slot, so every layer gathers those of its rows once.
    """

    def __init__(self, shape: Shape, at: Indices, dtype: torch.dtype) -> None:
        self._shape, self._at = shape, at
        self._mask = _mask(shape, at, dtype) if shape.masked else None

    def __call__(self, query_TE: torch.Tensor, cache: torch.Tensor, heads: int) -> torch.Tensor:
        """``[T, E]``: what every packed token takes from its row; ``cache[slots, 2E]``."""
        shape, at, size = self._shape, self._at, query_TE.shape[1]
        grid = shape.rows * shape.width
        if shape.ragged:  # behind the grid there is a place for tokens that only fill up
            query_TE = query_TE.new_zeros(grid + 1, size).index_copy_(0, at.padded, query_TE)[:grid]
        query = query_TE.view(shape.rows, shape.width, heads, -1).transpose(1, 2)
        kv = cache.index_select(0, at.keys).view(shape.rows, shape.slots, 2, heads, size // heads)
        key, value = kv.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=self._mask)
        attended = attended.transpose(1, 2).reshape(grid, size)
        return F.pad(attended, (0, 0, 0, 1))[at.padded] if shape.ragged else attended


def _mask(shape: Shape, at: Indices, dtype: torch.dtype) -> torch.Tensor:
    """``[M, 1, Q, S]`` to add to the scores: a token sees the history before it, and itself."""
    place = at.start[:, None] + torch.arange(shape.width, device=at.start.device)
    before = torch.minimum(place, at.lengths[:, None])
    key = torch.arange(shape.slots, device=at.start.device)
    sees = (key < before[..., None]) | (key == place[..., None])
    mask = torch.zeros(sees.shape, dtype=dtype, device=at.start.device)
    return mask.masked_fill_(~sees, float("-inf"))[:, None]
