"""Any sequential OpenSpiel game as a ``Game``: generality, not speed.

Supported are sequential games with rewards at the end and information state strings; chance is drawn from the deal's
seed. ``games.openspiel_histories`` says how tokens follow from OpenSpiel's information states and where that is exact:
it is for ``kuhn_poker``, ``leduc_poker`` and ``hearts``. A view is rebuilt from tokens by finding the full states that
explain them (``games.openspiel_views``); what it answers is the same for each of them.

A token that makes no sense ends a history: who is next behind it follows from no state of the game.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from games.game import Game, Next
from games.openspiel_histories import Observer, Trace
from games.openspiel_loading import (
    action_names,
    bucketed_returns,
    enumerated_returns,
    load_game,
    outcome_table,
    plain_parameters,
)
from games.openspiel_views import Views
from games.rng import mix


@dataclass(frozen=True)
class _State:
    """A full state; replaced, never changed, so that rows picked from a batch are copies."""

    spiel: Any
    seed: int
    traces: tuple[Trace, ...]


class OpenSpielGame(Game):
    """A game of OpenSpiel by its load string, e.g. ``"leduc_poker"`` or ``"hearts(pass_cards=False)"``.

    A history starts with the observer's seat: these games need not look the same from every seat, so seats are absolute
    in it. Then comes one token for each action or chance outcome the observer sees, when it sees it, and ``turn``
    before each of its own actions. A seat before an action says who acted, unless it is the seat clockwise of the last
    one seen. Nothing stands for a step the observer does not see, so that even their number stays hidden. At the end
    come the returns of all seats, the observer's first, then clockwise, and ``eos``: a player learns how its game
    ended, also where OpenSpiel's strings do not say so (poker's showdown).
    """

    rules_version = 1
    can_determinize = True

    def __init__(
        self,
        load_string: str,
        outcomes: str = "enumerate",
        num_buckets: int = 5,
        max_witness_steps: int = 10_000,
        **parameters: bool | int | str,
    ) -> None:
        """
        Args:
            load_string: what ``pyspiel.load_game`` takes.
            outcomes: ``"enumerate"``: one label for each vector of returns the game tree holds (small games);
                ``"buckets"``: every seat's return rounded to one of ``num_buckets`` levels spread evenly from the
                lowest to the highest utility, one label for each vector of levels; points are then the levels, exact
                only where a return happens to be one, while ``points`` of states stays exact.
            max_witness_steps: bound of the search for a state behind a history; a history without one is inconsistent.
            parameters: game parameters, added to the parameters in ``load_string``.

        Raises ``ValueError`` for an unknown game or parameter, and for games this adapter does not support.
        """
        if outcomes not in ("enumerate", "buckets"):
            raise ValueError(f"outcomes={outcomes!r}: choose enumerate or buckets")
        if num_buckets < 2:
            raise ValueError(f"num_buckets={num_buckets}: at least 2 levels are needed")
        self.spiel = spiel = load_game(load_string, parameters)
        """The ``pyspiel.Game``."""
        self.name, self.title = f"openspiel:{spiel.get_type().short_name}", spiel.get_type().long_name
        self.options = {**plain_parameters(spiel), "outcomes": outcomes}
        if outcomes == "buckets":
            self.options = {**self.options, "num_buckets": num_buckets}
        self.num_players = spiel.num_players()
        self.cooperative = "IDENTICAL" in str(spiel.get_type().utility)
        levels, vectors = enumerated_returns(spiel) if outcomes == "enumerate" else bucketed_returns(spiel, num_buckets)
        self.outcomes = outcome_table(spiel, levels[vectors])
        self._labels = {tuple(vector): label for label, vector in enumerate(vectors.tolist())}
        self._observer = Observer(spiel, levels, action_names(spiel), max_witness_steps)
        self.vocabulary, self.first_action = self._observer.vocabulary, self._observer.first_action
        longest = spiel.max_game_length()
        self.max_length = 1 + 2 * longest + spiel.max_chance_nodes_in_history() + self.num_players + 1
        self._views = Views(self._observer, self.num_players)

    # ---- the true state

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        return _objects([self._settled(self._replayed([], int(seed))) for seed in seeds])

    def to_move(self, states: np.ndarray) -> np.ndarray:
        return np.array([max(state.spiel.current_player(), -1) for state in states], np.int8)

    def legal(self, states: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(states), self.vocabulary.size), np.bool_)
        for row, state in enumerate(states):
            legal[row, self._action_tokens(state.spiel)] = True
        return legal

    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        for row, token in enumerate(np.asarray(actions).tolist()):
            state = states[row]
            if state.spiel.is_terminal():
                continue
            if token not in self._action_tokens(state.spiel):
                raise self.refusal(states, row, token)
            states[row] = self._settled(self._stepped(state, token - self.first_action))

    def outcome(self, states: np.ndarray) -> np.ndarray:
        labels = np.full((len(states), self.num_players), -1, np.int32)
        for row, state in enumerate(states):
            if state.spiel.is_terminal():
                labels[row] = [self._label(state.spiel, seat) for seat in range(self.num_players)]
        return labels

    def points(self, states: np.ndarray) -> np.ndarray:
        """As ``Game.points``: the returns of OpenSpiel, exact also where labels are buckets."""
        over = np.array([state.spiel.is_terminal() for state in states], np.bool_)
        if not over.all():
            raise ValueError(f"points asked of row {int(np.argmin(over))} before its deal is over")
        return np.array([state.spiel.returns() for state in states], np.float32).reshape(-1, self.num_players)

    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.full((len(states), self.max_length), self.vocabulary.eos, self.vocabulary.dtype)
        lengths = np.zeros(len(states), np.int32)
        for row, (state, seat) in enumerate(zip(states, seats, strict=True)):
            seen = state.traces[int(seat)].tokens
            tokens[row, : len(seen)] = seen
            lengths[row] = len(seen)
        return tokens, lengths

    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        for row, seed in enumerate(np.asarray(seeds, np.uint64)):
            state = states[row]
            while not state.spiel.is_terminal():
                legal = state.spiel.legal_actions()
                pick = int(_uniform(seed, len(state.spiel.history())) * len(legal))
                state = self._settled(self._stepped(state, legal[pick]))
            states[row] = state

    def replay(self, actions: list[list[int]]) -> np.ndarray:
        """States after given OpenSpiel actions, chance actions included; further chance follows from seed 0. A state
        may be at a chance node then, which has no seat to move."""
        return _objects([self._replayed(history, 0) for history in actions])

    def to_spiel(self, states: np.ndarray) -> list[Any]:
        """A ``pyspiel.State`` of its own for every state."""
        return [state.spiel.clone() for state in states]

    # ---- what one seat knows

    def views(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        rows = zip(np.asarray(tokens).tolist(), np.asarray(lengths).tolist(), strict=True)
        return _objects([self._views.of(tuple(row[:length])) for row, length in rows])

    def advance(self, views: np.ndarray, tokens: np.ndarray) -> None:
        for row, token in enumerate(np.asarray(tokens).tolist()):
            if self._views.next(views[row]) != Next.END:
                views[row] = self._views.of((*views[row].tokens, token))

    def next(self, views: np.ndarray) -> np.ndarray:
        return np.array([self._views.next(view) for view in views], np.int8)

    def view_legal(self, views: np.ndarray) -> np.ndarray:
        legal = np.zeros((len(views), self.vocabulary.size), np.bool_)
        for row, view in enumerate(views):
            if self._views.next(view) == Next.ACTION:
                legal[row, self._action_tokens(view.reached.state)] = True
        return legal

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        labels = [
            self._label(view.reached.state, view.reached.trace.seat)
            if view.possible and self._views.next(view) == Next.END
            else -1
            for view in views
        ]
        return np.array(labels, np.int32)

    def consistent(self, views: np.ndarray) -> np.ndarray:
        return np.array([view.possible for view in views], np.bool_)

    def view_possible(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_possible``: read off the states behind a history where they are few, else by trying every
        token, which takes minutes in large games."""
        possible = np.zeros((len(views), self.vocabulary.size), np.bool_)
        for row, view in enumerate(views):
            tokens = self._views.possible_tokens(view)
            if tokens is None:
                possible[row] = super().view_possible(views[row : row + 1])[0]
            else:
                possible[row, tokens] = True
        return possible

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As ``Game.determinize``; nearly uniform over the states reached by exchanging hidden actions, not weighted by
        how likely the others' play makes them. Further chance follows from the row's seed."""
        states, seats = [], np.zeros(len(views), np.int8)
        for row, (view, seed) in enumerate(zip(views, np.asarray(seeds, np.uint64).tolist(), strict=True)):
            if not view.possible:
                raise ValueError(f"row {row}: no deal agrees with this history, it is inconsistent")
            states.append(self._settled(self._replayed(self._views.sample(view, seed), seed)))
            seats[row] = 0 if view.reached is None else view.reached.trace.seat
        return _objects(states), seats

    # ---- one state

    def _stepped(self, state: _State, action: int) -> _State:
        after = state.spiel.child(action)
        traces = tuple(self._observer.see(trace, state.spiel, action, after) for trace in state.traces)
        return _State(after, state.seed, traces)

    def _settled(self, state: _State) -> _State:
        """Chance plays until a seat is to move or the deal is over."""
        while state.spiel.is_chance_node():
            outcomes, chances = zip(*state.spiel.chance_outcomes(), strict=True)
            draw = _uniform(np.uint64(state.seed), len(state.spiel.history())) * sum(chances)
            pick = min(int(np.searchsorted(np.cumsum(chances), draw, side="right")), len(outcomes) - 1)
            state = self._stepped(state, outcomes[pick])
        return state

    def _replayed(self, history: list[int], seed: int) -> _State:
        starts = [self._observer.begin(seat) for seat in range(self.num_players)]
        state = _State(starts[0].state, seed, tuple(start.trace for start in starts))
        for action in history:
            state = self._stepped(state, action)
        return state

    def _action_tokens(self, spiel_state: Any) -> list[int]:
        if spiel_state.is_terminal():
            return []
        return [self.first_action + action for action in spiel_state.legal_actions()]

    def _label(self, spiel_state: Any, seat: int) -> int:
        return self._labels[self._observer.level_indices(spiel_state.returns(), seat)]


def _objects(records: list[Any]) -> np.ndarray:
    batch = np.empty(len(records), object)
    batch[:] = records
    return batch


def _uniform(seed: np.uint64, number: int) -> float:
    """The draw in ``[0, 1)`` of a seed at a place of the history."""
    return int(mix(seed, number) >> np.uint64(11)) / (1 << 53)
