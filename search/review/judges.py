"""Who judges a decision: a network by V(h.a), GO-MCTS by its search, or a player that says what actions are worth.

Letters: ``M`` turns, ``V`` tokens of the vocabulary.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from games.game import Game
from learner.observation_model import by_token
from search.go_mcts.player import GoMcts
from search.players.argmax_val import ArgmaxVal, argmax_val
from search.players.config import ArgmaxValConfig
from search.players.histories import ModelPlayer, tokens_since
from search.players.player import Turns, Valuing
from search.players.policy import legal_policy
from search.roster import kinds
from search.roster.registry import Entrant


@dataclass(frozen=True)
class Opinion:
    """What a judge thinks of turns. Values are the seat's, in units of the judge's utility."""

    probabilities: np.ndarray
    """``float32[M, V]``: how likely it would choose each legal action; NaN where it does not say."""
    values: np.ndarray
    """``float64[M, V]``: of each legal action; NaN where it did not consider one."""
    best: np.ndarray
    """``int64[M]``: what it would do; -1 on others' turns."""
    expected: np.ndarray
    """``float64[M]``: V(h), before the action; NaN where it does not say."""


class Judge(Protocol):
    """Judges turns of deals that are all over: the same place at a table has one history that only grows."""

    tells_others: bool
    """Whether it has an expectation on others' turns too."""

    def start(self, game: Game, num_games: int) -> None:
        """See ``Player``."""

    def forget(self, games: np.ndarray) -> None:
        """See ``Player``."""

    def opinion(self, turns: Turns) -> Opinion:
        """Of each turn. On others' turns nothing is legal, and only ``expected`` is told."""


class NetworkJudge(ModelPlayer):
    """ArgmaxVal*: V(h.a) of one network, and what is best among the likely actions (paper 001, equations 2 and 3)."""

    tells_others = True

    def __init__(self, model: Any, config: ArgmaxValConfig) -> None:
        super().__init__(model)
        self._config = config

    def opinion(self, turns: Turns) -> Opinion:
        """See ``Judge``."""
        handles, held = self.histories.beginnings(turns)
        new = tokens_since(turns.tokens, held, turns.lengths)
        model = self.histories.model
        answer = model.query(handles, *new, turns.legal, np.ones(len(handles), np.bool_))
        self.histories.store(turns, answer.handles)
        model.release(answer.action_handles)
        own = turns.legal.any(axis=1)
        values, policy = by_token(answer.action_values, turns.legal), np.full(turns.legal.shape, np.nan, np.float32)
        policy[own] = np.where(turns.legal[own], legal_policy(answer.next_token[own], turns.legal[own]), np.nan)
        best = np.full(len(handles), -1)
        limits = self._config.threshold, self._config.policy_weight
        best[own] = argmax_val(answer.next_token[own], values[own], turns.legal[own], *limits)
        return Opinion(policy, values.astype(np.float64), best, answer.value.astype(np.float64))


class SearchJudge(GoMcts):
    """GO-MCTS: mean values of the root's actions, and the shares of their visits."""

    tells_others = False

    def opinion(self, turns: Turns) -> Opinion:
        """See ``Judge``."""
        shape = turns.legal.shape
        policy, values = np.full(shape, np.nan, np.float32), np.full(shape, np.nan)
        forest = self.search(turns).forest
        for tree in range(len(turns.game)):
            actions, means, visits = forest.root_statistics(tree)
            policy[tree, turns.legal[tree]] = 0.0
            policy[tree, actions], values[tree, actions] = visits / visits.sum(), means
        return Opinion(policy, values, np.nanargmax(values, axis=1), np.nanmax(values, axis=1))


class ValuingJudge:
    """A player that says what actions are worth."""

    tells_others = False

    def __init__(self, player: Any) -> None:
        """``player``: a ``Player`` that is ``Valuing``."""
        self._player: Any = player

    def start(self, game: Game, num_games: int) -> None:
        """See ``Player``."""
        self._player.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """See ``Player``."""
        self._player.forget(games)

    def opinion(self, turns: Turns) -> Opinion:
        """See ``Judge``."""
        valuing: Valuing = self._player
        values = valuing.action_values(turns)
        values = np.where(np.isfinite(values), values, np.nan)
        silent = np.full(values.shape, np.nan, np.float32)
        return Opinion(silent, values, np.nanargmax(values, axis=1), np.nanmax(values, axis=1))


def judge_of(entrant: Entrant, player: Any) -> Judge:
    """The judge that a seated player makes. ``ValueError`` for one that tells no values, or sees hidden cards."""
    if player.sees_hidden:
        raise ValueError(f"--player {entrant.name}: it sees hidden cards; name a player that sees what the seat sees")
    if isinstance(player, ArgmaxVal):
        return NetworkJudge(player.histories.model, entrant.settings)
    if isinstance(player, GoMcts):
        return SearchJudge(player.histories.model, entrant.settings)
    if entrant.kind.values_actions:
        return ValuingJudge(player)
    told = [kind.name for kind in kinds.every() if kind.values_actions or kind.name in ("argmax_val", "go_mcts")]
    raise ValueError(f"--player {entrant.name}: it does not say what actions are worth; choose {', '.join(told)}")
