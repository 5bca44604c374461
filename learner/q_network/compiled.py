"""A Q-network on a CPU for the few states of one decision, in compiled loops.

torch takes microseconds to begin each product, and multiplies by all the zeros, which are most of a state's features
and half of a ReLU's output. The loops skip them (docs/performance.md).

Shape letters: ``B`` states, ``F`` numbers of a state, ``W`` width, ``V`` tokens, ``L`` layers behind the first.
"""

import numpy as np
import torch
from torch import nn

from games.compiling import kernel
from learner.q_network.network import QNet

FEW = 48
"""States up to which the loops are faster than torch's bfloat16, on one core."""


class CompiledQNet:
    """A ``QNet`` with float32 weights, evaluated on a CPU."""

    def __init__(self, net: QNet) -> None:
        """Copy them."""
        first, *plain = net.plain
        layers = [*plain, *net.around]
        self._first, self._head = _weight(first), _weight(net.head)
        self._layers, self._num_plain = np.stack([_weight(layer) for layer in layers]), len(plain)
        self._biases, self._head_bias = np.stack([_bias(layer) for layer in (first, *layers)]), _bias(net.head)

    def __call__(self, numbers: np.ndarray) -> np.ndarray:
        """``float32[B, V]`` from ``uint8[B, F]``; a row's result does not depend on the other rows."""
        answers = np.empty((len(numbers), len(self._head_bias)), np.float32)
        answers[:] = self._head_bias
        _answer(numbers, self._first, self._layers, self._biases, self._num_plain, self._head, answers)
        return answers


def _weight(layer: nn.Module) -> np.ndarray:
    """``float32[in, out]``"""
    assert isinstance(layer.weight, torch.Tensor)
    return np.ascontiguousarray(layer.weight.detach().float().numpy().T)


def _bias(layer: nn.Module) -> np.ndarray:
    assert isinstance(layer.bias, torch.Tensor)
    return layer.bias.detach().float().numpy().copy()


@kernel
def _answer(numbers, first, layers, biases, num_plain, head, answers):
    """Layer by layer, so that the weights of one stay in the processor's cache. ``answers``: given the head's bias."""
    shape = len(numbers), first.shape[1]
    stream, middle, reached = np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape, np.float32)
    _relu_layer(numbers, first, biases[0], stream)
    for layer in range(num_plain):
        _relu_layer(stream, layers[layer], biases[layer + 1], reached)
        stream, reached = reached, stream
    for layer in range(num_plain, len(layers), 2):  # a skip connection leads around two
        _relu_layer(stream, layers[layer], biases[layer + 1], middle)
        _relu_layer(middle, layers[layer + 1], biases[layer + 2], reached)
        stream += reached
    for row in range(len(stream)):
        _add_product(stream[row], head, answers[row])


@kernel
def _relu_layer(x, weight, bias, out):
    for row in range(len(x)):
        out[row] = bias
        _add_product(x[row], weight, out[row])
        for i in range(out.shape[1]):
            out[row, i] = max(out[row, i], np.float32(0.0))


@kernel(fastmath=True)
def _add_product(x, weight, out):
    """``out[W] += x[F] @ weight[F, W]``, without the rows of ``weight`` that ``x`` has zeros for."""
    used, count = np.empty(len(x), np.int32), 0
    for i in range(len(x)):  # no branch: the processor could not predict it
        used[count] = i
        count += int(x[i] != 0)
    whole = count - count % 4
    for n in range(0, whole, 4):  # four at a time: the sums are read and written a quarter as often
        a, b, c, d = used[n], used[n + 1], used[n + 2], used[n + 3]
        xa, xb, xc, xd = np.float32(x[a]), np.float32(x[b]), np.float32(x[c]), np.float32(x[d])
        wa, wb, wc, wd = weight[a], weight[b], weight[c], weight[d]
        for i in range(len(out)):
            out[i] += (xa * wa[i] + xb * wb[i]) + (xc * wc[i] + xd * wd[i])
    for n in range(whole, count):
        xa, wa = np.float32(x[used[n]]), weight[used[n]]
        for i in range(len(out)):
            out[i] += xa * wa[i]
