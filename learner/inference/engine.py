"""The query engine: one forward pass answers a batch of decisions, and nothing it has computed is computed again.

The keys and values of a token stand in a *slot* of one cache. A history is a *path* of slots, and histories that begin
alike share them, so that a search tree keeps each of its tokens once. Of every history only the tokens without a slot
are computed; candidate actions ride along as parallel leaves (``learner.inference.packing``).

Shape letters: ``M`` queries, ``L`` token positions, ``Z`` candidates, ``V`` tokens of the vocabulary. The seam is
``learner.observation_model.ObservationModel``, met structurally.
"""

from dataclasses import dataclass

import numpy as np
import torch

from learner.inference.cpu.trunk import HostTrunk
from learner.inference.packing import pack, sub_batches
from learner.inference.prefix_tree import SlotPool, first_broken_path
from learner.inference.torch_trunk import DeviceTrunk
from learner.model.network import Architecture, PolicyValueNet, device_of, dtype_of, precision_of
from learner.observation_model import Answer

MIB = 2**20


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


def slot_bytes(arch: Architecture, device: str = "cpu", precision: str = "fp32") -> int:
    """Bytes that the keys and values of one token take. A device that is named need not be here."""
    kind = device_of(device) if device == "auto" else torch.device(device)
    return 2 * arch.n_layer * arch.n_embd * dtype_of(precision_of(precision, kind)).itemsize


