"""The loops over a batch, made from a game's kernels for one row.

A loop is a closure over the kernels that it calls, and compiled as they are. ``games.compiling`` says how its machine
code is kept: a loop is compiled anew when a kernel that it holds has changed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from games.bits import SETS, Actions
from games.compiling import kernel
from games.features import FeatureSet
from games.game import ACTION, END
from games.rng import below, next_state, output

Kernel = Callable[..., Any]
"""A function under ``games.compiling.kernel``."""


@kernel
def turn_of(state):
    """The seat to act of a state whose public part has it as ``turn``, -1 at the end."""
    return state["public"]["turn"]


@kernel
def length_of(state, seat):
    """Tokens in a seat's history of a state that keeps their number as ``lengths``."""
    return state["lengths"][seat]


@kernel
def any_kind(view, token):
    """Every token may be tried."""
    return True


class Loops:
    """The loops of one game over ``S``, rows of the state's type, and ``W``, rows of the view's; results are written in
    place. Made of its kernels for one ``state`` or ``view``; a seed is ``uint64``.

    Args:
        deal: ``(state, seed)``: deal into a blank state.
        legal: ``(state)``: the legal actions of the seat to act, in the form that ``actions`` reads.
        act: ``(state, token)``: play a legal action of the seat to act.
        next_of: ``(view)``: a ``Next``.
        own_legal: ``(view)``: as ``legal``, for an observer who is to act.
        advance: ``(view, token)``: take in one token.
        consistent: ``(view)``: whether the history could have happened.
        can_stand: ``(view)``: whether a state can stand where the history ends.
        determinize: ``(view, state, seed)``: deal a blank state consistently with a view that ``can_stand``.
        possible: ``(view, bool[V])``: set the places of the tokens after which the history could have happened; without
            it every token of others is tried.
        is_of_kind: ``(view, token)``: False spares trying a token, as no history goes on with it.
        next_type: ``(view)``: index of the type of the next token; ``next_of`` without it.
        to_move: ``(state)``: the seat to act, -1 at the end.
        length: ``(state, seat)``: tokens in a seat's history, ``eos`` included.
        actions: what reads ``legal`` and ``own_legal``.
    """

    def __init__(
        self,
        *,
        deal: Kernel,
        legal: Kernel,
        act: Kernel,
        next_of: Kernel,
        own_legal: Kernel,
        advance: Kernel,
        consistent: Kernel,
        can_stand: Kernel,
        determinize: Kernel,
        possible: Kernel | None = None,
        is_of_kind: Kernel = any_kind,
        next_type: Kernel | None = None,
        to_move: Kernel = turn_of,
        length: Kernel = length_of,
        actions: Actions = SETS,
    ) -> None:
        self.deal = rows(deal)  # (S, seeds)
        self.to_move = results(to_move)  # (S, seats)
        self.legal = _legal(to_move, legal, actions.mark)  # (S, bool[B, V]), as marked, given all False
        self.act = _act(to_move, legal, actions.holds, act)  # (S, actions): first row whose action is illegal, or -1
        self.after = _after(act)  # (S, S written, actions[B, N], lengths): legal actions, one after the other
        self.histories = _histories(length)  # (S, seats, tokens[B, L], lengths)
        self.play_out = rows(_play_out(to_move, legal, actions, act))  # (S, seeds)
        self.replay = _replay(advance)  # (W, tokens[B, L'], lengths)
        self.advance = rows(advance)  # (W, tokens)
        self.advance_into = _advance_into(advance)  # (W, origins, places, tokens): as Game.advance_into
        self.next = results(next_of)  # (W, following)
        self.own_legal = _own_legal(next_of, own_legal, actions.mark)  # (W, bool[B, V])
        self.possible = (  # (W, bool[B, V])
            rows(possible) if possible else _possible(next_of, own_legal, actions.mark, is_of_kind, advance, consistent)
        )
        self.consistent = results(consistent)  # (W, bool[B])
        self.next_types = results(next_type or next_of)  # (W, types)
        self.determinize = _determinize(can_stand, determinize)  # (W, S, seeds): as act


def results(of_row: Kernel) -> Kernel:
    """``(batch, results[B])``: write ``of_row(row)`` of every row."""

    def write_results(batch, written):
        for i in range(len(batch)):
            written[i] = of_row(batch[i])

    return kernel(write_results)


def rows(with_row: Kernel) -> Kernel:
    """``(batch, others[B])``: call ``with_row(row, other)`` for every row. So a kernel for one view that writes to
    ``uint8[*shape]`` becomes what fills a ``FeatureSet``."""

    def call_rows(batch, others):
        for i in range(len(batch)):
            with_row(batch[i], others[i])

    return kernel(call_rows)


