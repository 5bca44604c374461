"""A network's expectations after a history, for people.

Letters: ``T`` tokens of a history.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from games.game import Game, Next
from games.rng import derive
from learner.observation_model import ObservationModel
from search.go_mcts.config import GoMctsConfig
from search.go_mcts.player import GoMcts
from search.go_mcts.search import Search
from search.players.histories import ask
from search.players.player import Turns
from search.players.policy import legal_policy

_MOST_TOKENS = 12


@dataclass(frozen=True)
class ActionHint:
    """A legal action of the seat."""

    token: int
    probability: float
    """Its probability in the policy over legal actions (paper 001, equation 3)."""
    value: float
    """V(h.a), in units of the utility."""


@dataclass(frozen=True)
class Visits:
    """GO-MCTS's statistics of a root action."""

    visits: int
    value: float
    """Mean of the backed-up values, in units of the utility."""


@dataclass(frozen=True)
class Expectation:
    """The network's output for a history."""

    value: float
    """V(h), in units of the utility."""
    next_tokens: tuple[tuple[int, float], ...]
    """The most probable next tokens with p(token | h), most probable first."""
    actions: tuple[ActionHint, ...]
    """The seat's legal actions, most probable first; empty on another seat's turn."""
    illegal: float
    """Probability of illegal next tokens; 0 on another seat's turn."""


class Hints:
    """Queries a network about histories; keeps nothing between queries."""

    def __init__(self, game: Game, model: ObservationModel, config: GoMctsConfig, seed: int) -> None:
        """``config``: of the searches; ``seed``: of their random numbers."""
        self._game, self._model, self._config, self._seed = game, model, config, seed

    def expect(self, tokens: np.ndarray) -> Expectation | None:
        """The network's output for a history (``[T]``); None at its end."""
        views = self._game.views(tokens[None], np.array([len(tokens)]))
        if len(tokens) == 0 or self._game.next(views)[0] == Next.END:
            return None
        legal = self._game.view_legal(views)
        answer = ask(self._model, tokens[None], np.array([len(tokens)]), legal, values=True)
        chances, actions = answer.next_token[0], np.flatnonzero(legal[0])
        policy = legal_policy(answer.next_token, legal)[0] if len(actions) else chances
        hints = [
            ActionHint(int(action), float(policy[action]), float(value))
            for action, value in zip(actions, answer.action_values, strict=True)
        ]
        best = np.argsort(-chances, kind="stable")[:_MOST_TOKENS]
        return Expectation(
            value=float(answer.value[0]),
            next_tokens=tuple((int(token), float(chances[token])) for token in best),
            actions=tuple(sorted(hints, key=lambda hint: -hint.probability)),
            illegal=float(1 - chances[actions].sum()) if len(actions) else 0.0,
        )

    def search(self, tokens: np.ndarray) -> dict[int, Visits]:
        """Action -> statistics of a search from a history (``[T]``); empty where the seat has no choice."""
        search = None
        for search in self.searching(tokens):  # noqa: B007 (the last is wanted)
            pass
        return visits_of(search)

    def searching(self, tokens: np.ndarray) -> Generator[Search, None, None]:
        """A search from a history (``[T]``) in each of its pauses, and once it has ended; nothing where the seat has no
        choice. Searches of several histories may take turns."""
        length = np.array([len(tokens)], np.int32)
        legal = self._game.view_legal(self._game.views(tokens[None], length))
        if legal.sum() < 2:
            return
        seeds = np.array([derive(self._seed, "hint", *tokens.tolist())], np.uint64)
        zero, padded = np.zeros(1, np.int64), np.full((1, self._game.max_length), self._game.vocabulary.eos, np.int64)
        padded[0, : len(tokens)] = tokens
        player = GoMcts(self._model, self._config)
        player.start(self._game, 1)
        yield from player.searching(Turns(zero, zero, padded, length, legal, seeds))
        player.forget(zero)


def visits_of(search: Search | None) -> dict[int, Visits]:
    """The visits of the root's actions, in a pause or at the end; empty for no search."""
    if search is None:
        return {}
    found = zip(*(each.tolist() for each in search.forest.root_statistics(0)), strict=True)
    return {action: Visits(count, value) for action, value, count in found}
