"""The slot pool: one cache of keys and values for all networks of one shape, and the passes over it.

A history belongs to the network that computed it. Networks of one shape have slots of one size, so all of a process
share one prefix tree and one cache, as large as one would need alone: what some do not use is left to the others.

Shape letters as in ``learner.inference.packing``; ``V`` tokens of the vocabulary, ``N`` networks that are asked.
"""

import gc
import weakref
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from games.game import Game
from learner.config import EngineConfig
from learner.inference.packing import Pass, pack
from learner.inference.prefix_tree import PrefixTree
from learner.inference.slot_views import SlotViews
from learner.inference.stacked_trunk import StackedTrunk
from learner.inference.torch_trunk import TorchTrunk
from learner.inference.trunk import Trunk, make_trunk
from learner.model.architecture import Architecture
from learner.model.network import PolicyValueNet, device_of, dtype_of, precision_of
from learner.model.rule_inputs import NO_INPUTS, RuleInputs, Rules
from learner.observation_model import EMPTY, Answer, Query

MIB = 2**20


@dataclass
class PoolStats:
    """Work done since the pool was made."""

    passes: int = 0
    """Forward passes."""
    rows: int = 0
    """Queries answered by them."""
    tokens: int = 0
    """Tokens computed, candidates included."""


def slot_bytes(arch: Architecture, device: str = "cpu", precision: str = "fp32") -> int:
    """Bytes of one token's keys and values. The device need not exist on this machine."""
    kind = device_of(device) if device == "auto" else torch.device(device)
    return 2 * arch.n_layer * arch.n_embd * dtype_of(precision_of(precision, kind)).itemsize


class _Rows(NamedTuple):
    """Rows of queries."""

    handles: np.ndarray
    """``int64[M]``"""
    tokens: np.ndarray
    """``int64[T]``"""
    counts: np.ndarray
    """``int64[M]``"""
    marked: np.ndarray
    """``bool[M, V]`` candidates"""
    judged: np.ndarray
    """``bool[M]`` rows whose value is asked for"""

    def part(self, rows: slice, ends: np.ndarray) -> "_Rows":
        """Some of the rows; ``ends``: one behind the last token of each row."""
        tokens = self.tokens[ends[rows][0] - self.counts[rows][0] : ends[rows][-1]]
        return _Rows(self.handles[rows], tokens, self.counts[rows], self.marked[rows], self.judged[rows])


