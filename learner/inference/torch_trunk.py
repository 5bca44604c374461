"""The trunk in torch operations, for a GPU and for everything else that torch runs on.

Shape letters as in ``learner.inference.packing``; ``W`` = M + Z, ``J`` rows whose value is asked for, ``N`` = W or M;
``L`` n_layer, ``E`` n_embd, ``H`` heads, ``D`` = E / H, ``V`` tokens of the vocabulary. Weights, keys and values have
the type that the products are computed in; the residual stream, layer norms and heads are float32.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from learner.inference.cuda_graphs import (
    Forward,
    Graphs,
    Indices,
    Shape,
    filled_up,
    inputs_filled_up,
    lay_out,
    shape_of,
    to_device,
    to_host,
)
from learner.inference.packing import Pass
from learner.model.network import PolicyValueNet, Projection
from learner.model.rule_inputs import NO_INPUTS, RuleInputs


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
        history: bool = True,
        cache: torch.Tensor | None = None,
    ) -> None:
        """Allocates the whole cache, unless it is given that of another trunk. With ``graphs`` passes are padded to a
        few shapes, and replayed on CUDA; without ``history`` every position attends to itself alone.

        Takes ownership of ``net``, and moves its weights to the device and dtype in which they are used.
        """
        arch = net.arch
        if device.type == "cuda":  # torch's first choice on Hopper, and it makes a plan for every new shape of a pass
            torch.backends.cuda.enable_cudnn_sdp(False)
        self.device, self.dtype, self.net = device, dtype, net.to(device)
        for module in net.modules():
            if isinstance(module, Projection):
                module.to(dtype)
        self.utility, self.history = torch.from_numpy(utility).to(device), history
        self.fill_up = graphs
        self._run = self.runner(self._forward)
        self.spare = num_slots
        if cache is None:
            cache = torch.empty(arch.n_layer, num_slots + 1, 2 * arch.n_embd, dtype=dtype, device=device)
            cache[:, num_slots] = 0
        self.cache = cache
        """``[L, slots + 1, 2E]``: keys, then values."""

    def runner(self, forward: Forward) -> Forward:
        """What runs ``forward``: on CUDA replayed, with graphs."""
        return Graphs(forward) if self.fill_up and self.device.type == "cuda" else forward

    @torch.inference_mode()
    def start(
        self, plan: Pass, valued: np.ndarray, look_ahead: bool, inputs: RuleInputs = NO_INPUTS
    ) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """See ``Trunk``. Only the answer waits for the device."""
        rows, answered = len(plan.lengths), len(plan.answered)
        shape = shape_of(plan, valued, look_ahead)
        if self.fill_up:
            shape, inputs = filled_up(shape), inputs_filled_up(inputs, filled_up(shape))
        given, inputs = self._on_device(plan, valued, shape, inputs)
        arrived = to_host(self._run(shape, given, inputs))

        def answer() -> tuple[np.ndarray, np.ndarray]:
            whole = arrived()
            next_token = whole[: len(whole) - shape.valued].reshape(-1, self.net.arch.vocab_size)
            values = whole[len(whole) - shape.valued :]
            return next_token[: answered if look_ahead else rows], values[: len(valued)]

        return answer

    @torch.inference_mode()
    def outcomes(self, plan: Pass, inputs: RuleInputs = NO_INPUTS) -> np.ndarray:
        """See ``Trunk``."""
        rows = np.arange(len(plan.lengths))
        shape = shape_of(plan, rows, look_ahead=False)
        given, inputs = self._on_device(plan, rows, shape, inputs)
        logits = self.net.outcome_logits(self._hidden(shape, Indices(*given.split(shape.sizes)), inputs), inputs=inputs)
        return torch.softmax(logits, dim=-1).cpu().numpy()

    def _on_device(
        self, plan: Pass, valued: np.ndarray, shape: Shape, inputs: RuleInputs
    ) -> tuple[torch.Tensor, RuleInputs]:
        """A pass as ``lay_out`` has it, and its rule inputs."""
        given = to_device(torch.from_numpy(lay_out(plan, valued, shape, self.spare)), self.device)
        return given, RuleInputs(*(None if part is None else to_device(part, self.device) for part in inputs))

    def _forward(self, shape: Shape, given: torch.Tensor, inputs: RuleInputs) -> torch.Tensor:
        """``float32[N * V + J + Z]``: next-token distributions, then values, in one tensor for a single copy."""
        at = Indices(*given.split(shape.sizes))
        hidden_WE = self._hidden(shape, at, inputs)
        asked_NE = hidden_WE if shape.look_ahead else hidden_WE[: shape.rows]
        next_token = torch.softmax(self.net.next_token_logits(asked_NE, inputs=inputs), dim=-1)
        if not shape.valued:
            return next_token.flatten()
        outcomes = torch.softmax(self.net.outcome_logits(hidden_WE[at.valued], inputs=inputs), dim=-1)
        return torch.cat([next_token.flatten(), outcomes @ self.utility])

    def _hidden(self, shape: Shape, at: Indices, inputs: RuleInputs) -> torch.Tensor:
        """``float32[W, E]``: hidden states behind the packed tokens ``answered``."""
        size, heads = self.net.arch.n_embd, self.net.arch.n_head
        attention, last = AttentionOverSlots(shape, at, self.dtype), self.net.blocks[-1]
        x_TE = self.net.embedded(at.ids, at.position, inputs, self.dtype)
        for block, cache in zip(self.net.blocks, self.cache, strict=True):
            qkv = block.queries_keys_values(x_TE, self.dtype)
            cache.index_copy_(0, at.slot, qkv[:, size:])
            attended = attention(qkv[:, :size], cache, heads) if self.history else qkv[:, 2 * size :]
            if block is last:  # no later layer reads the other positions
                x_TE, attended = x_TE[at.answered], attended[at.answered]
            x_TE = block.after_attention(x_TE, attended, self.dtype)
        return self.net.transformer.ln_f(x_TE)  # type: ignore[no-any-return]


class AttentionOverSlots:
    """Attention of one pass over keys and values gathered for every row and queries padded to a grid.

    torch's fused attention cannot read keys and values by slot, so every layer gathers those of its rows once.
    """

    def __init__(self, shape: Shape, at: Indices, dtype: torch.dtype) -> None:
        self._shape, self._at = shape, at
        self._mask = _mask(shape, at, dtype)

    def __call__(self, query_TE: torch.Tensor, cache: torch.Tensor, heads: int) -> torch.Tensor:
        """``[T, E]``: attention output of every packed token over its row; ``cache[slots, 2E]``."""
        shape, at, size = self._shape, self._at, query_TE.shape[1]
        grid = shape.rows * shape.width
        # One more place behind the grid takes the padding tokens.
        query = query_TE.new_zeros(grid + 1, size).index_copy_(0, at.padded, query_TE)[:grid]
        query = query.view(shape.rows, shape.width, heads, -1).transpose(1, 2)
        kv = cache.index_select(0, at.keys).view(shape.rows, shape.slots, 2, heads, size // heads)
        key, value = kv.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=self._mask)
        return F.pad(attended.transpose(1, 2).reshape(grid, size), (0, 0, 0, 1))[at.padded]


def _mask(shape: Shape, at: Indices, dtype: torch.dtype) -> torch.Tensor:
    """``[M, 1, Q, S]`` to add to the scores: a token attends to the history before it, and itself."""
    place = at.start[:, None] + torch.arange(shape.width, device=at.start.device)
    before = torch.minimum(place, at.lengths[:, None])
    key = torch.arange(shape.slots, device=at.start.device)
    sees = (key < before[..., None]) | (key == place[..., None])
    mask = torch.zeros(sees.shape, dtype=dtype, device=at.start.device)
    return mask.masked_fill_(~sees, float("-inf"))[:, None]
