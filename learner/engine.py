"""The query engine: one forward pass answers a batch of decisions, keys and values stay for the next.

Of every history only the tokens its lane does not hold yet are computed (the *chunk*); the candidate actions ride
along as parallel leaves at the position behind the history, each seeing the history and itself (a tree attention
mask). Tokens of all rows are packed without padding for everything but the attention itself.

The cache has a *slot* per token. A history's token stands in the slot of its position; candidate number ``i`` of a
history of length ``n`` stands in slot ``n + i``, behind the history, where the next query overwrites it. Keeping a
candidate therefore copies one slot, and dropping the others costs nothing.

Shape letters: ``M`` queries, ``T`` packed tokens of a pass, ``Q`` longest chunk + candidates of a row, ``S`` slots
read, ``V`` tokens of the vocabulary, ``E`` n_embd, ``H`` heads, ``D`` = E / H. The seam is
``search.queries.ObservationModel``, met structurally.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from learner.trunk import Architecture, PolicyValueNet, device_of, dtype_of

_FEW_ROWS = 32


class Answer(NamedTuple):
    """What one batch of queries returns."""

    next_token: np.ndarray
    """``float32[M, V]``: p(token | h)."""
    value: np.ndarray
    """``float32[M]``: V(h), the expected utility over outcomes."""
    action_values: np.ndarray
    """``float32[M, V]``: V(h.a) of the candidates, NaN elsewhere."""


@dataclass
class EngineStats:
    """Work done since the engine was made."""

    passes: int = 0
    """Forward passes."""
    rows: int = 0
    """Queries answered."""
    tokens: int = 0
    """Tokens computed, candidates included."""
    candidates: int = 0
    """Candidates evaluated."""


def cache_bytes(arch: Architecture, num_lanes: int, precision: str = "fp32") -> int:
    """Bytes that the keys and values of ``num_lanes`` full-length lanes take."""
    return 2 * arch.n_layer * num_lanes * arch.n_positions * arch.n_embd * dtype_of(precision).itemsize


@dataclass(frozen=True)
class _Plan:
    """Where every packed token of a pass stands; all arrays on the host."""

    ids: np.ndarray
    """``int64[T]`` token ids, rows one after the other, each its chunk and then its candidates."""
    row: np.ndarray
    """``int64[T]`` row of the pass."""
    place: np.ndarray
    """``int64[T]`` slot within the lane."""
    position: np.ndarray
    """``int64[T]`` position in the history; all candidates of a row share one."""
    padded: np.ndarray
    """``int64[T]`` index into the padded ``[M, Q]`` grid of the attention."""
    last: np.ndarray
    """``int64[M]`` index of each history's last token."""
    leaves: np.ndarray
    """``int64[...]`` indices of all candidates, row by row in order of token ids."""
    start: np.ndarray
    """``int64[M]`` first slot computed."""
    width: int
    """``Q``"""
    slots: int
    """``S``"""