def feature(sets: dict[str, FeatureSet], description: str, *shape: int, **more: Any) -> Kernel:
    """Decorator of a kernel ``(view, uint8[*shape])`` that writes the numbers of one view into zeros: compiles it, and
    adds the ``FeatureSet`` of its name, without ``_``, to ``sets``."""

    def add(function: Kernel) -> Kernel:
        compiled: Kernel = kernel(function)
        sets[function.__name__.strip("_")] = FeatureSet(description, shape, rows(compiled), **more)
        return compiled

    return add


def advancing(next_of: Kernel, is_of_kind: Kernel, see: Kernel) -> Kernel:
    """``(view, token)``: take in one token of a view with ``tokens``, ``length``, ``ended`` and ``refuted``.

    A view at its end stays as it is. A token that is not ``is_of_kind(view, token)`` ends the history. ``see(view,
    token)`` takes in any other, and returns whether it can have come; if not, the history goes on, inconsistent.
    """

    def advance(view, token):
        if next_of(view) == END:
            return
        if not is_of_kind(view, token):
            view["ended"] = 1
            return
        if not see(view, token):
            view["refuted"] = 1
        view["tokens"][view["length"]] = token
        view["length"] += 1

    return kernel(advance)


def _play_out(to_move: Kernel, legal: Kernel, actions: Actions, act: Kernel) -> Kernel:
    """``(state, seed)``: play on to the end, each action uniform over the legal ones."""
    count, nth = actions.count, actions.nth

    def play_out(state, seed):
        counter = seed
        while to_move(state) >= 0:
            counter = next_state(counter)
            choice = legal(state)
            act(state, nth(choice, below(output(counter), count(choice))))

    return kernel(play_out)


def _legal(to_move: Kernel, legal: Kernel, mark: Kernel) -> Kernel:
    def legal_rows(states, tokens):
        for i in range(len(states)):
            if to_move(states[i]) >= 0:
                mark(legal(states[i]), tokens[i])

    return kernel(legal_rows)


def _act(to_move: Kernel, legal: Kernel, holds: Kernel, act: Kernel) -> Kernel:
    def act_rows(states, actions):
        for i in range(len(states)):
            if to_move(states[i]) < 0:
                continue
            if not holds(legal(states[i]), actions[i]):
                return i
            act(states[i], actions[i])
        return -1

    return kernel(act_rows)


def _after(act: Kernel) -> Kernel:
    def after(states, reached, actions, lengths):
        for i in range(len(states)):
            reached[i] = states[i]
            for place in range(lengths[i]):
                act(reached[i], np.int64(actions[i, place]))

    return kernel(after)


def _histories(length: Kernel) -> Kernel:
    def histories(states, seats, tokens, lengths):
        for i in range(len(states)):
            state, seat = states[i], seats[i]
            for place in range(tokens.shape[1]):
                tokens[i, place] = state["tokens"][seat, place]
            lengths[i] = length(state, seat)

    return kernel(histories)


def _replay(advance: Kernel) -> Kernel:
    def replay(views, tokens, lengths):
        for i in range(len(views)):
            for place in range(lengths[i]):
                advance(views[i], np.int64(tokens[i, place]))

    return kernel(replay)


def _advance_into(advance: Kernel) -> Kernel:
    def advance_into(views, origins, places, tokens):
        for i in range(len(tokens)):
            views[places[i]] = views[origins[i]]
            advance(views[places[i]], np.int64(tokens[i]))

    return kernel(advance_into)


def _own_legal(next_of: Kernel, own_legal: Kernel, mark: Kernel) -> Kernel:
    def own_legal_rows(views, tokens):
        for i in range(len(views)):
            if next_of(views[i]) == ACTION:
                mark(own_legal(views[i]), tokens[i])

    return kernel(own_legal_rows)


def _possible(
    next_of: Kernel, own_legal: Kernel, mark: Kernel, is_of_kind: Kernel, advance: Kernel, consistent: Kernel
) -> Kernel:
    """Mark what the observer may do by the rules, which it can always have done, and try every token of others."""

    def possible_rows(views, tokens):
        tried = views[:1].copy()
        for i in range(len(views)):
            following = next_of(views[i])
            if following == END or not consistent(views[i]):
                continue
            if following == ACTION:
                mark(own_legal(views[i]), tokens[i])
                continue
            for token in range(tokens.shape[1]):
                if is_of_kind(views[i], np.int64(token)):
                    tried[0] = views[i]
                    advance(tried[0], np.int64(token))
                    tokens[i, token] = consistent(tried[0])

    return kernel(possible_rows)


def _determinize(can_stand: Kernel, determinize: Kernel) -> Kernel:
    def determinize_rows(views, states, seeds):
        for i in range(len(views)):
            if not can_stand(views[i]):
                return i
            determinize(views[i], states[i], seeds[i])
        return -1

    return kernel(determinize_rows)
