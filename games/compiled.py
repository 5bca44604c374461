"""Games whose rules and views are numba kernels: the batches of the contract around a game's own loops.

A game defines record types for its state and its view, and kernels for one of each (``games.batches.Loops``). Both
records begin with ``public``, the public information and the game's options, and hold ``tokens``, padded with ``eos``.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from games.batches import Kernel, Loops
from games.game import Game


def blank(dtype: np.dtype, template: np.ndarray, eos: int, count: int) -> np.ndarray:
    """``dtype[count]``: states or views before the deal; ``template`` (``[1]``) is what all know then."""
    first = np.zeros(1, dtype)
    first["public"] = template
    first["tokens"] = eos
    return np.repeat(first, count)


def template_of(public: np.dtype, **values: object) -> np.ndarray:
    """``public[1]``: the public part before the deal, zero but for the given fields."""
    template = np.zeros(1, public)
    for name, value in values.items():
        template[name] = value
    return template


def options_of(game: str, given: Mapping[str, Any], values: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """All options with the values in force, the first of their ``values`` where none is given; ``ValueError`` as
    ``check_options``."""
    check_options(game, given, values)
    return {name: given.get(name, first) for name, (first, *_) in values.items()}


def check_options(game: str, given: Mapping[str, object], values: Mapping[str, tuple[object, ...]]) -> None:
    """``ValueError`` for an option that a game does not have, or a value that is none of its ``values``, which may be
    anything where they are empty."""
    for name, value in given.items():
        if name not in values:
            raise ValueError(f"{game} has no option {name!r}; its options are {', '.join(values)}")
        if values[name] and (type(value), value) not in [(type(other), other) for other in values[name]]:
            choices = ", ".join(map(str, values[name])).lower()
            raise ValueError(f"{game} option {name}={value!r}: choose one of {choices}")


def _written(loop: Kernel, batch: np.ndarray, results: np.ndarray) -> np.ndarray:
    """``results``, which the loop has written for a batch of states or views."""
    loop(batch, results)
    return results


class CompiledGame(Game):
    """A ``Game`` on numba kernels. Subclasses set the class attributes here and of ``Game``, ``template`` and
    ``outcomes``, and add ``final_points``, or ``outcome`` and ``view_outcome``."""

    loops: ClassVar[Loops]
    state_type: np.dtype
    view_type: np.dtype
    template: np.ndarray
    """``[1]``: what all seats know before the deal, the options in force among it."""
    can_determinize = True

    def _blank(self, dtype: np.dtype, count: int) -> np.ndarray:
        return blank(dtype, self.template, self.vocabulary.eos, count)

    # ---- the true state

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        states = self._blank(self.state_type, len(seeds))
        with np.errstate(over="ignore"):
            self.loops.deal(states, np.asarray(seeds, np.uint64))
        return states

    def to_move(self, states: np.ndarray) -> np.ndarray:
        return _written(self.loops.to_move, states, np.empty(len(states), np.int8))

    def legal(self, states: np.ndarray) -> np.ndarray:
        return _written(self.loops.legal, states, np.zeros((len(states), self.vocabulary.size), np.bool_))

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        row = self.loops.act(states, np.asarray(actions, np.int64))
        if row >= 0:
            raise self.refusal(states, row, int(actions[row]))

    def after(self, states: np.ndarray, actions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        reached = np.empty_like(states)
        self.loops.after(states, reached, actions, lengths)
        return reached

    def final_points(self, public: np.ndarray) -> np.ndarray:
        """``float[B, P]``: the points of every seat by the public parts of states or views, NaN before the end."""
        raise NotImplementedError(f"{self.name} has neither final_points nor outcome and view_outcome")

    def outcome(self, states: np.ndarray) -> np.ndarray:
        points = self.final_points(states["public"])
        seats = range(self.num_players)
        return np.stack([self.outcomes.labels(np.roll(points, -seat, axis=1)) for seat in seats], axis=1)

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_outcome``, of views whose seats are relative."""
        return self.outcomes.labels(self.final_points(views["public"]))

    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.empty((len(states), self.max_length), self.vocabulary.dtype)
        lengths = np.empty(len(states), np.int32)
        self.loops.histories(states, np.asarray(seats, np.int64), tokens, lengths)
        return tokens, lengths

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            self.loops.play_out(states, np.asarray(seeds, np.uint64))

    # ---- what one seat knows

    def views(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        views = self._blank(self.view_type, len(tokens))
        self.loops.replay(views, np.asarray(tokens), np.asarray(lengths, np.int64))
        return views

    def advance(self, views: np.ndarray, tokens: np.ndarray) -> None:
        self.loops.advance(views, np.asarray(tokens, np.int64))

    def advance_into(self, views: np.ndarray, origins: np.ndarray, places: np.ndarray, tokens: np.ndarray) -> None:
        self.loops.advance_into(views, origins, places, np.asarray(tokens))

    def next(self, views: np.ndarray) -> np.ndarray:
        return _written(self.loops.next, views, np.empty(len(views), np.int8))

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        return _written(self.loops.own_legal, views, np.zeros((len(views), self.vocabulary.size), np.bool_))

    def view_possible(self, views: np.ndarray) -> np.ndarray:
        return _written(self.loops.possible, views, np.zeros((len(views), self.vocabulary.size), np.bool_))

    def next_type(self, views: np.ndarray) -> np.ndarray:
        return _written(self.loops.next_types, views, np.empty(len(views), np.int8))

    def consistent(self, views: np.ndarray) -> np.ndarray:
        return _written(self.loops.consistent, views, np.empty(len(views), np.bool_))

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As ``Game.determinize``, every consistent division of the unseen cards equally likely. ``ValueError`` also
        for a history that stops amid tokens that arrive together, where no state can."""
        possible = self.consistent(views)
        if not possible.all():
            raise ValueError(f"row {int(np.argmin(possible))}: no deal agrees with this history, it is inconsistent")
        states = self._blank(self.state_type, len(views))
        with np.errstate(over="ignore"):
            row = self.loops.determinize(views, states, np.asarray(seeds, np.uint64))
        if row >= 0:
            length = int(views[row]["length"])
            raise ValueError(f"row {row}: a history of {length} tokens stops amid what is seen at once; add the rest")
        return states, self.observer(views)

    def observer(self, views: np.ndarray) -> np.ndarray:
        """``int8[B]``: the seat that the observer has in a state of ``determinize``: 0, as seats in a view are counted
        from it, unless a game says otherwise."""
        return np.zeros(len(views), np.int8)
