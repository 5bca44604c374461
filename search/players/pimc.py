"""PIMC: sampled worlds, each judged as if everybody saw all cards (paper 001, Algorithm 2).

Letters: ``M`` turns of a batch, ``B`` worlds of all of them, ``Z`` legal actions of all worlds, ``V`` tokens.
"""

from collections.abc import Callable, Mapping

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, ObservationModel
from search.config import ImitationConfig, PimcConfig
from search.players.histories import tokens_since
from search.players.imitation import Imitation
from search.players.player import Player
from search.players.worlds_player import WorldsPlayer
from search.playouts import play_out
from search.uct.search import uct, unit_utility

Model = ObservationModel | None
Evaluator = Callable[[Game, Model, np.ndarray, np.ndarray, PimcConfig, float], np.ndarray]
"""(game, network, worlds ``[B]``, seeds ``uint64[B]``, settings, wall seconds or 0 for no limit) -> ``float64[B, V]``:
PerfectInfoVal(s, a), the value of each action for the seat to act, -inf where it is illegal or not considered. A row
depends on its world and its seed alone."""

_TREES, _PLAYOUTS = 128, 1024
"""Most deals searched, and most played out, side by side; more would only take memory."""


def _uct(
    game: Game, model: Model, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float
) -> np.ndarray:
    utility = unit_utility(game, config.utility)
    return uct(game, worlds, seeds, utility, config.runs, config.exploration, seconds).root_values()


def _played_out(
    game: Game,
    player: Player,
    worlds: np.ndarray,
    seeds: np.ndarray,
    considered: np.ndarray,
    config: PimcConfig,
    at_once: int = _PLAYOUTS,
    judge: Model = None,
) -> np.ndarray:
    """The utility of each action ``considered`` (``bool[B, V]``) when ``player`` plays on in every seat, ``at_once``
    deals side by side; all actions of a world have the same random numbers. With a ``judge`` the others play on until
    the seat that took the action is to act again, and its V(h) there takes the place of the rest."""
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
            worth[~over] = _judged(game, judge, played[~over], own[~over])
        values[rows[part], actions[part]] = worth
    return values


def _judged(game: Game, model: ObservationModel, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """``float32[N]``: V(h), equation 1, of what one seat per state has seen."""
    tokens, lengths = game.histories(states, seats)
    nothing, asked = np.full(len(states), EMPTY), np.ones(len(states), bool)
    answer = model.query(nothing, *tokens_since(tokens, np.zeros(len(states), int), lengths), values=asked)
    model.release(answer.handles)
    return answer.value


def _scripted(game: Game) -> Player:
    from search.players import kinds  # which imports this module

    kind = kinds.find(kinds.playout_player("", game))
    return kind.factory(game, None, kind.settings() if kind.settings else None)


def _playouts(
    game: Game, model: Model, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float
) -> np.ndarray:
    return _played_out(game, _scripted(game), worlds, seeds, game.legal(worlds), config)


def _network(
    game: Game, model: Model, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float
) -> np.ndarray:
    assert model is not None
    at_once = max(1, model.slots_left // (game.num_players * game.max_length))
    player, judge = Imitation(model, ImitationConfig()), model if config.evaluator == "value" else None
    return _played_out(game, player, worlds, seeds, game.legal(worlds), config, at_once, judge)


def _solver(
    game: Game, model: Model, worlds: np.ndarray, seeds: np.ndarray, config: PimcConfig, seconds: float
) -> np.ndarray:
    """Skat: 1 for a card that wins against the best play of all, 0 for others. What comes before is played out. Of
    all bids only the lowest is considered; sixty jumps would take nearly all the time."""
    from games.skat.cards import FIRST_BID, NUM_CARDS
    from games.skat.rules import PLAY
    from games.skat.values import NUM_BIDS
    from search.skat_solver.solve import Solver

    values = np.full((len(worlds), game.vocabulary.size), -np.inf)
    legal, playing = game.legal(worlds), worlds["public"]["phase"] == PLAY
    bids = legal[:, FIRST_BID : FIRST_BID + NUM_BIDS]
    bids &= bids.cumsum(axis=1) == 1
    before = ~playing
    values[before] = _played_out(game, _scripted(game), worlds[before], seeds[before], legal[before], config)
    worlds, legal = worlds[playing], legal[playing, :NUM_CARDS]
    won = Solver().card_wins(worlds)
    soloist = worlds["public"]["turn"] == worlds["public"]["soloist"]
    values[playing, :NUM_CARDS] = np.where(legal, won == soloist[:, None], -np.inf)
    return values


EVALUATORS: Mapping[str, Evaluator] = {
    "uct": _uct,
    "playouts": _playouts,
    "network": _network,
    "value": _network,
    "solver": _solver,
}
"""By the setting ``evaluator``."""


def check_pimc(game: Game, config: PimcConfig) -> None:
    """``ValueError`` for a game that has no solver, or cannot sample deals where the true one is not looked at."""
    if config.evaluator == "solver" and game.name != "skat":
        raise ValueError(f"pimc:evaluator=solver plays skat only, not {game.name}; choose uct or playouts")
    if not (config.cheat or game.can_determinize):
        raise ValueError(f"player pimc samples deals, which {game.name} cannot; only pimc:cheat=true plays it")


class Pimc(WorldsPlayer):
    """Plays the action whose values, summed over the worlds of a turn, are the highest, the first one of equals."""

    name = "pimc"

    def __init__(self, model: Model, config: PimcConfig) -> None:
        """``model`` where the settings ask one."""
        assert model is not None or not config.needs_model
        super().__init__(config.worlds, config.cheat, config.seconds, _TREES, config.candidates, model)
        self.config, self._model = config, model

    def evaluate(self, worlds: np.ndarray, seeds: np.ndarray, seconds: float) -> np.ndarray:
        """``float64[B, V]``: see ``EVALUATORS``."""
        return EVALUATORS[self.config.evaluator](self._game, self._model, worlds, seeds, self.config, seconds)
