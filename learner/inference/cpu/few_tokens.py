"""The trunk for a pass of a few tokens on a CPU, as one compiled loop.

A lone search asks about one token at a time. Such a pass multiplies every weight once or a few times: it is bound by
reading the weights, and as torch operations by the calls as well. Here each weight is read once for all tokens of the
pass and nothing is called in between (docs/performance.md). From some tokens on torch's matrix products win
(``learner.inference.cpu.trunk``).

Shape letters as in ``learner.inference.packing``; ``L`` n_layer, ``E`` n_embd, ``I`` n_inner.
"""

from typing import NamedTuple

import numba
import numpy as np
import torch

from games.compiling import kernel
from learner.inference.cpu.attention import attend_one
from learner.inference.cpu.rowwise import gelu, narrow, normalise
from learner.inference.cpu.threads import num_threads
from learner.inference.cpu.vector_attention import token_scratch
from learner.inference.packing import Pass
from learner.model.network import PolicyValueNet

MOST_TOKENS = {torch.float32: 8, torch.bfloat16: 1}
"""Up to here the loop was faster than torch's products at the paper's size, on one core and on two."""


class _Weights(NamedTuple):
    """All layers stacked, float32; projections ``[L, in, out]``."""

    tokens: np.ndarray
    positions: np.ndarray
    norm_1: np.ndarray
    """``[L, 2, E]``: factors, then offsets."""
    attention_in: np.ndarray
    attention_in_bias: np.ndarray
    attention_out: np.ndarray
    attention_out_bias: np.ndarray
    norm_2: np.ndarray
    feed_forward_in: np.ndarray
    feed_forward_in_bias: np.ndarray
    feed_forward_out: np.ndarray
    feed_forward_out_bias: np.ndarray
    norm: np.ndarray
    """``[2, E]``"""


class FewTokens:
    """A trunk's weights laid out for the loop."""

    def __init__(self, net: PolicyValueNet, dtype: torch.dtype) -> None:
        """``dtype``: what the projections' weights are rounded to; the arithmetic is float32."""
        blocks, transformer = net.blocks, net.transformer

        def stacked(pick: str) -> np.ndarray:
            owner, name = pick.rsplit(".", 1)
            tensors = [getattr(block.get_submodule(owner), name).detach().cpu() for block in blocks]
            return torch.stack(tensors).to(dtype).float().contiguous().numpy()

        def norms(name: str) -> np.ndarray:
            modules = [block.get_submodule(name) for block in blocks]
            pairs = [torch.stack([module.weight, module.bias]) for module in modules]  # type: ignore[list-item]
            return torch.stack(pairs).detach().cpu().contiguous().numpy()

        self._heads, self._epsilon = net.arch.n_head, np.float32(net.arch.layer_norm_epsilon)
        self._weights = _Weights(
            tokens=transformer.wte.weight.detach().cpu().numpy(),
            positions=transformer.wpe.weight.detach().cpu().numpy(),
            norm_1=norms("ln_1"),
            attention_in=stacked("attn.c_attn.weight"),
            attention_in_bias=stacked("attn.c_attn.bias"),
            attention_out=stacked("attn.c_proj.weight"),
            attention_out_bias=stacked("attn.c_proj.bias"),
            norm_2=norms("ln_2"),
            feed_forward_in=stacked("mlp.c_fc.weight"),
            feed_forward_in_bias=stacked("mlp.c_fc.bias"),
            feed_forward_out=stacked("mlp.c_proj.weight"),
            feed_forward_out_bias=stacked("mlp.c_proj.bias"),
            norm=torch.stack([transformer.ln_f.weight, transformer.ln_f.bias]).detach().cpu().numpy(),
        )

    def hidden(self, plan: Pass, wanted: np.ndarray, cache: np.ndarray) -> np.ndarray:
        """``float32[len(wanted), E]``: hidden states behind the packed tokens ``wanted``; ``cache[slots, L, 2E]`` gains
        all of them."""
        return np.asarray(
            _forward(
                self._weights,
                plan.ids,
                plan.position,
                plan.slot,
                plan.row,
                plan.keys,
                wanted,
                cache,
                self._heads,
                self._epsilon,
                num_threads(),
            )
        )


@kernel(fastmath=True)
def _forward(weights, ids, position, slot, row, keys, wanted, cache, heads, epsilon, threads):
    count, size = len(ids), weights.tokens.shape[1]
    inner = weights.feed_forward_in.shape[2]
    stream = np.empty((count, size), np.float32)
    normed = np.empty((count, size), np.float32)
    qkv = np.empty((count, 3 * size), np.float32)
    attended = np.empty((count, size), np.float32)
    added = np.empty((count, size), np.float32)
    wide = np.empty((count, inner), np.float32)
    scratch, for_token = np.empty(inner, np.float32), token_scratch(keys.shape[1])
    for t in range(count):
        stream[t] = weights.tokens[ids[t]] + weights.positions[position[t]]
    for layer in range(len(weights.attention_in)):
        normed[:] = stream
        _normalise(normed, weights.norm_1[layer], epsilon)
        _linear(normed, weights.attention_in[layer], weights.attention_in_bias[layer], qkv, threads)
        for t in range(count):
            narrow(qkv[t, size:], cache[slot[t], layer])
        for t in range(count):
            path = keys[row[t]]
            attend_one(qkv[t], cache, layer, path, position[t], slot[t], heads, for_token, attended[t])
        _linear(attended, weights.attention_out[layer], weights.attention_out_bias[layer], added, threads)
        stream += added
        normed[:] = stream
        _normalise(normed, weights.norm_2[layer], epsilon)
        _linear(normed, weights.feed_forward_in[layer], weights.feed_forward_in_bias[layer], wide, threads)
        for t in range(count):
            gelu(wide[t], scratch)
        _linear(wide, weights.feed_forward_out[layer], weights.feed_forward_out_bias[layer], added, threads)
        stream += added
    _normalise(stream, weights.norm, epsilon)
    return stream[wanted]


@kernel
def _linear(x, weight, bias, out, threads):
    """``out = x @ weight + bias``"""
    if threads == 1:
        _columns(x, weight, bias, out, 0, weight.shape[1])
    else:
        _linear_in_parts(x, weight, bias, out, threads)


@kernel(parallel=True)
def _linear_in_parts(x, weight, bias, out, threads):
    size_out = weight.shape[1]
    for part in numba.prange(threads):
        _columns(x, weight, bias, out, size_out * part // threads, size_out * (part + 1) // threads)


@kernel(fastmath=True)
def _columns(x, weight, bias, out, first, last):
    """Columns ``first .. last - 1``; four rows of the weights at a time, each read once for all tokens."""
    size_in = len(weight)
    for t in range(len(x)):
        out[t, first:last] = bias[first:last]
    whole = size_in - size_in % 4
    for i in range(0, whole, 4):
        w0, w1 = weight[i, first:last], weight[i + 1, first:last]
        w2, w3 = weight[i + 2, first:last], weight[i + 3, first:last]
        for t in range(len(x)):
            x0, x1, x2, x3, y = x[t, i], x[t, i + 1], x[t, i + 2], x[t, i + 3], out[t, first:last]
            for j in range(len(y)):
                y[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
    for i in range(whole, size_in):
        for t in range(len(x)):
            for j in range(first, last):
                out[t, j] += x[t, i] * weight[i, j]


@kernel(fastmath=True)
def _normalise(rows, norm, epsilon):
    for t in range(len(rows)):
        normalise(rows[t], norm, epsilon)