class SlotPool:
    """Slots of networks of one shape, which take turns; not for several threads."""

    def __init__(self, arch: Architecture, config: EngineConfig, game: Game | None) -> None:
        """``ValueError``: no such device, a cache that is too small, rule inputs without a game."""
        device = device_of(config.device, "engine.device")
        rules = _rules(arch, config, game)
        num_slots = config.cache_mb * MIB // slot_bytes(arch, device.type, config.precision)
        if num_slots <= arch.n_positions:
            raise ValueError(f"engine.cache_mb={config.cache_mb}: holds {num_slots} tokens, less than one history")
        self.arch, self.config, self.stats = arch, config, PoolStats()
        self.beside = device.type == "cuda"
        """Whether the device computes while the host goes on."""
        self.together = self.beside and rules is None
        """Whether one pass takes rows of several networks: on a CPU passes of a few rows are as fast, and those of
        networks with rule inputs are not stacked yet."""
        self.tree = PrefixTree(num_slots)
        self._game, self._device = game, device
        self._views = SlotViews(rules) if rules else None
        self._trunks: list[weakref.ref[Trunk]] = []
        self._stack: tuple[StackedTrunk, dict[int, int]] | None = None

    def trunk(self, net: PolicyValueNet, utility: np.ndarray) -> Trunk:
        """A trunk of a network of the pool's shape over the pool's cache. ``ValueError`` where the device has no room
        for the cache."""
        if self._stack is not None:
            self._stack = None
            gc.collect()  # it refers to itself, as do its graphs, and so would keep its weights on the device
        self._trunks = [reference for reference in self._trunks if reference()]
        cache = next((trunk.cache for reference in self._trunks if (trunk := reference())), None)
        trunk = make_trunk(net, utility, self.tree.limit, self._device, self.config, cache)
        self._trunks.append(weakref.ref(trunk))
        return trunk

    def query(self, asked: Sequence[tuple[Trunk, Query]]) -> list[Answer]:
        """The answer to each network's query; see ``ObservationModel.query``. Several only where ``together`` holds,
        and without look-ahead."""
        steps = self.querying(asked)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                answers: list[Answer] = end.value
                return answers

    def querying(self, asked: Sequence[tuple[Trunk, Query]]) -> Generator[None, None, list[Answer]]:
        """``query``, with a pause where the device has begun a pass. Others may query the pool meanwhile."""
        queries = [self._complete(query) for _, query in asked]
        whole = queries[0]
        if len(asked) > 1:
            whole = _Rows(*(np.concatenate(parts) for parts in zip(*queries, strict=True)))
        sizes, trunks = [len(query.handles) for query in queries], [trunk for trunk, _ in asked]
        look_ahead = asked[0][1].look_ahead
        answer = yield from self._answer(trunks, np.repeat(np.arange(len(asked)), sizes), whole, look_ahead)
        if len(asked) == 1:
            return [answer]
        rows, leaves = np.cumsum(sizes)[:-1], np.cumsum([np.count_nonzero(query.marked) for query in queries])[:-1]
        parts = [np.split(part, rows) for part in answer[:3]] + [np.split(part, leaves) for part in answer[3:5]]
        return [Answer._make((*each, answer.action_next)) for each in zip(*parts, strict=True)]

    def outcomes(self, trunk: Trunk, query: Query) -> np.ndarray:
        """See ``ObservationModel``."""
        given, begun = self._read(self._complete(query))
        found, ends = [np.empty((0, self.arch.num_outcomes), np.float32)], np.cumsum(given.counts)
        for first in range(0, len(given.handles), self.config.max_batch):
            rows = slice(first, first + self.config.max_batch)
            plan = self._packed(given.part(rows, ends))
            try:
                inputs = self._inputs(
                    plan, np.arange(len(plan.answered)), False, None if begun is None else begun[rows]
                )
                found.append(trunk.outcomes(plan, inputs))
            finally:
                self.tree.release(plan.slot[plan.answered])
        return np.concatenate(found)

    def _complete(self, query: Query) -> _Rows:
        """The rows of a query, of the types that passes take."""
        handles, tokens, counts = (np.ascontiguousarray(array, np.int64) for array in query[:3])
        count, size = len(handles), self.arch.vocab_size
        marked = np.zeros((count, size), bool) if query.candidates is None else np.asarray(query.candidates, bool)
        judged = np.zeros(count, bool) if query.values is None else np.asarray(query.values, bool)
        return _Rows(handles, tokens, counts, marked, judged)

    def _answer(
        self, trunks: Sequence[Trunk], of: np.ndarray, asked: _Rows, look_ahead: bool
    ) -> Generator[None, None, Answer]:
        """The answer to all rows; ``of``, ``int64[M]``: index in ``trunks`` of each row's."""
        asked, begun = self._read(asked)
        if len(asked.handles) == 0:
            no_values, no_tokens = np.empty(0, np.float32), np.empty((0, self.arch.vocab_size), np.float32)
            return Answer(asked.handles, no_tokens, no_values, asked.handles, no_values, no_tokens)
        ends, answers = np.cumsum(asked.counts), list[Answer]()
        try:
            for first in range(0, len(asked.handles), self.config.max_batch):
                rows = slice(first, first + self.config.max_batch)
                views = None if begun is None else begun[rows]
                answers.append((yield from self._pass(trunks, of[rows], asked.part(rows, ends), look_ahead, views)))
        except BaseException:  # the caller never gets the handles of earlier passes
            for answer in answers:
                self.tree.release(np.concatenate([answer.handles, answer.action_handles]))
            raise
        if len(answers) == 1:
            return answers[0]
        return Answer(*(np.concatenate(pieces) for pieces in zip(*answers, strict=True)))

    def _pass(
        self, trunks: Sequence[Trunk], of: np.ndarray, asked: _Rows, look_ahead: bool, begun: np.ndarray | None
    ) -> Generator[None, None, Answer]:
        """One forward pass."""
        plan = self._packed(asked)
        count, held = len(asked.handles), plan.slot[plan.answered]
        try:
            valued = np.append(np.flatnonzero(asked.judged), np.arange(count, len(held)))
            if len({id(trunks[number]) for number in np.unique(of)}) > 1:
                stack, numbers = self._stacked()
                answer = stack.start(plan, valued, np.array([numbers[id(trunk)] for trunk in trunks])[of])
            else:
                inputs = self._inputs(plan, valued, look_ahead, begun)
                answer = trunks[of[0]].start(plan, valued, look_ahead, inputs)
            if self.beside:
                yield
            next_token, values = answer()
        except BaseException:  # interrupted, or out of memory: the caller never gets these handles
            self.tree.release(held)
            raise
        judged = np.count_nonzero(asked.judged)
        value = np.full(count, np.nan, np.float32)
        value[asked.judged] = values[:judged]
        return Answer(
            handles=held[:count],
            next_token=next_token[:count],
            value=value,
            action_handles=held[count:],
            action_values=values[judged:],
            action_next=next_token[count:],
        )

    def _packed(self, asked: _Rows) -> Pass:
        """A pass, counted. ``ValueError`` where others have taken the room for it since the query was checked."""
        self.tree.check_room(len(asked.tokens) + int(asked.marked.sum()))
        plan = pack(self.tree, *asked[:4])
        self.stats.passes += 1
        self.stats.rows += len(asked.handles)
        self.stats.tokens += len(plan.ids)
        return plan

    def _inputs(self, plan: Pass, valued: np.ndarray, look_ahead: bool, begun: np.ndarray | None) -> RuleInputs:
        return NO_INPUTS if self._views is None else self._views.inputs(plan, valued, look_ahead, begun)

    def _stacked(self) -> tuple[StackedTrunk, dict[int, int]]:
        """What runs passes of several networks, and the number there of each trunk by its ``id``; made anew when a
        network has come."""
        if self._stack is None:
            trunks = [trunk for reference in self._trunks if isinstance(trunk := reference(), TorchTrunk)]
            self._stack = StackedTrunk(trunks), {id(trunk): number for number, trunk in enumerate(trunks)}
        return self._stack

    def _read(self, asked: _Rows) -> tuple[_Rows, np.ndarray | None]:
        """The rows with the new tokens that the network reads, checked, and the views before these; None where it reads
        all tokens (``Architecture.first``)."""
        handles, tokens, counts, *_ = asked
        first, game, begun = self.arch.first, self._game, None
        begins = np.asarray(handles == EMPTY)
        if first and begins.any() and counts.sum() == len(tokens):
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
            asked = asked._replace(tokens=tokens[left], counts=counts - first * begins)
            begun = game.views(unread, first * begins)
        self._check(*asked)
        return asked, begun

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
        lengths = self.tree.depth(handles) + counts
        rows = np.repeat(np.arange(count), counts)
        _refuse(lengths < 1, "its history is empty", lengths)
        _refuse(lengths > limit, f"its history has {{}} tokens, the network reads {limit}", lengths)
        _refuse((lengths == limit) & marked.any(1), "no candidate fits behind a history of full length {}", lengths)
        _refuse(((tokens < 0) | (tokens >= size)), f"token {{}} is not in the vocabulary of {size}", tokens, rows)
        self.tree.check_room(len(tokens) + int(marked.sum()))


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
