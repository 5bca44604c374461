"""Accuracy of a network's values: ``python -m search.arena.values game=hearts checkpoint=DIR``."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np

from cluster import cli
from cluster.errors import blaming_input
from cluster.watching.progress import Progress
from games.game import Game
from games.registry import make_game
from learner.observation_model import ObservationModel
from search.arena.partial_results import PartialResults, parts_of, remove_parts
from search.arena.recorded import check_out
from search.arena.tournament.report import wide_console
from search.arena.values.config import ValuesConfig
from search.arena.values.decisions import Decisions, choices_of, draw_decisions
from search.arena.values.measure import Part, measure, predictions
from search.arena.values.reference import PLAYOUTS, playout_utilities
from search.arena.values.report import ValuesResult, render, unit_of
from search.players.config import ArgmaxValConfig
from search.players.memory import check_deals
from search.players.player import Player
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import Entrant, checkpoint_record, resolve, seat_players, settled, with_networks

DECISIONS, CHOICES = "turns", "choices-"
"""Names of parts in files: the decisions; the choices of a player at a table, whose numbers follow."""


def main(config: ValuesConfig) -> None:
    """Measure, unless the result's file exists; print the table, write the JSON."""
    with blaming_input():
        config = settled(config)
        game = make_game(config.game.name, config.game.options)
        if not game.can_determinize:
            raise ValueError(f"game={game.name}: cannot sample hidden hands, which the playouts need; choose another")
        check_out(config.out)
        check_deals(game, config.decisions, f"decisions={config.decisions}")
        check_deals(game, min(config.table_size, config.decisions * config.worlds), f"table_size={config.table_size}")
        utility = config.search.argmax_val.utility or game.outcomes.default_utility
        names = [*_players(config, game), *dict.fromkeys(config.players)]
        engines = Engines(game, config.engine)
        entrants = with_networks(resolve(names, game, config.search), config.checkpoint)
        players = seat_players(entrants, names, game, engines)
        judged = dict(zip(names[2:], players[2:], strict=True))
        grid = _grid(config, game)
        for name, player in judged.items():
            if name == "random" or name in grid:
                raise ValueError(f"players={name}: has a row of its own in any case; leave it out")
            if player.sees_hidden:
                raise ValueError(f"players={name}: it sees hidden cards, which decisions do not hold; name another")
        model = engines.get(config.checkpoint, utility)
    unit, per_utility = unit_of(game, game.outcomes.utility(utility))
    empty = ValuesResult(
        game=game.name,
        game_options=dict(game.options),
        utility=utility,
        unit=unit,
        unit_per_utility=per_utility,
        player=names[0],
        playouts=names[1],
        worlds=config.worlds,
        seed=config.seed,
        parts=(),
        settings=_settings(config, entrants, engines),
    )
    result = ValuesResult.stored(config.out, empty.depends_on)
    if result is None:
        kept = PartialResults(parts_of(config.out), empty.depends_on, empty.WHAT)
        playouts = None if names[1] == "random" else players[1]
        result = replace(empty, parts=tuple(_measured(config, game, model, players[0], playouts, judged, kept)))
        if config.out:
            result.write(config.out)
    else:
        print(f"{config.out}: measured before")
    wide_console().print(render(result))
    if config.out:
        print(f"result: {config.out}")


def _measured(
    config: ValuesConfig,
    game: Game,
    model: ObservationModel,
    player: Player,
    playouts: Player | None,
    judged: Mapping[str, Player],
    kept: PartialResults,
) -> list[Part]:
    """The figures; reuses decisions, choices and playouts from files."""
    if DECISIONS not in kept.found:
        kept.found.clear()  # the decisions are drawn anew, so their playouts are void
        remove_parts(config.out)
        decisions = draw_decisions(game, player, config.decisions, config.seed, config.table_size)
        kept.keep(DECISIONS, asdict(decisions))
    else:
        decisions = Decisions(**kept.found[DECISIONS])
    next_token, values = predictions(model, decisions)
    chosen = _chosen(config, game, decisions, judged, kept)
    ended = sum(len(part["utilities"]) for name, part in kept.found.items() if name.startswith(PLAYOUTS))
    total = int(decisions.legal.sum()) * config.worlds
    if ended:
        print(f"{config.out}: {ended} of {total} playouts made before", flush=True)
    with Progress("values", total, "playouts", done=ended) as progress:

        def show(more: int) -> None:
            nonlocal ended
            ended += more
            progress.update(ended)

        utility = game.outcomes.utility(config.search.argmax_val.utility)
        utilities = playout_utilities(
            game, decisions, playouts, utility, config.worlds, config.seed, config.table_size, show, kept
        )
    return measure(decisions, next_token, values, utilities, _grid(config, game), chosen)


def _chosen(
    config: ValuesConfig, game: Game, decisions: Decisions, judged: Mapping[str, Player], kept: PartialResults
) -> dict[str, np.ndarray]:
    """What each player that is judged chooses; reuses the choices in files."""
    total, step = len(decisions.seat), config.table_size
    before = {
        name: part["actions"]
        for name, part in kept.found.items()
        if name.startswith(CHOICES) and len(part["actions"]) == min(step, total - int(name[-10:]))  # else another step
    }
    if before:
        made = sum(map(len, before.values()))
        print(f"{config.out}: {made} of {len(judged) * total} choices made before", flush=True)
    chosen = {}
    for number, (name, player) in enumerate(judged.items()):
        tables = list[np.ndarray]()
        with Progress(name, total, "choices") as progress:
            for first in range(0, total, step):
                rows, part = np.arange(first, min(first + step, total)), f"{CHOICES}{number}-{first:010d}"
                if part not in before:
                    before[part] = choices_of(player, game, decisions, rows, config.seed)
                    kept.keep(part, {"actions": before[part]})
                tables.append(before[part])
                progress.update(int(rows[-1]) + 1)
        chosen[name] = np.concatenate(tables)
    return chosen


def _players(config: ValuesConfig, game: Game) -> tuple[str, str]:
    """Names of the player of the deals and the player of the playouts."""
    scripted = kinds.baseline(game)
    player = config.player or (f"{scripted}:explore=0.08" if scripted else "random")
    return player, kinds.playout_player(config.playouts, game)


def _grid(config: ValuesConfig, game: Game) -> dict[str, ArgmaxValConfig]:
    """Player's name -> settings: every given threshold with every given policy weight, else the configured ones."""
    lists = {"threshold": config.thresholds, "policy_weight": config.policy_weights}
    given = {key: values for key, values in lists.items() if values}
    names = [
        ":".join(["argmax_val", *(f"{key}={value:g}" for key, value in zip(given, values, strict=True))])
        for values in product(*given.values())
    ]
    entrants = with_networks(resolve(names, game, config.search), config.checkpoint)
    return {entrant.name: entrant.settings for entrant in entrants}


def _settings(config: ValuesConfig, players: Sequence[Entrant], engines: Engines) -> dict[str, Any]:
    """The settings for the record."""
    return {
        "checkpoint": {"path": config.checkpoint, "id": engines.checkpoint_id(config.checkpoint)},
        "checkpoints": checkpoint_record(players),
        "decisions": config.decisions,
        **({"players": config.players} if config.players else {}),
        "thresholds": config.thresholds,
        "policy_weights": config.policy_weights,
        "search": config.search.record(),
        "engine": asdict(config.engine),
    }


if __name__ == "__main__":
    cli.run("values", ValuesConfig, main, output_key="out")
