"""The trunk on a GPU: torch operations over weights, keys and values in the type the products are computed in.

Shape letters as in ``learner.inference.packing``; ``L`` n_layer, ``E`` n_embd, ``H`` heads, ``D`` = E / H. The
residual stream,
layer norms and heads are float32 whatever that type is. It runs on a CPU too, where ``learner.inference.cpu.trunk`` is
faster. With ``graphs`` passes have one of a few shapes and are replayed (``learner.inference.cuda_graphs``).
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.cuda_graphs import Graphs, Indices, Shape, lay_out, shape_of, split
from learner.inference.packing import Pass
from learner.model.network import Block, PolicyValueNet, Projection

_FIRST_SLOTS = 16384
"""Slots that the cache begins with."""


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


class DeviceTrunk:
    """A copy of a network's trunk and a cache of keys and values with a row per slot, and one to spare."""

    def __init__(
        self, net: PolicyValueNet, num_slots: int, device: torch.device, dtype: torch.dtype, graphs: bool = False
    ) -> None:
        arch = net.arch
        self._heads, self._size, self._epsilon = arch.n_head, arch.n_embd, arch.layer_norm_epsilon
        self._device, self._dtype = device, dtype
        self._layers = [_layer(block, device, dtype) for block in net.blocks]
        transformer = net.transformer
        self._tokens = transformer.wte.weight.detach().to(device)
        self._positions = transformer.wpe.weight.detach().to(device)
        self._norm = _norm(transformer.ln_f, device)
        self._net = net
        self._limit = num_slots
        shape = (min(num_slots, _FIRST_SLOTS) + 1, arch.n_layer, 2 * arch.n_embd)
        self.cache = torch.zeros(shape, dtype=dtype, device=device)
        self._graphs = Graphs(self._forward, device) if graphs else None

    def reserve(self, num_slots: int) -> None:
        """Have room for slots ``0 .. num_slots - 1``, at most as many as there may ever be."""
        have, layers, size = len(self.cache) - 1, *self.cache.shape[1:]
        if num_slots > have:
            more = min(self._limit, max(2 * have, num_slots)) - have
            self.cache = torch.cat([self.cache, self.cache.new_zeros(more, layers, size)])
            if self._graphs is not None:
                self._graphs.forget()

    def hidden(self, plan: Pass, wanted: np.ndarray) -> torch.Tensor:
        """``float32[len(wanted), E]``: hidden states behind the packed tokens ``wanted``, good until the next call; the
        cache gains all."""
        spare = len(self.cache) - 1
        if self._graphs is not None:
            return self._graphs(plan, wanted, spare)
        shape = shape_of(plan, wanted)
        flat = torch.from_numpy(lay_out(plan, wanted, shape, spare)).to(self._device)
        return self._forward(shape, split(flat, shape))

    def _forward(self, shape: Shape, at: Indices) -> torch.Tensor:
        """``float32[W, E]``"""
        attention = _Attention(shape, at, self._dtype)
        x_TE = self._tokens[at.ids] + self._positions[at.position]
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            qkv = torch.addmm(layer.attention_in[0], self._normed(x_TE, layer.norm_1), layer.attention_in[1])
            cache = self.cache[:, index]
            cache.index_copy_(0, at.slot, qkv[:, self._size :].to(cache.dtype))
            attended = attention(qkv[:, : self._size], cache, self._heads).to(self._dtype)
            if index == last:  # no later layer reads the other positions
                x_TE, attended = x_TE[at.wanted], attended[at.wanted]
            x_TE = x_TE + torch.addmm(layer.attention_out[0], attended, layer.attention_out[1])
            inner = torch.addmm(layer.feed_forward_in[0], self._normed(x_TE, layer.norm_2), layer.feed_forward_in[1])
            inner = F.gelu(inner, approximate="tanh")
            x_TE = x_TE + torch.addmm(layer.feed_forward_out[0], inner, layer.feed_forward_out[1])
        return F.layer_norm(x_TE, (self._size,), *self._norm, self._epsilon)

    def _normed(self, x_TE: torch.Tensor, norm: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return F.layer_norm(x_TE, (self._size,), *norm, self._epsilon).to(self._dtype)

    def values(self, hidden: torch.Tensor, utility: torch.Tensor) -> np.ndarray:
        """``float32[N]``: expected utility of hidden states ``[N, E]``."""
        outcomes = torch.softmax(self._net.outcome_logits(hidden), dim=-1)
        return np.asarray((outcomes @ utility).cpu().numpy())


class _Attention:
    """Attention of one pass over keys and values gathered for every row and queries padded to a grid."""

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
