"""The trunk for a pass of a few tokens on a CPU, as one compiled loop.

A lone search asks about one token at a time. Such a pass multiplies every weight once or a few times: it is bound by
reading the weights, and as torch operations by the calls as well. Here each weight is read once for all tokens of the
pass and nothing is called in between; on one core that halves the time and more (docs/performance.md). From some tokens
on torch's matrix products win (``learner.inference``).

Shape letters as in ``learner.packing``; ``L`` n_layer, ``E`` n_embd, ``I`` n_inner.
"""

from typing import NamedTuple

import numpy as np
import torch

from games.compiling import kernel
from learner.attention import attend_one, exponentials
from learner.packing import Pass
from learner.trunk import PolicyValueNet

MOST_TOKENS = 8
"""Up to here the loop was faster than torch at the paper's size, each on one core."""


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
        """``float32[len(wanted), E]``: hidden states behind the packed tokens ``wanted``; ``cache[L, slots, 2E]`` gains
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
            )
        )


@kernel(fastmath=True)
def _forward(weights, ids, position, slot, row, keys, wanted, cache, heads, epsilon):
    count, size = len(ids), weights.tokens.shape[1]
    inner = weights.feed_forward_in.shape[2]
    stream = np.empty((count, size), np.float32)
    normed = np.empty((count, size), np.float32)
    qkv = np.empty((count, 3 * size), np.float32)
    attended = np.empty((count, size), np.float32)
    added = np.empty((count, size), np.float32)
    wide = np.empty((count, inner), np.float32)
    longest = max(keys.shape[1] + 1, inner)
    score, power = np.empty(longest, np.float32), np.empty(longest, np.int32)
    for t in range(count):
        stream[t] = weights.tokens[ids[t]] + weights.positions[position[t]]
    for layer in range(len(weights.attention_in)):
        held = cache[layer]
        _normalise(stream, weights.norm_1[layer], epsilon, normed)
        _linear(normed, weights.attention_in[layer], weights.attention_in_bias[layer], qkv)
        for t in range(count):
            held[slot[t]] = qkv[t, size:]
        for t in range(count):
            path = keys[row[t]]
            attend_one(qkv[t], held, path, position[t], slot[t], heads, score, power, attended[t])
        _linear(attended, weights.attention_out[layer], weights.attention_out_bias[layer], added)
        stream += added
        _normalise(stream, weights.norm_2[layer], epsilon, normed)
        _linear(normed, weights.feed_forward_in[layer], weights.feed_forward_in_bias[layer], wide)
        for t in range(count):
            _gelu(wide[t], score, power)
        _linear(wide, weights.feed_forward_out[layer], weights.feed_forward_out_bias[layer], added)
        stream += added
    _normalise(stream, weights.norm, epsilon, normed)
    return normed[wanted]


@kernel(fastmath=True)
def _linear(x, weight, bias, out):
    """``out = x @ weight + bias``; four rows of the weights at a time, each read once for all tokens."""
    size_in, size_out = weight.shape
    for t in range(len(x)):
        out[t] = bias
    whole = size_in - size_in % 4
    for i in range(0, whole, 4):
        w0, w1, w2, w3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        for t in range(len(x)):
            x0, x1, x2, x3, y = x[t, i], x[t, i + 1], x[t, i + 2], x[t, i + 3], out[t]
            for j in range(size_out):
                y[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
    for i in range(whole, size_in):
        for t in range(len(x)):
            for j in range(size_out):
                out[t, j] += x[t, i] * weight[i, j]


@kernel(fastmath=True)
def _normalise(x, norm, epsilon, out):
    """Layer norm of every row."""
    size = x.shape[1]
    for t in range(len(x)):
        mean, variance = np.float32(0.0), np.float32(0.0)
        for e in range(size):
            mean += x[t, e]
        mean /= np.float32(size)
        for e in range(size):
            variance += (x[t, e] - mean) * (x[t, e] - mean)
        factor = np.float32(1.0) / np.sqrt(variance / np.float32(size) + epsilon)
        for e in range(size):
            out[t, e] = (x[t, e] - mean) * factor * norm[0, e] + norm[1, e]


@kernel(fastmath=True)
def _gelu(x, scratch, power):
    """GELU in its tanh form, in place: x / (1 + exp(-2 z)), z = sqrt(2 / pi) (x + 0.044715 x^3)."""
    for i in range(len(x)):
        z = np.float32(-1.5957691216057308) * (x[i] + np.float32(0.044715) * x[i] * x[i] * x[i])
        scratch[i] = min(max(z, np.float32(-80.0)), np.float32(80.0))
    exponentials(scratch, power, len(x))
    for i in range(len(x)):
        x[i] /= np.float32(1.0) + scratch[i]
