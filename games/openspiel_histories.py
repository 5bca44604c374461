"""What a seat of an OpenSpiel game sees, as tokens, and full states that explain such a history.

OpenSpiel gives what a seat knows as one string (``information_state_string``), which grows with perfect recall. Two
things are made of it here.

*Tokens.* ``Observer.see`` writes what one step adds to one seat's history. The seat sees an action of another seat or
of chance if every alternative in the same state would have given the seat a different string; it sees nothing if all
give the same one. A lone forced step counts as seen if the string changes. The actor's seat stands before the action
unless it is the one clockwise of the last actor seen. An action seen late (cards that are passed unseen and arrive
later) is written once no exchange with another id in the steps the seat has not seen would leave its string as it is;
several at once by id, since the order they were played in may still be hidden.

*Explanations.* ``Observer.explain`` finds a full state whose history for the seat is the given one. It plays on from a
state that explains a prefix. Where that fails (the card played now was dealt to another seat), it exchanges two ids in
steps hidden from the seat, keeps exchanges that do not change the seat's string, and tries again: a random walk over
states that the seat cannot distinguish. The walk is bounded; a history without explanation within the bound counts as
impossible. That is certain for the small poker games; in hearts the walk explained every prefix of 64 random histories
with a bound of 10,000, but not all with 3,000.

Exact where an action of another seat is seen wholly or not at all. A game that shows a seat part of an action (one of
several classes) is refused when that happens; chance may show parts, the lowest id of a class then stands for it.
Not exact where a forced hidden step makes something else visible at once, where what is revealed late depends on
several hidden actions together and on none alone, or where two histories with equal tokens have different strings: a
search only goes on from the state that explained the tokens so far, and keeps its string.
"""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from games.vocabulary import Vocabulary

_TRIES_OF_OTHERS = 3
_SETBACK = 0.1  # chance to walk on from a state that explains less than the last one did
_RESTART = 0.02  # chance to start over where an exchange was refused: the hidden steps may be the wrong ones


@dataclass(frozen=True)
class Trace:
    """What one seat has seen of a game."""

    seat: int
    tokens: tuple[int, ...]
    hidden: tuple[int, ...] = ()
    """Places in the game's action history whose action the seat has not seen."""
    pending: tuple[int, ...] = ()
    """Those of them that were actions of players, which may yet be revealed."""
    last: int = -1
    """Seat whose action was seen last, -1 before the first."""


@dataclass(frozen=True)
class Witness:
    """A full state (``pyspiel.State``, never changed in place) and what one seat has seen on the way to it."""

    state: Any
    trace: Trace


