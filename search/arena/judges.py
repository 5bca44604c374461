"""Who judges a decision: a network by V(h.a), GO-MCTS by its search, or a player that says what actions are worth.

Letters: ``M`` turns, ``V`` tokens of the vocabulary.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from games.game import Game
from learner.config import EngineConfig
from learner.model.checkpoint import installed
from learner.observation_model import by_token
from search.arena.values.report import unit_of
from search.config import SearchConfig
from search.go_mcts.player import GoMcts
from search.players.argmax_val import ArgmaxVal, argmax_val
from search.players.config import ArgmaxValConfig
from search.players.histories import ModelPlayer
from search.players.kinds import PlayerKind
from search.players.player import Turns
from search.players.policy import legal_policy
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import Entrant, resolve, seat_players


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
    at_once: int
    """Histories to judge side by side: all of a search's hold their part of the network's cache."""

    def start(self, game: Game, num_games: int) -> None:
        """See ``Player``."""

    def forget(self, games: np.ndarray) -> None:
        """See ``Player``."""

    def opinion(self, turns: Turns) -> Opinion:
        """The opinion on each turn. On others' turns nothing is legal, and only ``expected`` is known."""


class NetworkJudge(ModelPlayer):
    """ArgmaxVal*: V(h.a) of one network, and what is best among the likely actions (paper 001, equations 2 and 3)."""

    tells_others, at_once = True, 256

    def __init__(self, model: Any, config: ArgmaxValConfig) -> None:
        super().__init__(model)
        self._config = config

    def opinion(self, turns: Turns) -> Opinion:
        """See ``Judge``."""
        answer = self.histories.query(turns, turns.legal, np.ones(len(turns.legal), np.bool_))
        self.histories.model.release(answer.action_handles)
        own = turns.legal.any(axis=1)
        values, policy = by_token(answer.action_values, turns.legal), np.full(turns.legal.shape, np.nan, np.float32)
        policy[own] = np.where(turns.legal[own], legal_policy(answer.next_token[own], turns.legal[own]), np.nan)
        best = np.full(len(turns.legal), -1)
        limits = self._config.threshold, self._config.policy_weight
        best[own] = argmax_val(answer.next_token[own], values[own], turns.legal[own], *limits)
        return Opinion(policy, values.astype(np.float64), best, answer.value.astype(np.float64))


class SearchJudge(GoMcts):
    """GO-MCTS: mean values of the root's actions, and the shares of their visits."""

    tells_others, at_once = False, 16

    def opinion(self, turns: Turns) -> Opinion:
        """See ``Judge``."""
        shape = turns.legal.shape
        policy, values = np.full(shape, np.nan, np.float32), np.full(shape, np.nan)
        forest, weight = self.search(turns).forest, self.config.policy_weight
        best = np.array([forest.best_action(tree, weight) for tree in range(len(turns.game))])
        for tree in range(len(turns.game)):
            actions, means, visits = forest.root_statistics(tree)
            policy[tree, turns.legal[tree]] = 0.0
            policy[tree, actions], values[tree, actions] = visits / visits.sum(), means
        return Opinion(policy, values, best, values[np.arange(len(best)), best])


class ValuingJudge:
    """A player that says what actions are worth."""

    tells_others, at_once = False, 256

    def __init__(self, player: Any) -> None:
        """``player``: a ``Player`` that is ``Valuing``."""
        self._player, self.start, self.forget = player, player.start, player.forget

    def opinion(self, turns: Turns) -> Opinion:
        """See ``Judge``: the player itself says what it would do, which need not have the highest value. A player that
        offers both of one search (``decided``) searches once."""
        player = self._player
        both = player.decided(turns) if hasattr(player, "decided") else (player.act(turns), player.action_values(turns))
        best, values = both[0], np.where(np.isfinite(both[1]), both[1], np.nan)
        silent = np.full(values.shape, np.nan, np.float32)
        return Opinion(silent, values, best, values[np.arange(len(best)), best])


@dataclass(frozen=True)
class JudgeSetup:
    """A judge of one game, ready to be asked."""

    name: str
    """As a player is written, with its network."""
    network: str
    """``id`` of its network; empty without one."""
    judge: Judge
    utility: np.ndarray
    """``float64[K]``: of outcome labels."""
    unit: str
    """Unit of its values times ``scale``."""
    scale: float
    in_points: bool
    """Whether its values and the utility have the same unit."""


def load_judge(name: str, game: Game, engines: Engines | None = None, search: SearchConfig | None = None) -> JudgeSetup:
    """The judge of a player's name, with the network that ships for the game where it needs one and names none.

    Args:
        name: as in a tournament; empty for how the network that ships plays best without a search.
        engines: to share with others of the same thread; new ones with the default settings if None.
        search: settings of the kinds of player; the defaults if None.

    Raises:
        ValueError: no such player or network, or one that does not value actions or sees hidden cards.
    """
    support = kinds.support_of(game)
    (entrant,) = resolve([name or kinds.NETWORK_PLAYER], game, search)
    if entrant.explore:
        raise ValueError(f"player {entrant.name}: leave out explore, as random actions judge nothing")
    if entrant.lacks_model:
        if not ships(game):
            raise ValueError(f"no network ships for {game.name}: give the player as {entrant.name}@DIR, or pimc")
        shipped = f"kibitz:{game.name}"
        entrant = entrant.named_with(shipped)
    engines = engines or Engines(game, EngineConfig())
    (player,) = seat_players([entrant], [entrant.name], game, engines)
    utility = game.outcomes.utility(getattr(entrant.settings, "utility", "")).astype(np.float64)
    own = getattr(entrant.settings, "evaluator", "") in support.evaluators  # a solver's values are games won
    unit, scale = ("units of the judge's own", 1.0) if own else unit_of(game, utility)
    return JudgeSetup(
        name=entrant.name,
        network=engines.checkpoint_id(entrant.checkpoint) if entrant.checkpoint else "",
        judge=_judge_of(entrant, player),
        utility=utility,
        unit=unit,
        scale=scale,
        in_points=not own,
    )


def _judge_of(entrant: Entrant, player: Any) -> Judge:
    if player.sees_hidden:
        raise ValueError(f"player {entrant.name}: it sees hidden cards; name a player that sees what the seat sees")
    if isinstance(player, ArgmaxVal):
        return NetworkJudge(player.histories.model, entrant.settings)
    if isinstance(player, GoMcts):
        return SearchJudge(player.histories.model, entrant.settings)
    if entrant.kind.values_actions:
        return ValuingJudge(player)
    judging = [kind.name for kind in kinds.every() if tells_values(kind)]
    if entrant.kind.name in judging:
        raise ValueError(f"player {entrant.name}: leave out bidding, which is not judged by values")
    raise ValueError(f"player {entrant.name}: it does not say what actions are worth; choose {', '.join(judging)}")


def tells_values(kind: PlayerKind) -> bool:
    """Whether players of a kind can judge: they say what actions are worth."""
    return kind.values_actions or kind.name == "argmax_val"


def ships(game: Game) -> bool:
    """Whether a network comes with the package for a game."""
    return game.name in installed()