class QueryEngine:
    """``ObservationModel`` over a network, with keys and values cached on one device."""

    def __init__(
        self,
        net: PolicyValueNet,
        utility: np.ndarray,
        device: str = "cpu",
        precision: str = "fp32",
        max_batch: int = 1024,
    ) -> None:
        """The engine keeps a copy of the weights.

        Args:
            net: the network, e.g. from ``learner.checkpoint.load_weights``.
            utility: ``float32[K]``: v(o) of every outcome label.
            device: ``auto``, ``cpu`` or ``cuda``.
            precision: ``fp32`` or ``bf16``: of the trunk's matrix products and of the cache. Layer norms, the residual
                stream, heads and probabilities are float32 in both.
            max_batch: rows of one forward pass at most; larger batches take several.
        """
        if np.shape(utility) != (net.arch.num_outcomes,):
            raise ValueError(
                f"utility has shape {np.shape(utility)}; the network predicts {net.arch.num_outcomes} outcome labels"
            )
        if max_batch < 1:
            raise ValueError(f"max_batch={max_batch}: must be at least 1")
        self.arch = net.arch
        self.stats = EngineStats()
        self._device = device_of(device)
        self._dtype = dtype_of(precision)
        self._max_batch = max_batch
        self._net = _for_inference(net, self._device, self._dtype)
        self._utility = torch.tensor(utility, dtype=torch.float32, device=self._device)
        self.reset(0)

    def reset(self, num_lanes: int) -> None:
        """Provide ``num_lanes`` empty lanes, forgetting all there were."""
        arch = self.arch
        self._held = np.zeros(num_lanes, np.int64)
        self._tokens = np.zeros((num_lanes, arch.n_positions), np.int32)
        self._candidate_slot = np.full((num_lanes, arch.vocab_size), -1, np.int16)
        shape = (arch.n_layer, num_lanes, arch.n_positions, 2 * arch.n_embd)
        self._cache = torch.zeros(shape, dtype=self._dtype, device=self._device)

    def query(
        self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, candidates: np.ndarray | None = None
    ) -> Answer:
        """Answer for the histories ``tokens[m, :lengths[m]]``; see ``search.queries.ObservationModel``.

        Raises ``ValueError`` naming the row where a lane is unknown or twice in the batch, holds another history than
        the one asked about, or a history leaves no room.
        """
        lanes, lengths = np.asarray(lanes, np.int64), np.asarray(lengths, np.int64)
        size = len(lanes), self.arch.vocab_size
        marked = np.zeros(size, bool) if candidates is None else np.asarray(candidates, bool)
        self._check_query(lanes, tokens, lengths, marked)
        answer = Answer(np.empty(size, np.float32), np.empty(len(lanes), np.float32), np.full(size, np.nan, np.float32))
        start = np.minimum(self._held[lanes], lengths - 1)
        width = lengths - start + marked.sum(1)
        for rows in _sub_batches(width, self._max_batch):
            part = self._pass(lanes[rows], tokens[rows], lengths[rows], start[rows], marked[rows])
            for whole, piece in zip(answer, part, strict=True):
                whole[rows] = piece
        self._remember(lanes, tokens, lengths, marked)
        return answer

    @torch.inference_mode()
    def keep(self, lanes: np.ndarray, tokens: np.ndarray) -> None:
        """Append to each lane one candidate of its last query; ``ValueError`` naming lane and token if it was none."""
        lanes, tokens = np.asarray(lanes, np.int64), np.asarray(tokens, np.int64)
        slots, held = self._candidate_slot[lanes, tokens].astype(np.int64), self._held[lanes]
        if (slots < 0).any():
            bad = int(np.argmax(slots < 0))
            raise ValueError(f"lane {lanes[bad]}: token {tokens[bad]} was no candidate of its last query")
        moved = slots != held
        if moved.any():
            lane, source, target = (torch.from_numpy(a[moved]).to(self._device) for a in (lanes, slots, held))
            self._cache[:, lane, target] = self._cache[:, lane, source]
        self._tokens[lanes, held] = tokens
        self._held[lanes] += 1
        self._candidate_slot[lanes] = -1

    def truncate(self, lanes: np.ndarray, lengths: np.ndarray) -> None:
        """Shorten lanes to at most ``lengths`` tokens; candidates of their last query are gone."""
        self._held[lanes] = np.minimum(self._held[lanes], lengths)
        self._candidate_slot[lanes] = -1

    # ---- one forward pass

    @torch.inference_mode()
    def _pass(
        self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, start: np.ndarray, marked: np.ndarray
    ) -> Answer:
        plan = _plan(tokens, lengths, start, marked)
        self._reserve(plan.slots)
        self.stats.passes += 1
        self.stats.rows += len(lanes)
        self.stats.tokens += len(plan.ids)
        self.stats.candidates += len(plan.leaves)
        hidden = self._trunk(plan, lanes, lengths)
        count = len(lanes)
        logits = self._net.next_token_logits(hidden[:count])
        values = torch.softmax(self._net.outcome_logits(hidden), dim=-1) @ self._utility
        value = values.cpu().numpy()
        action_values = np.full(marked.shape, np.nan, np.float32)
        action_values[marked] = value[count:]
        return Answer(torch.softmax(logits, dim=-1).cpu().numpy(), value[:count], action_values)

    def _trunk(self, plan: _Plan, lanes: np.ndarray, lengths: np.ndarray) -> torch.Tensor:
        """``float32[M + leaves, E]``: hidden states behind each history, then behind each candidate."""
        packed = np.stack([plan.ids, plan.position, plan.row, plan.place, plan.padded])
        ids, position, row, place, padded = torch.from_numpy(packed).to(self._device).unbind(0)
        lane = torch.from_numpy(lanes).to(self._device)
        slot = lane[row] * self._cache.shape[2] + place
        wanted = torch.from_numpy(np.concatenate([plan.last, plan.leaves])).to(self._device)
        mask = self._mask(plan, lengths)
        transformer = self._net.transformer
        x = transformer.wte(ids) + transformer.wpe(position)
        last = self.arch.n_layer - 1
        for layer, block in enumerate(self._net.blocks):
            qkv = block.queries_keys_values(x, self._dtype)
            attended = self._attend(layer, qkv, lane, slot, padded, mask, plan)
            if layer == last:  # no later layer reads the other positions
                x, attended = x[wanted], attended[wanted]
            x = block.after_attention(x, attended, self._dtype)
        return transformer.ln_f(x)  # type: ignore[no-any-return]

    def _attend(
        self,
        layer: int,
        qkv: torch.Tensor,
        lane: torch.Tensor,
        slot: torch.Tensor,
        padded: torch.Tensor,
        mask: torch.Tensor,
        plan: _Plan,
    ) -> torch.Tensor:
        """``[T, E]``: write the new keys and values into the cache, then attend over each lane's first S slots."""
        n_embd, heads, rows = self.arch.n_embd, self.arch.n_head, len(lane)
        cache = self._cache[layer]
        cache.view(-1, 2 * n_embd).index_copy_(0, slot, qkv[:, n_embd:])
        kv = cache[:, : plan.slots].index_select(0, lane).view(rows, plan.slots, 2, heads, -1)
        grid = rows * plan.width
        query = qkv[:, :n_embd]
        if len(query) < grid:
            query = query.new_zeros(grid, n_embd).index_copy_(0, padded, query)
        query = query.view(rows, plan.width, heads, -1).transpose(1, 2)
        key, value = kv.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = attended.transpose(1, 2).reshape(grid, n_embd)
        return attended[padded] if len(padded) < grid else attended

    def _mask(self, plan: _Plan, lengths: np.ndarray) -> torch.Tensor:
        """``[M, 1, Q, S]`` to add to the scores: a token sees the history before it, and itself."""
        start, length = torch.from_numpy(np.stack([plan.start, lengths])).to(self._device).unbind(0)
        place = start[:, None] + torch.arange(plan.width, device=self._device)
        before = torch.minimum(place, length[:, None])
        key = torch.arange(plan.slots, device=self._device)
        sees = (key < before[..., None]) | (key == place[..., None])
        mask = torch.zeros(sees.shape, dtype=self._dtype, device=self._device)
        return mask.masked_fill_(~sees, float("-inf"))[:, None]

    def _reserve(self, slots: int) -> None:
        """Make room for more candidates than fit behind the longest history."""
        layers, lanes, have, size = self._cache.shape
        if slots > have:
            extra = self._cache.new_zeros(layers, lanes, slots - have, size)
            self._cache = torch.cat([self._cache, extra], dim=2)

    # ---- bookkeeping

    def _check_query(self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, marked: np.ndarray) -> None:
        limit, held = self.arch.n_positions, self._held
        upto = min(limit, tokens.shape[1])
        if len(lanes) and not 0 <= lanes.min() <= lanes.max() < len(held):
            raise ValueError(f"lanes {lanes.min()}..{lanes.max()} asked for; reset() provided {len(held)}")
        if len(np.unique(lanes)) < len(lanes):
            raise ValueError("a lane appears twice in one query; ask about one history per lane")
        if marked.shape != (len(lanes), self.arch.vocab_size):
            raise ValueError(f"candidates have shape {marked.shape}, not {(len(lanes), self.arch.vocab_size)}")
        bad = (lengths < 1) | (lengths > upto)
        if bad.any():
            raise ValueError(f"row {np.argmax(bad)}: length {lengths[bad][0]} is not in 1..{upto}")
        bad = (lengths == limit) & marked.any(1)
        if bad.any():
            raise ValueError(f"row {np.argmax(bad)}: no candidate fits behind a history of full length {limit}")
        differs = self._tokens[lanes, :upto] != tokens[:, :upto]
        bad = (differs & (np.arange(upto) < held[lanes, None])).any(1) | (held[lanes] > lengths)
        if bad.any():
            raise ValueError(
                f"row {np.argmax(bad)}: lane {lanes[bad][0]} holds {held[lanes][bad][0]} tokens that are not the "
                "beginning of this history; truncate the lane to the common beginning first"
            )

    def _remember(self, lanes: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, marked: np.ndarray) -> None:
        upto = min(self.arch.n_positions, tokens.shape[1])
        self._tokens[lanes, :upto] = tokens[:, :upto]
        self._held[lanes] = lengths
        slot = lengths[:, None] + np.cumsum(marked, axis=1) - 1
        self._candidate_slot[lanes] = np.where(marked, slot, -1)


