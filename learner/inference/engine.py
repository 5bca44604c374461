"""The query engine: one forward pass answers a batch of decisions, and computes no token twice.

``learner.inference.prefix_tree`` maps histories to KV slots, ``learner.inference.packing`` lays out the tokens without
a slot, and a trunk (``learner.inference.trunk``) runs the pass.

Shape letters: ``M`` queries, ``T`` new tokens, ``Z`` candidates, ``V`` tokens of the vocabulary. The engine implements
the protocol ``learner.observation_model.ObservationModel``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from games.game import Game
from learner.config import EngineConfig
from learner.inference.packing import pack
from learner.inference.prefix_tree import PrefixTree
from learner.inference.slot_views import SlotViews
from learner.inference.trunk import make_trunk
from learner.model.architecture import Architecture
from learner.model.checkpoint import load_weights
from learner.model.network import PolicyValueNet, device_of, dtype_of, precision_of
from learner.model.rule_inputs import NO_INPUTS, Rules
from learner.observation_model import EMPTY, Answer

MIB = 2**20


@dataclass
class EngineStats:
    """Work done since the engine was made."""

    passes: int = 0
    """Forward passes."""
    tokens: int = 0
    """Tokens computed, candidates included."""


def slot_bytes(arch: Architecture, device: str = "cpu", precision: str = "fp32") -> int:
    """Bytes of one token's keys and values. The device need not exist on this machine."""
    kind = device_of(device) if device == "auto" else torch.device(device)
    return 2 * arch.n_layer * arch.n_embd * dtype_of(precision_of(precision, kind)).itemsize


def history_bytes(arch: Architecture, config: EngineConfig) -> int:
    """Bytes of keys and values of a history of full length."""
    return arch.n_positions * slot_bytes(arch, config.device, config.precision)


def open_engine(checkpoint: str | Path, game: Game, config: EngineConfig, utility: str) -> "QueryEngine":
    """The engine of a checkpoint, for values by the utility of this name. ``ValueError`` as from ``load_weights`` and
    ``QueryEngine``."""
    values = game.outcomes.utility(utility)
    return QueryEngine(load_weights(checkpoint, game), values, config, game)


