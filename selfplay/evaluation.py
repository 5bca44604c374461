"""The tournaments of a run: find the results that exist, and play the missing ones.

A result matches a tournament of the configuration if players, deals, seed, settings and network are equal. So
``evaluation`` may change between the commands of a run: new tournaments are played, and results that are no longer
configured stay in their file. Parts of unfinished tournaments lie in files beside the results
(``search.arena.partial_results``), until all tournaments of that call have been played.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cluster.errors import UserError, raised
from cluster.files import storage
from cluster.watching.logs import span
from cluster.watching.metrics import MetricsLogger
from cluster.watching.progress import Progress
from games.game import Game
from games.registry import make_game
from games.rng import derive
from learner.devices import on_lent_device
from learner.network_kind import NetworkKind
from search.arena.partial_results import PartialResults, key_of, parts_of, remove_parts
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import EvaluatorSettings
from search.arena.tournament.parts import Evaluate, Tournament, play_tournaments
from search.arena.tournament.report import ahead_text, matched
from search.arena.tournament.result import TournamentResult, lead
from search.arena.tournament.seatings import seatings
from search.roster.registry import (
    check_decisions,
    check_lasting,
    check_networks,
    checkpoint_record,
    resolve,
    with_networks,
)
from search.roster.spec import labels
from selfplay.config import MatchConfig, TrainConfig
from selfplay.run_directory import RunDirectory


class Evaluation:
    """The tournaments of one run."""

    def __init__(
        self, config: TrainConfig, run: RunDirectory, make: Callable[[str, Mapping[str, Any]], Game | None] = make_game
    ) -> None:
        """``make``: makes the game of a tournament, whose options its results must have; None for a game that is not to
        be made, and then those that are given must do."""
        self._config = config
        self._run = run
        self._make = make
        self._gate = config.selfplay.gate
        self._known: dict[str, dict[str, Any] | None] = {}
        """Options given -> all options of the game, None where it is not to be made."""
        self._passed: dict[int, bool] = {0: True}  # iteration -> whether it passed the gate; asked for often

    @property
    def curve_iterations(self) -> list[int]:
        """The iterations after which ``evaluation.curve`` is played."""
        return sorted({*range(0, self._last, self._config.evaluation.curve_every), self._last})

    def curve(self, iteration: int) -> list[TournamentResult | None]:
        """The results of ``evaluation.curve`` with an iteration's network, None for unplayed ones."""
        return self._of(self._config.evaluation.curve, iteration, self._run.tournament(iteration))

    def final(self) -> list[TournamentResult | None]:
        """The results of ``evaluation.final`` with the best network, None for unplayed ones."""
        return self._of(self._config.evaluation.final, self._best, self._final_path, self._final_seed)

    def gate(self, iteration: int) -> TournamentResult | None:
        """The result of an iteration's network against the best earlier one; None if unplayed, or without a gate."""
        return next(iter(stored(self._run.gate(iteration))), None) if self._gate.deals else None

    def accepted(self, before: int) -> list[int]:
        """The iterations below ``before`` whose networks passed the gate, oldest first; the last is the best one.
        Iteration 0 always passes; without a gate all do."""
        for iteration in range(before):
            if self._gate.deals and iteration not in self._passed and (result := self.gate(iteration)):
                self._passed[iteration] = result.advantage > self._gate.margin
        return [iteration for iteration in range(before) if self._passed.get(iteration, True)]

    def complete(self) -> bool:
        """Whether there is nothing left to play."""
        gates = range(1, self._last + 1) if self._gate.deals else ()
        wanted = (r for i in self.curve_iterations for r in self.curve(i))
        return None not in (*(self.gate(i) for i in gates), *wanted, *self.final())

    def play_gate(self, iteration: int, evaluate: Evaluate, metrics: MetricsLogger) -> None:
        """Play ``gate(iteration)`` if it is missing."""
        gate, path = self._gate, self._run.gate(iteration)
        if not gate.deals or not iteration:
            return
        best, player = self.accepted(iteration)[-1], self._config.selfplay.newest_player
        networks = [self._run.checkpoint(i) for i in (iteration, best)]
        match = MatchConfig([f"{player}@{network}" for network in networks], gate.deals, gate.seating)
        missing, title = self._missing([match], [self.gate(iteration)]), f"iteration {iteration}: gate: "
        # Deals of its own: on the same ones the best network's luck would be the bar of all that follow.
        seed = derive(self._config.run.seed, "evaluate", "gate", iteration)
        if missing:
            self._run.write_state(iteration, "gate")
        for result in self._play(missing, iteration, path, title, evaluate, metrics, "/gate", seed):
            metrics.log(iteration, {"gate/points_ahead": result.advantage})
            if result.advantage <= gate.margin:
                enough = f" by more than {gate.margin:g} points" if gate.margin else ""
                worse = (
                    f"not ahead of iteration {best}{enough} ({result.advantage:+.2f}); the run goes on from that one"
                )
                print(f"iteration {iteration}: {worse}", file=sys.stderr)

    def play_curve(self, iteration: int, evaluate: Evaluate, metrics: MetricsLogger) -> None:
        """Play the missing tournaments of ``curve(iteration)``."""
        if iteration not in self.curve_iterations:
            return
        path = self._run.tournament(iteration)
        missing = self._missing(self._config.evaluation.curve, self.curve(iteration))
        if missing:
            self._run.write_state(iteration, "evaluate")
        for result in self._play(missing, iteration, path, f"iteration {iteration}: ", evaluate, metrics):
            against = f"points_ahead/{result.players[1]}" if len(result.players) > 1 else f"points/{result.players[0]}"
            metrics.log(iteration, {_on(result, against): lead(result)[0]})
            print(f"iteration {iteration}: {matched(result)}: {ahead_text(result)}", file=sys.stderr)

    def play_final(self, evaluate: Evaluate, metrics: MetricsLogger) -> None:
        """Play the missing tournaments of ``final()``."""
        path, seed = self._final_path, self._final_seed
        missing = self._missing(self._config.evaluation.final, self.final())
        if missing:
            self._run.write_state(self._last, "tournament")
        for result in self._play(missing, self._best, path, "tournament: ", evaluate, metrics, "/final", seed):
            metrics.log(self._last, {_on(result, f"final/{' against '.join(result.players)}"): result.advantage})

    @property
    def _last(self) -> int:
        return self._config.selfplay.iterations

    @property
    def _best(self) -> int:
        return self.accepted(self._last + 1)[-1]

    @property
    def _final_path(self) -> str:
        return self._run.result("tournament.json")

    @property
    def _final_seed(self) -> int:
        """Seed of the final tournaments: equal for all, so that they compare on the same deals."""
        return derive(self._config.run.seed, "evaluate", "final")

    # ---- what has been played

    def _of(
        self, matches: Sequence[MatchConfig], iteration: int, path: str, seed: int | None = None
    ) -> list[TournamentResult | None]:
        """``seed``: of these tournaments; None for that of each."""
        results = stored(path)
        return [next((r for r in results if self._answers(r, match, iteration, seed)), None) for match in matches]

    def _answers(self, result: TournamentResult, match: MatchConfig, iteration: int, seed: int | None) -> bool:
        return (
            result.players == tuple(labels(match.players))
            and result.deals == match.deals
            and result.seating == match.seating
            and result.seed == (self._seed(match) if seed is None else seed)
            and result.game_options == self._options(match, result)
            and result.settings == json.loads(json.dumps(self._settings(iteration)))
        )

    @staticmethod
    def _missing(matches: Sequence[MatchConfig], results: Sequence[TournamentResult | None]) -> list[MatchConfig]:
        return [match for match, result in zip(matches, results, strict=True) if result is None]

    # ---- playing

    def _play(
        self,
        matches: Sequence[MatchConfig],
        iteration: int,
        path: str,
        title: str,
        evaluate: Evaluate,
        metrics: MetricsLogger,
        role: str = "",
        seed: int | None = None,
    ) -> Iterator[TournamentResult]:
        """Play tournaments side by side, their deals shared among all workers; yields each result as soon as it ends,
        and writes it to the file when the next is asked for.

        Args:
            matches: those missing in the file; with none, removes parts that a killed command left beside it.
            path: file of their results; parts are kept beside it until all tournaments are done.
            role: label that separates their metrics from other tournaments' at the same iteration.
            seed: of all of them; None for each its own.
        """
        if not matches:
            remove_parts(path)
            return
        tournaments = [self._tournament(match, iteration, path, seed) for match in matches]
        figures: dict[str, float] = {}
        title += "tournaments"
        total, done = sum(match.deals for match in matches), sum(one.deals_played for one in tournaments)
        with span(title), Progress(title, total, "deals", done=done) as progress:

            def show(deals: float, shown: Mapping[str, float]) -> None:
                progress.update(deals, shown)
                figures.update(evaluator_decisions_per_second=shown["decisions/s"], evaluator_fill=shown["fill"])

            for _, played in play_tournaments(tournaments, evaluate, show):
                yield (result := raised(played))
                storage.write_json_atomic(path, [each.record() for each in (*stored(path), result)])
        metrics.log(iteration, {f"{name}{role}": value for name, value in figures.items()})
        remove_parts(path)

    def _tournament(self, match: MatchConfig, iteration: int, path: str, seed: int | None) -> Tournament:
        config, checkpoint = self._config, self._run.checkpoint(iteration)
        engine = on_lent_device(config.engine, config.cluster.evaluator_gpus)
        tournament = Tournament(
            EvaluatorSettings(match.game(config.game), config.search, engine, config.evaluation.table_size),
            tuple(match.players),
            checkpoint,
            Deals(self._seed(match) if seed is None else seed, match.deals, seating=match.seating),
            config.evaluation.deals_per_task,
            self._settings(iteration),
        )
        entrants = with_networks(resolve(match.players, tournament.game(), config.search), checkpoint)
        settings = {**tournament.depends_on, "checkpoints": checkpoint_record(entrants)}
        return replace(
            tournament, kept=PartialResults(f"{parts_of(path)}/{key_of(settings)}", settings, "a tournament")
        )

    def _options(self, match: MatchConfig, result: TournamentResult) -> dict[str, Any]:
        """All options of a tournament's game, as its results have them; asked for often."""
        game = match.game(self._config.game)
        key = json.dumps(game.options, sort_keys=True)
        if key not in self._known:
            made = self._make(game.name, game.options)
            self._known[key] = None if made is None else json.loads(json.dumps(dict(made.options)))
        known = self._known[key]
        return {**result.game_options, **game.options} if known is None else known

    def _seed(self, match: MatchConfig) -> int:
        """Seed of a curve's deals: the same for every iteration, and independent of the training deals' seeds."""
        return derive(self._config.run.seed, "evaluate", *(name.partition("@")[0] for name in match.players))

    def _settings(self, iteration: int) -> dict[str, Any]:
        return {"iteration": iteration, "search": self._config.search.record()}