class Observer:
    """Writes histories of one OpenSpiel game and explains them."""

    def __init__(self, spiel_game: Any, levels: np.ndarray, action_names: list[str], max_tries: int) -> None:
        """
        Args:
            spiel_game: the ``pyspiel.Game``.
            levels: ``float[R]`` ascending: the returns a seat can see at the end.
            action_names: names of the player actions, by id.
            max_tries: bound of ``explain``, in attempts.
        """
        self._game, self._levels, self._max_tries = spiel_game, levels, max_tries
        chance = spiel_game.max_chance_outcomes()
        self._num_ids = max(spiel_game.num_distinct_actions(), chance)
        self.vocabulary = Vocabulary(
            {
                "Seats": tuple(f"seat {seat}" for seat in range(spiel_game.num_players())),
                "Turn": ("turn",),
                "Actions": tuple(action_names),
                "Chance": tuple(f"chance {outcome}" for outcome in range(chance)),
                "Returns": tuple(f"return {level:g}" for level in levels),
            }
        )
        self._first_seat = self.vocabulary.first("Seats")
        self.turn = self.vocabulary.first("Turn")
        self.first_action = self.vocabulary.first("Actions")
        self._first_chance = self.vocabulary.first("Chance")
        self._first_return = self.vocabulary.first("Returns")

    # ---- tokens

    def begin(self, seat: int) -> Witness:
        """The start of a game for ``seat``: it learns where it sits."""
        state = self._game.new_initial_state()
        turn = (self.turn,) if state.current_player() == seat else ()
        return Witness(state, Trace(seat, (self._first_seat + seat, *turn)))

    def step(self, witness: Witness, action: int) -> Witness:
        """Play one action (an OpenSpiel id) and write what the seat sees of it.

        Raises ``ValueError`` for a game that shows the seat a part of another seat's action.
        """
        before = witness.state
        after = before.child(action)
        return Witness(after, self.see(witness.trace, before, action, after))

    def see(self, trace: Trace, before: Any, action: int, after: Any) -> Trace:
        """What the seat of ``trace`` has seen once ``action`` led from ``before`` to ``after``."""
        seat, actor, place = trace.seat, before.current_player(), len(before.history())
        shown = action if actor == seat else self._shown(before, action, after, seat)
        hidden, pending = trace.hidden, trace.pending
        late: tuple[int, ...] = ()
        if shown is None:
            hidden, pending = (*hidden, place), (*pending, place) if actor >= 0 else pending
        changed = after.information_state_string(seat) != before.information_state_string(seat)
        if pending and changed and not after.is_terminal():
            late = tuple(other for other in pending if self._is_revealed(after, hidden, pending, other, seat))
            hidden = tuple(other for other in hidden if other not in late)
            pending = tuple(other for other in pending if other not in late)
            if shown is not None and actor not in (seat, -1) and self._is_one_of(after, late, place, seat):
                shown, late = None, (*late, place)
        tokens, last = list(trace.tokens), trace.last
        if shown is not None:
            tokens += self._shown_tokens(trace, actor, shown)
            last = actor if actor >= 0 else last
        tokens += sorted(self.first_action + after.history()[other] for other in late)
        if after.is_terminal():
            levels = self.level_indices(after.returns(), seat)
            tokens += [*(self._first_return + index for index in levels), self.vocabulary.eos]
        elif after.current_player() == seat:
            tokens.append(self.turn)
        return Trace(seat, tuple(tokens), hidden, pending, last)

    def _shown_tokens(self, trace: Trace, actor: int, shown: int) -> list[int]:
        """An action seen at once, after its seat where that is not the next one clockwise."""
        if actor < 0:
            return [self._first_chance + shown]
        follows = trace.last >= 0 and actor == (trace.last + 1) % self._game.num_players()
        named = [] if actor == trace.seat or follows else [self._first_seat + actor]
        return [*named, self.first_action + shown]

    def level_indices(self, returns: list[float], seat: int) -> tuple[int, ...]:
        """Index of the nearest level for the return of every seat, ``seat`` first."""
        rotated = np.roll(np.asarray(returns), -seat)
        return tuple(int(index) for index in np.abs(rotated[:, None] - self._levels).argmin(axis=1))

    def _shown(self, before: Any, action: int, after: Any, seat: int) -> int | None:
        """The id the seat sees for another's action, None if it sees nothing of it."""
        now = after.information_state_string(seat)
        others = [other for other in before.legal_actions() if other != action]
        if not others:
            return action if now != before.information_state_string(seat) else None
        same = [other for other in others if before.child(other).information_state_string(seat) == now]
        if len(same) == len(others):
            return None
        if same and not before.is_chance_node():
            raise ValueError(
                f"{self._game} shows seat {seat} a part of the action {before.action_to_string(action)} of seat "
                f"{before.current_player()}; the adapter only knows actions that are seen wholly or not at all"
            )
        return min([action, *same])

    def _is_revealed(
        self, after: Any, hidden: tuple[int, ...], pending: tuple[int, ...], place: int, seat: int
    ) -> bool:
        """Whether the action at ``place`` is visible by now: any exchange with the hidden steps would change the seat's
        string. Exchanges among the pending actions do not count, as they only change the order."""
        history, revealed = after.history(), False
        action, together = history[place], {history[other] for other in pending}
        for other in (other for other in range(self._num_ids) if other not in together):
            state = self._replay(_exchanged(after.history(), hidden, action, other))
            if state is not None:
                if state.information_state_string(seat) == after.information_state_string(seat):
                    return False
                revealed = True
        return revealed

    def _is_one_of(self, after: Any, late: tuple[int, ...], place: int, seat: int) -> bool:
        """Whether the seat cannot distinguish the action at ``place`` from the actions revealed with it."""
        if not late:
            return False
        history = after.history()
        state = self._replay(_exchanged(history, (*late, place), history[late[0]], history[place]))
        return bool(state is not None and state.information_state_string(seat) == after.information_state_string(seat))

    def _replay(self, actions: list[int], state: Any = None) -> Any:
        """``state`` (the initial one if None) played on in place, None where an action is not legal."""
        state = self._game.new_initial_state() if state is None else state
        for action in actions:
            if action not in state.legal_actions():
                return None
            state.apply_action(action)
        return state

    # ---- explanations

    def explain(self, base: Witness, tokens: tuple[int, ...], seed: int) -> tuple[Witness, Witness] | None:
        """Go on from ``base``, whose tokens begin ``tokens``, to a state whose history begins with all of them.

        Returns the state before the step that shows the last of them, for a later search to start from, and the state
        after it; None if none was found.
        """
        chooser = random.Random(seed)
        remaining = tokens[len(base.trace.tokens) :]
        current, best = base, -1
        shown: tuple[int, ...] = ()
        for attempt in range(self._max_tries):
            proposed = (
                self._exchange(current, self._proposal(current, remaining, shown, chooser), chooser)
                if attempt
                else base
            )
            if proposed is current and attempt:
                if chooser.random() < _RESTART:
                    current, best = base, -1
                elif current.trace.hidden:
                    continue
            stop, reached, written = self._forward(proposed, tokens, chooser)
            if reached is not None:
                return stop, reached
            score = len(set(remaining) & set(written))
            if score >= best or chooser.random() < _SETBACK:
                current, best, shown = stop, score, written
        return None

    def mix(self, witness: Witness, seed: int, proposals: int = 300) -> Witness:
        """A state that looks the same to the seat: a random walk of symmetric exchanges, whose limit is uniform over
        the states it can reach."""
        chooser = random.Random(seed)
        if witness.state.is_terminal():
            return witness
        for _ in range(proposals):
            pair = chooser.randrange(self._num_ids), chooser.randrange(self._num_ids)
            witness = self._exchange(witness, pair, chooser)
        return witness

    def _forward(
        self, witness: Witness, tokens: tuple[int, ...], chooser: random.Random
    ) -> tuple[Witness, Witness | None, tuple[int, ...]]:
        """Play on through steps the seat does not see to one it sees as ``tokens`` says.

        Returns where that step or a dead end is, the state after the step (None at a dead end), and the tokens that
        the best step there would show.
        """
        known = len(witness.trace.tokens)
        remaining, best = tokens[known:], tokens[:0]
        while not witness.state.is_terminal():
            hidden = None
            for action in self._candidates(witness, remaining, chooser):
                reached = self.step(witness, action)
                written = reached.trace.tokens[known:]
                if not written:
                    hidden = reached
                    break
                if written[: len(remaining)] == remaining[: len(written)]:
                    return witness, reached, written
                best = max(best, written, key=lambda shown: len(set(remaining) & set(shown)) if shown else -1)
            if hidden is None:
                break
            witness = hidden
        return witness, None, best

    def _candidates(self, witness: Witness, rest: tuple[int, ...], chooser: random.Random) -> list[int]:
        """Actions worth trying: what the next tokens name, and a few others, since the step may be a hidden one."""
        state = witness.state
        first = self._first_chance if state.is_chance_node() else self.first_action
        legal = state.legal_actions()
        named = [token - first for token in rest if token - first in legal]
        if state.current_player() == witness.trace.seat:
            return named[:1] if named and named[0] == rest[0] - first else []
        others = chooser.sample(legal, min(len(legal), _TRIES_OF_OTHERS))
        return named[:1] + others if chooser.random() < 0.5 else others + named[:1]

    def _proposal(
        self, current: Witness, rest: tuple[int, ...], shown: tuple[int, ...], chooser: random.Random
    ) -> tuple[int, int]:
        """Two ids to exchange, biased to useful exchanges: an id to be shown for the one shown instead, or for any; a
        legal id for any."""
        named, wrong = self._ids_of(set(rest) - set(shown)), self._ids_of(set(shown) - set(rest))
        if named and wrong and chooser.random() < 0.5:
            return chooser.choice(named), chooser.choice(wrong)
        history, anything = current.state.history(), range(self._num_ids)
        hidden = [history[place] for place in current.trace.hidden] or anything
        one = chooser.choice(chooser.choice([named or anything, current.state.legal_actions() or anything, anything]))
        return one, chooser.choice(chooser.choice([hidden, anything]))

    def _ids_of(self, tokens: set[int]) -> list[int]:
        """OpenSpiel's ids of the actions and chance outcomes among some tokens."""
        starts = (self._first_chance, self.first_action)
        within = sorted(token for token in tokens if self.first_action <= token < self._first_return)
        return [token - next(first for first in starts if token >= first) for token in within]

    def _exchange(self, witness: Witness, pair: tuple[int, int], chooser: random.Random) -> Witness:
        """The witness with two ids exchanged in steps its seat has not seen, or unchanged where the seat would see the
        difference or the game would not allow it.

        Half the time a second exchange goes with the first (three ids in turn), and either may be of chance's or of
        players' steps alone: some states are only reached past ones that would not be allowed.
        """
        hidden, pending, seat = witness.trace.hidden, witness.trace.pending, witness.trace.seat
        kinds = [hidden, pending, tuple(place for place in hidden if place not in pending)] if pending else [hidden]
        before = witness.state.history()
        history = _exchanged(before, chooser.choice(kinds), *pair)
        if chooser.random() < 0.5:
            history = _exchanged(history, chooser.choice(kinds), chooser.choice(pair), chooser.randrange(self._num_ids))
        state = self._replay(history) if history != before else None
        if (
            state is None
            or (state.current_player() == seat) != (witness.state.current_player() == seat)
            or state.information_state_string(seat) != witness.state.information_state_string(seat)
        ):
            return witness
        return Witness(state, witness.trace)


def _exchanged(history: list[int], places: tuple[int, ...], one: int, other: int) -> list[int]:
    """A copy of an action history with two ids exchanged at some places of it."""
    swap, exchanged = {one: other, other: one}, list(history)
    for place in places:
        exchanged[place] = swap.get(exchanged[place], exchanged[place])
    return exchanged
