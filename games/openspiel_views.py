"""What one seat of an OpenSpiel game knows: its tokens, and the full states that explain them.

As long as the states behind a history are few they are all kept, and which tokens may follow is read off them: exact,
and without a search. This holds at every place of ``kuhn_poker``, ``leduc_poker`` and ``liars_dice``. Behind a history
of ``hearts`` there are soon too many; one state that ``Observer.explain`` finds stands for them then.
"""

import functools
import random
from dataclasses import dataclass

from games.game import Next
from games.openspiel_histories import Observer, Witness
from games.rng import derive

MAX_WORLDS = 1000
"""States tried for the next token of one history at most; where there are more, one is searched for from then on."""
_CACHED_VIEWS = 4096


@dataclass(frozen=True)
class View:
    """What one seat has seen, and states that explain it."""

    tokens: tuple[int, ...] = ()
    base: Witness | None = None
    """Explains a beginning of the history in whole steps."""
    reached: Witness | None = None
    """Explains all of it, perhaps with tokens to spare where a step shows several; None before the seat is known."""
    worlds: tuple[Witness, ...] = ()
    """Every state that ``reached`` may be; empty where they are too many."""
    possible: bool = True


class Views:
    """Views of one game by their tokens; each is a function of the tokens alone, whatever was asked before."""

    def __init__(self, observer: Observer, num_seats: int) -> None:
        self._observer, self._num_seats = observer, num_seats
        self.of = functools.lru_cache(_CACHED_VIEWS)(self._rebuild)
        """Tokens -> ``View``."""
        self._worlds_after = functools.lru_cache(_CACHED_VIEWS)(self._expand)

    def next(self, view: View) -> Next:
        """What follows the view's tokens."""
        if not view.possible:
            return Next.END
        if view.reached is None:
            return Next.OBSERVATION
        if view.tokens[-1] == self._observer.turn:
            return Next.ACTION
        over = view.reached.state.is_terminal() and len(view.tokens) >= len(view.reached.trace.tokens) - 1
        return Next.END if over else Next.OBSERVATION

    def possible_tokens(self, view: View) -> list[int] | None:
        """Tokens after which the history could still have happened; None where only trying each would show it."""
        if self.next(view) == Next.END:
            return []
        if view.reached is None:
            return list(range(self._num_seats))
        following = self._worlds_after(view.tokens)
        return None if following is None else list(following)

    def sample(self, view: View, seed: int) -> list[int]:
        """Actions of OpenSpiel, chance actions included, that lead to one of the states behind a possible view."""
        if view.reached is None or view.base is None:
            return []
        if view.worlds:
            witness = random.Random(derive(seed, "world")).choice(view.worlds)
        elif view.reached.trace.tokens == view.tokens:
            witness = self._observer.mix(view.reached, derive(seed, "mix"))
        else:  # the history stops inside a step, whose rest is yet to be drawn
            witness = self._observer.mix(view.base, derive(seed, "mix"))
            explained = self._observer.explain(witness, view.tokens, derive(seed, "explain"))
            witness = explained[1] if explained else view.reached
        return list(witness.state.history())

    def _rebuild(self, tokens: tuple[int, ...]) -> View:
        if not tokens:
            return View()
        view, token = self.of(tokens[:-1]), tokens[-1]
        if self.next(view) == Next.END:
            return view
        impossible = View(tokens, view.base, view.reached, possible=False)
        if view.reached is None or view.base is None:
            if token not in range(self._num_seats):
                return impossible
            start = self._observer.begin(token)
            return View(tokens, start, start, (start,))
        base = view.reached if view.reached.trace.tokens == view.tokens else view.base
        following = self._worlds_after(view.tokens)
        if following is None:
            return self._searched(view, base, token) or impossible
        return View(tokens, base, following[token][0], following[token]) if token in following else impossible

    def _expand(self, tokens: tuple[int, ...]) -> dict[int, tuple[Witness, ...]] | None:
        """Next token -> all states that show it; None where they are too many."""
        known, following = len(tokens), dict[int, list[Witness]]()
        layer, tried = self.of(tokens).worlds, 0
        if not layer:
            return None
        while layer:
            for world in layer:
                if len(world.trace.tokens) > known:
                    following.setdefault(world.trace.tokens[known], []).append(world)
            # What shows nothing was a hidden step; another one follows it.
            steps = [(world, world.state.legal_actions()) for world in layer if len(world.trace.tokens) == known]
            tried += sum(len(actions) for _, actions in steps)
            if tried > MAX_WORLDS:
                return None
            layer = tuple(self._observer.step(world, action) for world, actions in steps for action in actions)
        return {token: tuple(worlds) for token, worlds in following.items()}

    def _searched(self, view: View, base: Witness, token: int) -> View | None:
        """The view with one token more, from one state that shows it; None if none was found."""
        assert view.reached is not None
        tokens, reached = (*view.tokens, token), view.reached
        if reached.trace.tokens[: len(tokens)] == tokens:
            return View(tokens, base, reached)
        if self.next(view) == Next.ACTION and token - self._observer.first_action not in reached.state.legal_actions():
            return None
        explained = self._observer.explain(base, tokens, derive(0, "witness", *tokens))
        return None if explained is None else View(tokens, *explained)
