"""OpenSpiel's bots as players: Information Set MCTS, and xinxin where pyspiel was built with it.

An OpenSpiel bot needs a whole state. It gets a state that ``Game.determinize`` samples from the seat's view, so it
learns nothing that is hidden from the seat. A bot is made anew for every decision and gets the whole history, so its
decision depends on the turn alone.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts

from games.game import Game
from games.openspiel_counterpart import counterpart
from games.rng import derive, derive_many
from search.openspiel.config import OpenSpielConfig
from search.players.player import ChoosingPlayer, Turns


class OpenSpielBot(ChoosingPlayer):
    """Plays Hearts and OpenSpiel's games by an OpenSpiel bot."""

    name = "openspiel"

    def __init__(self, game: Game, config: OpenSpielConfig) -> None:
        """``ValueError`` for a game that OpenSpiel lacks, and for a bot that is missing or does not play it."""
        self.game, self._config = game, config
        self._counterpart = counterpart(game)
        if config.bot == "xinxin":
            self._xinxin()

    def start(self, game: Game, num_games: int) -> None:
        """``ValueError`` for another game than it was made for."""
        if (game.name, game.options) != (self.game.name, self.game.options):
            raise ValueError(f"player {self.name!r} was made for {self.game.name}, not for this {game.name}")

    def choose(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: the bot's actions."""
        decide = self._play_xinxin if self._config.bot == "xinxin" else self._search
        views = np.split(self.game.views(turns.tokens, turns.lengths), len(turns.seeds))
        first = self._counterpart.first_action
        return np.array([first + decide(view, int(seed)) for view, seed in zip(views, turns.seeds, strict=True)])

    def _worlds(self, view: np.ndarray, seed: int, count: int) -> Iterator[Any]:
        """``count`` sampled states (``pyspiel.State``) that agree with one view (``[1]``)."""
        states, _ = self.game.determinize(np.repeat(view, count), derive_many(derive(seed, "world"), count))
        return iter(self._counterpart.to_spiel(states))

    def _search(self, view: np.ndarray, seed: int) -> int:
        """The action of OpenSpiel's IS-MCTS. Every simulation uses a world sampled here: OpenSpiel's sampling
        (``resample_from_infostate``) is missing in some games, and in hearts keeps passed cards that the seat cannot
        know."""
        spiel, simulations = self._counterpart.spiel, self._config.simulations
        worlds = self._worlds(view, seed, simulations + 1)
        draws = np.random.RandomState(derive(seed, "search") % 2**32)
        bot = ismcts.ISMCTSBot(
            game=spiel,
            evaluator=_RandomRollouts(spiel.num_players(), draws),
            uct_c=self._config.exploration * max(abs(spiel.min_utility()), abs(spiel.max_utility())),
            max_simulations=simulations,
            random_state=draws,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.MAX_VISIT_COUNT,
        )
        bot.set_resampler(lambda state, seat: next(worlds))
        return int(bot.step(next(worlds)))

    def _play_xinxin(self, view: np.ndarray, seed: int) -> int:
        """The action of xinxin, which samples worlds itself; its random numbers are its own."""
        bot, replayed = self._xinxin(), self._counterpart.spiel.new_initial_state()
        (world,) = self._worlds(view, seed, 1)
        for action in world.history():
            bot.inform_action(replayed, replayed.current_player(), action)
            replayed.apply_action(action)
        return int(bot.step(world))

    def _xinxin(self) -> Any:
        if not hasattr(pyspiel, "make_xinxin_bot"):
            raise ValueError(
                "openspiel:xinxin: this pyspiel has no xinxin; build OpenSpiel with OPEN_SPIEL_BUILD_WITH_XINXIN=ON"
            )
        if self._counterpart.spiel.get_type().short_name != "hearts":
            raise ValueError(f"openspiel:xinxin plays hearts only, not {self.game.name}; choose openspiel:is_mcts")
        try:
            return pyspiel.make_xinxin_bot(
                self._counterpart.spiel.get_parameters(),
                uct_num_runs=self._config.simulations,
                uct_c_val=self._config.exploration,
                iimc_num_worlds=self._config.worlds,
                use_threads=False,
            )
        except pyspiel.SpielError as error:
            raise ValueError(f"openspiel:xinxin does not play {self.game.name} with these options: {error}") from None


class _RandomRollouts:
    """A uniform prior, and the returns of one random playout. OpenSpiel's own evaluator draws every action of a playout
    in Python, which takes most of the time."""

    def __init__(self, num_seats: int, draws: np.random.RandomState) -> None:
        self._draws = draws
        self._bots = [pyspiel.make_uniform_random_bot(seat, self._seed()) for seat in range(num_seats)]

    def prior(self, state: Any) -> list[tuple[int, float]]:
        legal = state.legal_actions()
        return [(action, 1 / len(legal)) for action in legal]

    def evaluate(self, state: Any) -> list[float]:
        return list(pyspiel.evaluate_bots(state.clone(), self._bots, self._seed()))

    def _seed(self) -> int:
        return int(self._draws.randint(2**31 - 1))
