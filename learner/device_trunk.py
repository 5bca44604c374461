"""The trunk on a GPU: torch operations over weights, keys and values in the type the products are computed in.

Shape letters as in ``learner.packing``; ``L`` n_layer, ``E`` n_embd, ``H`` heads, ``D`` = E / H. The residual stream,
layer norms and heads are float32 whatever that type is. It runs on a CPU too, where ``learner.host_trunk`` is faster.
"""

from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from learner.packing import Pass
from learner.trunk import Block, PolicyValueNet, Projection

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
    """A copy of a network's trunk and a cache of keys and values with a row per slot."""

    def __init__(self, net: PolicyValueNet, num_slots: int, device: torch.device, dtype: torch.dtype) -> None:
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
        shape = (min(num_slots, _FIRST_SLOTS), arch.n_layer, 2 * arch.n_embd)
        self.cache = torch.empty(shape, dtype=dtype, device=device)

    def reserve(self, num_slots: int) -> None:
        """Have room for slots ``0 .. num_slots - 1``, at most as many as there may ever be."""
        have, layers, size = self.cache.shape
        if num_slots > have:
            more = min(self._limit, max(2 * have, num_slots)) - have
            self.cache = torch.cat([self.cache, self.cache.new_empty(more, layers, size)])

    def hidden(self, plan: Pass, wanted: np.ndarray) -> torch.Tensor:
        """``float32[len(wanted), E]``: hidden states behind the packed tokens ``wanted``; the cache gains all."""
        ids, position, slot, there = (
            torch.from_numpy(array).to(self._device) for array in (plan.ids, plan.position, plan.slot, wanted)
        )
        attention = _Attention(plan, self._device, self._dtype)
        x_TE = self._tokens[ids] + self._positions[position]
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            qkv = torch.addmm(layer.attention_in[0], self._normed(x_TE, layer.norm_1), layer.attention_in[1])
            cache = self.cache[:, index]
            cache.index_copy_(0, slot, qkv[:, self._size :].to(cache.dtype))
            attended = attention(qkv[:, : self._size], cache, self._heads).to(self._dtype)
            if index == last:  # no later layer reads the other positions
                x_TE, attended = x_TE[there], attended[there]
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

    def __init__(self, plan: Pass, device: torch.device, dtype: torch.dtype) -> None:
        self._rows, self._width, self._slots = len(plan.last), plan.width, plan.keys.shape[1]
        self._padded = torch.from_numpy(plan.padded).to(device)
        self._keys = torch.from_numpy(plan.keys.ravel()).to(device)
        self._mask = self._make_mask(plan, device, dtype)

    def __call__(self, query_TE: torch.Tensor, cache: torch.Tensor, heads: int) -> torch.Tensor:
        """``[T, E]``: what every packed token takes from its row; ``cache[slots, 2E]``."""
        grid, size = self._rows * self._width, query_TE.shape[1]
        ragged = len(query_TE) < grid
        if ragged:
            query_TE = query_TE.new_zeros(grid, size).index_copy_(0, self._padded, query_TE)
        query = query_TE.view(self._rows, self._width, heads, -1).transpose(1, 2)
        kv = cache.index_select(0, self._keys).view(self._rows, self._slots, 2, heads, size // heads)
        key, value = kv.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=self._mask)
        attended = attended.transpose(1, 2).reshape(grid, size)
        return attended[self._padded] if ragged else attended

    def _make_mask(self, plan: Pass, device: torch.device, dtype: torch.dtype) -> torch.Tensor | None:
        """``[M, 1, Q, S]`` to add to the scores: a token sees the history before it, and itself."""
        if plan.width == 1 and bool((plan.start == self._slots - 1).all()):
            return None  # every row is one token that sees all of its keys
        start, length = (torch.from_numpy(array).to(device) for array in (plan.start, plan.lengths))
        place = start[:, None] + torch.arange(plan.width, device=device)
        before = torch.minimum(place, length[:, None])
        key = torch.arange(self._slots, device=device)
        sees = (key < before[..., None]) | (key == place[..., None])
        mask = torch.zeros(sees.shape, dtype=dtype, device=device)
        return mask.masked_fill_(~sees, float("-inf"))[:, None]