class QueryEngine:
    """``ObservationModel`` over a network, with keys and values cached on one device."""

    def __init__(
        self,
        net: PolicyValueNet,
        utility: np.ndarray,
        device: str = "cpu",
        precision: str = "fp32",
        max_batch: int = 1024,
        cache_mb: int = 4096,
        cuda_graphs: bool = False,
    ) -> None:
        """The engine keeps a copy of the weights.

        Args:
            net: the network, e.g. from ``learner.model.checkpoint.load_weights``.
            utility: ``float32[K]``: v(o) of every outcome label.
            device: ``auto``, ``cpu`` or ``cuda``.
            precision: ``fp32`` or ``bf16``: of the trunk's matrix products and the cache, on a CPU also of the outcome
                head's products. Layer norms, the residual stream and probabilities are float32 in both.
            max_batch: rows of one forward pass at most; larger batches take several.
            cache_mb: MiB that the keys and values may take; they take what is used.
            cuda_graphs: on a GPU, replay passes as captured graphs (``learner.inference.cuda_graphs``).
        """
        if np.shape(utility) != (net.arch.num_outcomes,):
            raise ValueError(
                f"utility has shape {np.shape(utility)}; the network predicts {net.arch.num_outcomes} outcome labels"
            )
        if max_batch < 1:
            raise ValueError(f"max_batch={max_batch}: must be at least 1")
        precision = precision_of(precision, device_of(device))
        num_slots = cache_mb * MIB // slot_bytes(net.arch, device, precision)
        if num_slots <= net.arch.n_positions:
            raise ValueError(f"engine.cache_mb={cache_mb}: holds {num_slots} tokens, less than one history")
        self.arch = net.arch
        self.stats = EngineStats()
        self._device = device_of(device)
        self._max_batch = max_batch
        self._net = PolicyValueNet(net.arch)
        self._net.load_state_dict(net.state_dict())
        self._net.requires_grad_(False).to(self._device)
        self._trunk: HostTrunk | DeviceTrunk = (
            HostTrunk(self._net, num_slots, dtype_of(precision))
            if self._device.type == "cpu"
            else DeviceTrunk(self._net, num_slots, self._device, dtype_of(precision), cuda_graphs)
        )
        self._utility = torch.tensor(utility, dtype=torch.float32, device=self._device)
        self._slots = SlotPool(num_slots)

    @property
    def slots_left(self) -> int:
        """Slots that are free."""
        return self._slots.left

    def query(
        self,
        paths: np.ndarray,
        held: np.ndarray,
        tokens: np.ndarray,
        lengths: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        """Answer for the histories ``tokens[m, :lengths[m]]``; see ``learner.observation_model.ObservationModel``.

        Raises ``ValueError`` naming the row whose path is not the beginning of its history, or that leaves no room.
        """
        held, lengths = np.asarray(held, np.int64), np.asarray(lengths, np.int64)
        count, size = len(lengths), self.arch.vocab_size
        marked = np.zeros((count, size), bool) if candidates is None else np.asarray(candidates, bool)
        judged = np.zeros(count, bool) if values is None else np.asarray(values, bool)
        self._check(paths, held, tokens, lengths, marked)
        width = lengths - np.minimum(held, lengths - 1) + marked.sum(1)
        parts = sub_batches(width, self._max_batch, similar=self._device.type != "cpu")
        if len(parts) == 1:
            return self._pass(paths, held, tokens, lengths, marked, judged, look_ahead)
        answer = _empty(count, int(marked.sum()), size, look_ahead)
        leaf_row = np.nonzero(marked)[0]
        for rows in parts:
            own = paths[rows]
            part = self._pass(own, held[rows], tokens[rows], lengths[rows], marked[rows], judged[rows], look_ahead)
            paths[rows] = own
            leaves = np.flatnonzero(np.isin(leaf_row, rows))
            for whole, piece, where in zip(answer, part, (rows, rows, leaves, leaves, leaves), strict=True):
                if len(whole):
                    whole[where] = piece
        return answer

    def free(self, slots: np.ndarray) -> None:
        """Give back slots (``int64[...]``), entries below 0 passed over; ``ValueError`` if nobody holds one."""
        self._slots.free(np.asarray(slots, np.int64).ravel())

    # ---- one forward pass

    @torch.inference_mode()
    def _pass(
        self,
        paths: np.ndarray,
        held: np.ndarray,
        tokens: np.ndarray,
        lengths: np.ndarray,
        marked: np.ndarray,
        judged: np.ndarray,
        look_ahead: bool,
    ) -> Answer:
        plan = pack(self._slots, paths, held, tokens, lengths, marked)
        self._trunk.reserve(self._slots.reached)
        count, leaves = len(lengths), len(plan.leaves)
        self.stats.passes += 1
        self.stats.rows += count
        self.stats.tokens += len(plan.ids)
        self.stats.candidates += leaves
        hidden = self._trunk.hidden(plan, np.concatenate([plan.last, plan.leaves]))
        distributions = torch.softmax(self._net.next_token_logits(hidden if look_ahead else hidden[:count]), dim=-1)
        valued = np.concatenate([np.flatnonzero(judged), np.arange(count, count + leaves)])
        values = self._trunk.values(hidden if len(valued) == len(hidden) else hidden[valued], self._utility)
        value = np.full(count, np.nan, np.float32)
        value[judged] = values[: len(values) - leaves]
        probabilities = distributions.cpu().numpy()
        return Answer(
            probabilities[:count], value, values[len(values) - leaves :], plan.slot[plan.leaves], probabilities[count:]
        )

    def _check(
        self, paths: np.ndarray, held: np.ndarray, tokens: np.ndarray, lengths: np.ndarray, marked: np.ndarray
    ) -> None:
        limit = self.arch.n_positions
        upto = min(limit, tokens.shape[1], paths.shape[1])
        if marked.shape != (len(lengths), self.arch.vocab_size):
            raise ValueError(f"candidates have shape {marked.shape}, not {(len(lengths), self.arch.vocab_size)}")
        bad = (lengths < 1) | (lengths > upto)
        if bad.any():
            raise ValueError(f"row {np.argmax(bad)}: length {lengths[bad][0]} is not in 1..{upto}")
        bad = (lengths == limit) & marked.any(1)
        if bad.any():
            raise ValueError(f"row {np.argmax(bad)}: no candidate fits behind a history of full length {limit}")
        bad = (held < 0) | (held > lengths)
        if bad.any():
            raise ValueError(f"row {np.argmax(bad)}: {held[bad][0]} tokens held of a history of {lengths[bad][0]}")
        broken = first_broken_path(paths, held, tokens, self._slots.token, self._slots.parent)
        if broken >= 0:
            raise ValueError(f"row {broken}: its path is not the beginning of its history")


def _empty(count: int, leaves: int, size: int, look_ahead: bool) -> Answer:
    return Answer(
        np.empty((count, size), np.float32),
        np.empty(count, np.float32),
        np.empty(leaves, np.float32),
        np.empty(leaves, np.int64),
        np.empty((leaves if look_ahead else 0, size), np.float32),
    )
