"""PIMC: sampled worlds, each evaluated with all cards open (paper 001, Algorithm 2).

Letters: ``M`` turns of a batch, ``B`` worlds of all of them, ``Z`` legal actions of all worlds, ``V`` tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from games.game import Game
from learner.observation_model import ObservationModel
from search.pimc.config import PimcConfig
from search.players.beliefs import Beliefs, by_network, by_player
from search.players.config import ImitationConfig
from search.players.histories import ask
from search.players.imitation import Imitation
from search.players.kinds import PlayerKind
from search.players.memory import worlds_bytes
from search.players.player import Player, Turns
from search.players.playouts import play_out
from search.players.policy import admitted, legal_policy
from search.players.support import Support
from search.players.worlds_player import WorldsPlayer
from search.uct.search import uct, unit_utility

Model = ObservationModel | None
Evaluator = Callable[["Pimc", np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]
"""(player, worlds ``[B]``, legal actions to consider ``bool[B, V]``, seeds ``uint64[B]``, wall seconds or 0 for no
limit) -> ``float64[B, V]``: PerfectInfoVal(s, a), the value of each action for the seat to act, -inf where it is not
considered. A row depends only on its world, actions and seed."""

_TREES, _PLAYOUTS = 128, 1024
"""Most deals searched, and most played out, side by side; more would only take memory."""


def _uct(pimc: "Pimc", worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
    config, utility = pimc.config, pimc.game.outcomes.utility(pimc.config.utility).astype(np.float64)
    unit = unit_utility(pimc.game, config.utility)
    found = uct(pimc.game, worlds, seeds, unit, config.runs, config.exploration, seconds)
    return np.where(considered, utility.min() + np.ptp(utility) * found.root_values(), -np.inf)


def played_out(
    game: Game,
    player: Player,
    worlds: np.ndarray,
    seeds: np.ndarray,
    considered: np.ndarray,
    config: PimcConfig,
    at_once: int = _PLAYOUTS,
    judge: Model = None,
) -> np.ndarray:
    """The utility of each action ``considered`` (``bool[B, V]``) after a playout by ``player`` in every seat,
    ``at_once`` deals side by side; all actions of a world have the same random numbers. With a ``judge`` a playout ends
    when the acting seat is to act again, with the value V(h) there."""
    rows, actions = np.nonzero(considered)
    seats, utility = game.to_move(worlds)[rows], game.outcomes.utility(config.utility)
    states = game.after(worlds[rows], actions[:, None], np.ones(len(rows), np.int64))
    values = np.full(considered.shape, -np.inf)
    for part in (slice(first, first + at_once) for first in range(0, len(rows), at_once)):
        played, own = states[part], seats[part]
        play_out(game, player, played, seeds[rows[part]], None if judge is None else own)
        over = game.to_move(played) < 0
        worth = np.empty(len(played))
        worth[over] = utility[game.outcome(played[over])[np.arange(over.sum()), own[over]]]
        if judge is not None and not over.all():
            worth[~over] = ask(judge, *game.histories(played[~over], own[~over]), values=True).value
        values[rows[part], actions[part]] = worth
    return values


def _playouts(
    pimc: "Pimc", worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float
) -> np.ndarray:
    return played_out(pimc.game, pimc.scripted, worlds, seeds, considered, pimc.config)


def _network(pimc: "Pimc", worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
    game, model, config = pimc.game, pimc.model, pimc.config
    assert model is not None
    at_once = max(1, model.slots_left // (game.num_players * game.max_length))
    player = Imitation(model, ImitationConfig(config.temperature))
    judge = model if config.evaluator == "value" else None
    return played_out(game, player, worlds, seeds, considered, config, at_once, judge)


EVALUATORS: Mapping[str, Evaluator] = {"uct": _uct, "playouts": _playouts, "network": _network, "value": _network}
"""By the setting ``evaluator``; a game may bring more (``search.players.support``)."""


def check_pimc(game: Game, config: PimcConfig, support: Support) -> None:
    """``ValueError`` for an evaluator that this game lacks, or a game that cannot sample deals, unless ``cheat``."""
    known = (*EVALUATORS, *support.evaluators)
    if config.evaluator not in known:
        raise ValueError(f"pimc:evaluator={config.evaluator}: for {game.name} it must be one of {', '.join(known)}")
    if not (config.cheat or game.can_determinize):
        raise ValueError(f"player pimc samples deals, which {game.name} cannot; only pimc:cheat=true plays it")
    by_scripted = config.confidence > 0 and config.blueprint == "scripted"
    if support.baseline is None and (by_scripted or config.beliefs == "scripted"):
        raise ValueError(
            f"player pimc: {game.name} has no scripted player; leave out pimc.beliefs=scripted, and give "
            "pimc.confidence with pimc.blueprint=network"
        )


class Pimc(WorldsPlayer):
    """Plays the action with the highest sum of values over the worlds of a turn, ties to the first."""

    name = "pimc"

    def __init__(self, model: Model, config: PimcConfig, support: Support, beliefs: Beliefs | None = None) -> None:
        """
        Args:
            model: None where the settings use none.
            beliefs: what weighs candidates, in place of what the settings say.
        """
        assert model is not None or beliefs is not None or not config.needs_model
        self.config, self.model, self._support = config, model, support
        if beliefs is None and config.beliefs == "scripted":
            beliefs = by_player(support.scripted)
        elif beliefs is None and model is not None:
            beliefs = by_network(model)
        super().__init__(config.worlds, config.cheat, config.seconds, _TREES, config.candidates, beliefs)
        name = config.evaluator
        self._evaluator: Evaluator = EVALUATORS[name] if name in EVALUATORS else support.evaluators[name]

    @cached_property
    def scripted(self) -> Player:
        """The game's scripted player, made when first used."""
        return self._support.scripted(self.game)

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: with a threshold actions that the network finds too unlikely are not considered, and where one
        is left it is played without a search."""
        if not self.config.threshold:
            return super().choose(turns)
        policy = self._policy(turns)
        considered = admitted(policy, policy >= self.config.threshold)
        actions, left = considered.argmax(axis=1), np.flatnonzero(considered.sum(axis=1) > 1)
        if len(left):
            actions[left] = super().choose(replace(turns.take(left), legal=considered[left]))
        return actions

    def decided(self, turns: Turns) -> tuple[np.ndarray, np.ndarray]:
        """See ``WorldsPlayer``: with a threshold two searches, one of the likely actions and one of all."""
        return (self.act(turns), self.action_values(turns)) if self.config.threshold else super().decided(turns)

    def scores(self, turns: Turns, found: np.ndarray, independent: np.ndarray) -> np.ndarray:
        """``float64[M, V]``: sums over the worlds, or with ``confidence`` the advantages of ``ahead_of``."""
        if not self.config.confidence:
            return super().scores(turns, found, independent)
        if self.config.blueprint == "network":  # of what was evaluated: the solver passes over jump bids
            usual = np.where(np.isfinite(found[:, 0]), self._policy(turns), -1.0).argmax(axis=1)
        else:
            self.scripted.start(self.game, len(turns.seeds))
            usual = self.scripted.act(replace(turns, game=np.arange(len(turns.seeds))))
        return ahead_of(found, independent, usual, self.config.confidence)

    def _policy(self, turns: Turns) -> np.ndarray:
        """``float32[M, V]``: the network's, over the legal actions."""
        assert self.model is not None
        return legal_policy(ask(self.model, turns.tokens, turns.lengths).next_token, turns.legal)

    def evaluate(self, worlds: np.ndarray, considered: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: see ``Evaluator``."""
        return self._evaluator(self, worlds, considered, seeds, seconds)


def ahead_of(values: np.ndarray, independent: np.ndarray, actions: np.ndarray, confidence: float) -> np.ndarray:
    """``float64[M, V]``: mean advantage of each action over that of ``actions`` (``int[M]``), less ``confidence``
    standard errors; 0 for the latter itself, and below 0 for actions that are not surely better.

    SPARTA (Lerer et al., AAAI 2020, arXiv 1912.02318) leaves the blueprint for a better action; the margin stands in
    for the many playouts that it takes there.

    Args:
        values: ``float64[M, W, V]``, -inf for what is illegal, which is the same in all worlds of a row.
        independent: ``float64[M]``, number of independent worlds, which weights make fewer than ``W``; infinite for the
            true deal, whose values have no error.
    """
    rows, legal = np.arange(len(values)), np.isfinite(values[:, 0])
    assert legal[rows, actions].all()
    more = np.where(legal[:, None], values, 0.0) - values[rows, :, actions][:, :, None]
    error = np.sqrt(more.var(axis=1, ddof=min(1, more.shape[1] - 1)) / independent[:, None])
    sure = more.mean(axis=1) - confidence * error
    sure = np.where(sure > 0, sure, -1.0)
    sure[rows, actions] = 0.0
    return np.where(legal, sure, -np.inf)


def _decision_bytes(game: Game, config: PimcConfig) -> int:
    nodes = 1 + (config.runs if config.evaluator == "uct" and not config.seconds else 0)
    return worlds_bytes(game, config.worlds, nodes, candidates=config.candidates)


KIND = PlayerKind(
    name="pimc",
    summary="PIMC: sampled deals, each judged as if everybody saw all cards (paper 001, Algorithm 2).",
    settings=PimcConfig,
    needs_model=None,
    values_actions=True,
    asks_support=True,
    check=check_pimc,
    decision_bytes=_decision_bytes,
    factory=lambda game, model, settings, support: Pimc(model, settings, support),
)