def _on(result: TournamentResult, key: str) -> str:
    """A metric's key, with the deals that were played where a game has several kinds."""
    return f"{key} on {result.dealt}" if result.dealt else key


def stored(path: str) -> list[TournamentResult]:
    """Every result in a file of tournaments; none where there is no such file. ``UserError`` for any other content."""
    if not storage.exists(path):
        return []
    try:
        return [TournamentResult.from_record(record) for record in storage.read_json(path)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: holds no tournaments ({error}); remove it to have them played again") from error


def check(config: TrainConfig, game: Game, kind: NetworkKind) -> list[str]:
    """``ValueError`` for tournaments, or a gate, that cannot be played; no notes."""
    if config.selfplay.gate.deals:
        seatings(2, game.num_players, game.cooperative, config.selfplay.gate.seating)
    for match in (*config.evaluation.curve, *config.evaluation.final):
        played = _game_of(match, config, game)
        check_lasting(match.players, "evaluation: players")
        entrants = resolve(match.players, played, config.search, given=[kind.input])
        seatings(len(match.players), played.num_players, played.cooperative, match.seating)
        Deals(0, match.deals).check(played)
        check_networks(entrants, played)
        if config.cluster.here:
            check_decisions(entrants, played)
    for utility in (config.search.argmax_val.utility, config.search.go_mcts.utility):
        game.outcomes.utility(utility)
    return []


def _game_of(match: MatchConfig, config: TrainConfig, game: Game) -> Game:
    """The game of a tournament of the run; ``ValueError`` for options that the run's networks do not play with."""
    for name in match.game_options:
        if name not in game.dealing_options:
            these = ", ".join(game.dealing_options) or "none"
            raise ValueError(
                f"evaluation game_options: {name} may not differ from the run's; of {game.name} may {these}"
            )
    return make_game(config.game.name, match.game(config.game).options) if match.game_options else game