def _plan(tokens: np.ndarray, lengths: np.ndarray, start: np.ndarray, marked: np.ndarray) -> _Plan:
    """Lay out a pass: each row's new tokens ``start..length`` and behind them its candidates."""
    count = len(lengths)
    chunk = lengths - start
    width = chunk + marked.sum(1)
    ends = np.cumsum(width)
    row = np.repeat(np.arange(count), width)
    offset = np.arange(int(ends[-1])) - (ends - width)[row]
    place = start[row] + offset
    leaf = offset >= chunk[row]
    ids = tokens[row, np.where(leaf, 0, place)].astype(np.int64)
    ids[leaf] = np.nonzero(marked)[1]
    longest = int(width.max())
    return _Plan(
        ids=ids,
        row=row,
        place=place,
        position=np.minimum(place, lengths[row]),
        padded=row * longest + offset,
        last=ends - width + chunk - 1,
        leaves=np.nonzero(leaf)[0],
        start=start,
        width=longest,
        slots=int((start + width).max()),
    )


def _sub_batches(width: np.ndarray, max_batch: int) -> Iterator[np.ndarray]:
    """Rows of each pass: at most ``max_batch``, of similar width, so that the attention wastes little on padding."""
    order = np.argsort(width, kind="stable")
    first = 0
    for last in range(1, len(order) + 1):
        full = last - first == max_batch
        wider = last < len(order) and last - first >= _FEW_ROWS and width[order[last]] > 2 * width[order[first]]
        if last == len(order) or full or wider:
            yield np.sort(order[first:last])
            first = last


def _for_inference(net: PolicyValueNet, device: torch.device, dtype: torch.dtype) -> PolicyValueNet:
    """A copy on the device; the trunk's projections already in the type they are used in."""
    copy = PolicyValueNet(net.arch)
    copy.load_state_dict(net.state_dict())
    copy.requires_grad_(False).to(device)
    for block in copy.blocks:
        for projection in (block.attn.c_attn, block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj):
            projection.to(dtype)
    return copy