class QueryEngine:
    """``ObservationModel`` over a network, with keys and values cached on one device."""

    def __init__(
        self, net: PolicyValueNet, utility: np.ndarray, config: EngineConfig | None = None, game: Game | None = None
    ) -> None:
        """The engine keeps a copy of the weights.

        Args:
            net: the network, e.g. from ``learner.model.checkpoint.load_weights``.
            utility: ``float32[K]``: v(o) of every outcome label.
            config: its settings; the defaults if None. Layer norms, the residual stream and probabilities are float32
                in every precision.
            game: the network's game; needed for rule inputs (``learner.model.rule_inputs``) or masked outcomes.

        Raises ``ValueError``: a utility of another size, no such device, a cache that is too small or does not fit.
        """
        config = config or EngineConfig()
        if np.shape(utility) != (net.arch.num_outcomes,):
            raise ValueError(
                f"utility has shape {np.shape(utility)}; the network predicts {net.arch.num_outcomes} outcome labels"
            )
        device = device_of(config.device, "engine.device")
        rules = _rules(net.arch, config, game)
        num_slots = config.cache_mb * MIB // slot_bytes(net.arch, device.type, config.precision)
        if num_slots <= net.arch.n_positions:
            raise ValueError(f"engine.cache_mb={config.cache_mb}: holds {num_slots} tokens, less than one history")
        self.arch, self._game = net.arch, game
        self.stats = EngineStats()
        self._max_batch = config.max_batch
        self._views = SlotViews(rules) if rules else None
        self._trunk = make_trunk(net, np.asarray(utility, np.float32), num_slots, device, config)
        self._tree = PrefixTree(num_slots)

    @property
    def slots_left(self) -> int:
        """See ``ObservationModel``."""
        return self._tree.left

    def query(
        self,
        handles: np.ndarray,
        tokens: np.ndarray,
        counts: np.ndarray,
        candidates: np.ndarray | None = None,
        values: np.ndarray | None = None,
        look_ahead: bool = False,
    ) -> Answer:
        """See ``ObservationModel``."""
        handles, tokens, counts = (np.ascontiguousarray(array, np.int64) for array in (handles, tokens, counts))
        count, size = len(handles), self.arch.vocab_size
        marked = np.zeros((count, size), bool) if candidates is None else np.asarray(candidates, bool)
        judged = np.zeros(count, bool) if values is None else np.asarray(values, bool)
        tokens, counts, begun = self._read(handles, tokens, counts)
        self._check(handles, tokens, counts, marked, judged)
        if count == 0:
            no_values, no_tokens = np.empty(0, np.float32), np.empty((0, size), np.float32)
            return Answer(handles, no_tokens, no_values, handles, no_values, no_tokens)
        ends, answers = np.cumsum(counts), []
        try:
            for first in range(0, count, self._max_batch):
                rows = slice(first, first + self._max_batch)
                new = tokens[ends[first] - counts[first] : ends[rows][-1]]
                part = handles[rows], new, counts[rows], marked[rows], judged[rows]
                answers.append(self._pass(*part, look_ahead, None if begun is None else begun[rows]))
        except BaseException:  # the caller never gets the handles of earlier passes
            for answer in answers:
                self._tree.release(np.concatenate([answer.handles, answer.action_handles]))
            raise
        if len(answers) == 1:
            return answers[0]
        return Answer(*(np.concatenate(pieces) for pieces in zip(*answers, strict=True)))

    def outcomes(self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """See ``ObservationModel``."""
        handles, tokens, counts = (np.ascontiguousarray(array, np.int64) for array in (handles, tokens, counts))
        unmarked, unjudged = np.zeros((len(handles), self.arch.vocab_size), bool), np.zeros(len(handles), bool)
        tokens, counts, begun = self._read(handles, tokens, counts)
        self._check(handles, tokens, counts, unmarked, unjudged)
        found, ends = [np.empty((0, self.arch.num_outcomes), np.float32)], np.cumsum(counts)
        for first in range(0, len(handles), self._max_batch):
            rows = slice(first, first + self._max_batch)
            new = tokens[ends[first] - counts[first] : ends[rows][-1]]
            plan = pack(self._tree, handles[rows], new, counts[rows], unmarked[rows])
            self.stats.passes += 1
            self.stats.tokens += len(plan.ids)
            try:
                every = np.arange(len(plan.answered))
                first_views = None if begun is None else begun[rows]
                inputs = NO_INPUTS if self._views is None else self._views.inputs(plan, every, False, first_views)
                found.append(self._trunk.outcomes(plan, inputs))
            finally:
                self._tree.release(plan.slot[plan.answered])
        return np.concatenate(found)

    def release(self, handles: np.ndarray) -> None:
        """See ``ObservationModel``."""
        self._tree.release(np.ascontiguousarray(handles, np.int64).ravel())

    def _pass(
        self,
        handles: np.ndarray,
        tokens: np.ndarray,
        counts: np.ndarray,
        marked: np.ndarray,
        judged: np.ndarray,
        look_ahead: bool,
        begun: np.ndarray | None,
    ) -> Answer:
        """One forward pass."""
        plan = pack(self._tree, handles, tokens, counts, marked)
        count, held = len(counts), plan.slot[plan.answered]
        self.stats.passes += 1
        self.stats.tokens += len(plan.ids)
        try:
            valued = np.append(np.flatnonzero(judged), np.arange(count, len(held)))
            inputs = NO_INPUTS if self._views is None else self._views.inputs(plan, valued, look_ahead, begun)
            next_token, values = self._trunk(plan, valued, look_ahead, inputs)
        except BaseException:  # interrupted, or out of memory: the caller never gets these handles
            self._tree.release(held)
            raise
        asked = np.count_nonzero(judged)
        value = np.full(count, np.nan, np.float32)
        value[judged] = values[:asked]
        return Answer(
            handles=held[:count],
            next_token=next_token[:count],
            value=value,
            action_handles=held[count:],
            action_values=values[asked:],
            action_next=next_token[count:],
        )

    def _read(
        self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The new tokens that the network reads and their counts, and the views before these; None where it reads all
        of them (``Architecture.first``)."""
        first, game = self.arch.first, self._game
        begins = np.asarray(handles == EMPTY)
        if not first or not begins.any() or counts.sum() != len(tokens):
            return tokens, counts, None
        assert game is not None
        starts = np.cumsum(counts) - counts
        short = np.asarray(begins & (counts <= first))
        _refuse(short, f"its history has {{}} tokens, the network reads from {first} on", counts)
        unread = np.zeros((len(handles), first), np.int64)
        unread[begins] = tokens[starts[begins, None] + np.arange(first)]
        outside = np.asarray(((unread < 0) | (unread >= self.arch.vocab_size)).any(axis=1))
        _refuse(outside, f"a token is not in the vocabulary of {self.arch.vocab_size}", counts)
        place = np.arange(len(tokens)) - np.repeat(starts, counts)
        left = ~np.repeat(begins, counts) | (place >= first)
        return tokens[left], counts - first * begins, game.views(unread, first * begins)

    def _check(
        self, handles: np.ndarray, tokens: np.ndarray, counts: np.ndarray, marked: np.ndarray, judged: np.ndarray
    ) -> None:
        """``ValueError`` for bad queries, before anything changes."""
        count, size, limit = len(handles), self.arch.vocab_size, self.arch.n_positions
        for name, array, shape in (
            ("counts", counts, (count,)),
            ("candidates", marked, (count, size)),
            ("values", judged, (count,)),
        ):
            if array.shape != shape:
                raise ValueError(f"{name} have shape {array.shape}, not {shape}")
        if (counts < 0).any() or counts.sum() != len(tokens):
            raise ValueError(f"counts add up to {counts.sum()} new tokens, and there are {len(tokens)}")
        lengths = self._tree.depth(handles) + counts
        rows = np.repeat(np.arange(count), counts)
        _refuse(lengths < 1, "its history is empty", lengths)
        _refuse(lengths > limit, f"its history has {{}} tokens, the network reads {limit}", lengths)
        _refuse((lengths == limit) & marked.any(1), "no candidate fits behind a history of full length {}", lengths)
        _refuse(((tokens < 0) | (tokens >= size)), f"token {{}} is not in the vocabulary of {size}", tokens, rows)
        self._tree.check_room(len(tokens) + int(marked.sum()))


def _rules(arch: Architecture, config: EngineConfig, game: Game | None) -> Rules | None:
    """The network's rule inputs; None without any. ``ValueError`` where they need a game and none is given."""
    if game is None:
        if arch.reads_rules or config.mask_outcomes:
            raise ValueError("this network reads the rules, or engine.mask_outcomes=true: the engine needs the game")
        return None
    return Rules(game, arch, config.mask_outcomes) or None


def _refuse(bad: np.ndarray, message: str, given: np.ndarray, rows: np.ndarray | None = None) -> None:
    """``ValueError`` naming the first bad row and its value; ``rows``: the row of each entry, if not one entry a
    row."""
    if bad.any():
        first = int(np.argmax(bad))
        row = first if rows is None else rows[first]
        raise ValueError(f"row {row}: " + message.format(given[first]))
