"""The trunk on a CPU: torch's matrix products, and compiled loops for what stands between them.

A layer is four products and three loops, and large passes go block by block, so that activations stay in the
processor's cache (docs/performance.md).

Shape letters as in ``learner.inference.packing``; ``L`` n_layer, ``E`` n_embd. The residual stream, layer norms and the
attention's sums are float32 whatever the type of products and cache.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.cpu.attention import attend
from learner.inference.cpu.products import Product, rows_for
from learner.inference.cpu.rowwise import add_and_normalise, embed, expectations
from learner.inference.packing import Pass
from learner.model.feature_sums import feature_sums
from learner.model.network import Block, PolicyValueNet
from learner.model.rule_inputs import NO_INPUTS, RuleInputs
from learner.model.threads import bounds_of

_BLOCK = 512
"""Tokens that go through all layers together, unless one row has more."""


class _Layer:
    """The weights of one layer as products and loops take them."""

    def __init__(self, block: Block, dtype: torch.dtype) -> None:
        attention, feed_forward = block.attn, block.mlp
        self.norm_1, self.norm_2 = _norm(block.ln_1), _norm(block.ln_2)
        self.attention_in = Product(attention.c_attn.weight, attention.c_attn.bias, dtype)
        self.attention_out = Product(attention.c_proj.weight, attention.c_proj.bias, dtype)
        self.feed_forward_in = Product(feed_forward.c_fc.weight, feed_forward.c_fc.bias, dtype, gelu="tanh")
        self.feed_forward_out = Product(feed_forward.c_proj.weight, feed_forward.c_proj.bias, dtype)


class CpuTrunk:
    """``learner.inference.trunk.Trunk`` on a CPU."""

    def __init__(
        self,
        net: PolicyValueNet,
        utility: np.ndarray,
        num_slots: int,
        dtype: torch.dtype,
        history: bool = True,
        cache: np.ndarray | None = None,
    ) -> None:
        """``history``: False for attention of every position to itself alone; ``cache``: that of another trunk, to
        share."""
        transformer, arch = net.transformer, net.arch
        self._history = history
        self._net, self._utility, self._dtype = net, utility, dtype
        self._heads, self._epsilon = arch.n_head, np.float32(arch.layer_norm_epsilon)
        self._layers = [_Layer(block, dtype) for block in net.blocks]
        self._norm = _norm(transformer.ln_f)
        types = net.type_embeddings.weight if arch.token_types else torch.empty(0, arch.n_embd)
        tables = (transformer.wte.weight, transformer.wpe.weight, types)
        self._embeddings = [table.detach().numpy() for table in tables]
        if arch.num_features and not arch.boards:
            self._features = net.feature_embeddings.weight.to(dtype).float()
        self._outcome_hidden = Product(net.val_hidden.weight.t(), torch.zeros(arch.n_embd), dtype, gelu="none")
        self._outcomes = Product(net.val_head.weight.t(), torch.zeros(arch.num_outcomes), dtype)
        # Memory that no slot has been written to costs nothing. numpy asks for large pages, torch does not.
        kind = np.uint16 if dtype == torch.bfloat16 else np.float32
        self.cache = np.empty((num_slots, arch.n_layer, 2 * arch.n_embd), kind) if cache is None else cache
        """``[slots, L, 2E]``: keys, then values."""

    @torch.inference_mode()
    def start(
        self, plan: Pass, valued: np.ndarray, look_ahead: bool, inputs: RuleInputs = NO_INPUTS
    ) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """See ``Trunk``; runs the pass."""
        hidden = torch.from_numpy(self._hidden(plan, inputs))
        asked = hidden if look_ahead else hidden[: len(plan.lengths)]
        next_token = torch.softmax(self._net.next_token_logits(asked, inputs=inputs), dim=-1).numpy()
        values = self._values(hidden if len(valued) == len(hidden) else hidden[valued], inputs.outcomes)
        return lambda: (next_token, values)

    @torch.inference_mode()
    def outcomes(self, plan: Pass, inputs: RuleInputs = NO_INPUTS) -> np.ndarray:
        """See ``Trunk``."""
        logits = self._outcome_logits(torch.from_numpy(self._hidden(plan, inputs))).float()
        if inputs.outcomes is not None:
            logits = logits.masked_fill(~inputs.outcomes, -torch.inf)
        return torch.softmax(logits, dim=-1).numpy()

    def _hidden(self, plan: Pass, inputs: RuleInputs) -> np.ndarray:
        """``float32[M + Z, E]``: hidden states behind the packed tokens that something is asked about."""
        wanted = plan.answered
        hidden = np.empty((len(wanted), self._norm.shape[1]), np.float32)
        for part in _blocks(plan.row):
            inside = np.flatnonzero((wanted >= part.start) & (wanted < part.stop))
            hidden[inside] = self._block(plan, part, wanted[inside] - part.start, inputs)
        return hidden

    def _values(self, hidden: torch.Tensor, possible: torch.Tensor | None) -> np.ndarray:
        """``float32[N]``: expected utility of hidden states ``[N, E]``, a block at a time."""
        if len(hidden) == 0:
            return np.zeros(0, np.float32)
        values = []
        for first in range(0, len(hidden), _BLOCK // 2):
            block = hidden[first : first + _BLOCK // 2]
            counted = None if possible is None else possible[first : first + len(block)].numpy()
            values.append(expectations(_bits(self._outcome_logits(block)), self._utility, counted))
        return np.concatenate(values)

    def _outcome_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """``[N, K]``, of hidden states ``[N, E]``; without a mask."""
        more = rows_for(len(hidden), self._dtype) - len(hidden)
        filled = F.pad(hidden.to(self._dtype), (0, 0, 0, more))
        return self._outcomes(self._outcome_hidden(filled))[: len(hidden)]

    def _block(self, plan: Pass, part: slice, wanted: np.ndarray, inputs: RuleInputs) -> np.ndarray:
        """Hidden states of ``wanted`` among the packed tokens ``part``."""
        row, position, slot = plan.row[part], plan.position[part], plan.slot[part]
        rows, bounds = bounds_of(len(row), _row_ends(row)), bounds_of(len(row))
        stream, added = self._embedded(plan, part, inputs)
        for index, layer in enumerate(self._layers):
            qkv = layer.attention_in(self._normed(stream, added, layer.norm_1, bounds))
            if self._history:
                attended = attend(_bits(qkv), self.cache, index, plan.keys, row, position, slot, self._heads, rows)
            else:
                attended = np.ascontiguousarray(_bits(qkv)[:, 2 * stream.shape[1] :])
            if index == len(self._layers) - 1 and len(wanted) < len(stream):  # no later layer reads the others
                attended = attended[np.resize(wanted, rows_for(len(wanted), self._dtype))]  # repeated to fill up
                stream, wanted, bounds = stream[wanted], np.arange(len(wanted)), bounds_of(len(wanted))
            added = layer.attention_out(self._tensor(attended))
            added = layer.feed_forward_out(layer.feed_forward_in(self._normed(stream, added, layer.norm_2, bounds)))
        hidden = np.empty_like(stream)
        add_and_normalise(stream, _bits(added)[: len(stream)], self._norm, self._epsilon, hidden, bounds)
        return hidden[wanted]

    def _embedded(self, plan: Pass, part: slice, inputs: RuleInputs) -> tuple[np.ndarray, torch.Tensor]:
        """What the first layer is given of the packed tokens ``part``: ``float32[T, E]``, and what is to be added."""
        types = np.empty((0, 2), np.int64) if inputs.types is None else inputs.types[part].numpy()
        stream = embed(plan.ids[part], plan.position[part], types, *self._embeddings)
        if inputs.features is None:
            return stream, torch.zeros(stream.shape, dtype=self._dtype)
        if self._net.arch.boards:
            return stream, self._net.board(inputs.features[part], self._dtype).to(self._dtype)
        return stream, feature_sums(inputs.features[part], self._features).to(self._dtype)

    def _normed(self, stream: np.ndarray, added: torch.Tensor, norm: np.ndarray, bounds: np.ndarray) -> torch.Tensor:
        """Add to the residual stream, and ``[T, E]`` the layer norm of the sum."""
        count = len(stream)
        normed = np.empty((rows_for(count, self._dtype), stream.shape[1]), self.cache.dtype)
        normed[count:] = 0
        add_and_normalise(stream, _bits(added)[:count], norm, self._epsilon, normed[:count], bounds)
        return self._tensor(normed)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        """What the loops made, as torch sees it."""
        tensor = torch.from_numpy(array)
        return tensor if self._dtype == torch.float32 else tensor.view(self._dtype)


def _bits(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory as the loops take it: bfloat16 as its bits."""
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _row_ends(row: np.ndarray) -> np.ndarray:
    """``int64[M]``: one behind the last packed token of every row."""
    return np.flatnonzero(np.diff(row, append=-1)) + 1


def _blocks(row: np.ndarray) -> Iterator[slice]:
    """Packed tokens cut between rows."""
    ends, first = _row_ends(row), 0
    while first < len(row):
        fitting = np.searchsorted(ends, first + _BLOCK, side="right") - 1
        last = int(ends[max(fitting, np.searchsorted(ends, first, side="right"))])
        yield slice(first, last)
        first = last


def _norm(module: torch.nn.LayerNorm) -> np.ndarray:
    """``float32[2, E]``: factors, then offsets."""
    return torch.stack([module.weight, module.bias]).detach().numpy()
