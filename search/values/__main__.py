"""How good a network's values are: ``python -m search.values game=hearts checkpoint=DIR``."""

from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
from rich.console import Console

from cluster import cli
from cluster.errors import blaming_input
from cluster.files.storage import write_json_atomic
from cluster.watching.progress import Progress
from games.game import Game
from games.registry import make_game
from learner.observation_model import ObservationModel
from search.config import ArgmaxValConfig
from search.players import kinds
from search.players.engines import Engines
from search.players.player import Player
from search.players.registry import make_players, settings_of
from search.players.spec import parse
from search.tournament.stored import check_out
from search.values.config import ValuesConfig
from search.values.decisions import draw_decisions
from search.values.measure import Part, ask, measure
from search.values.reference import playout_utilities
from search.values.report import ValuesResult, render, unit_of


def main(config: ValuesConfig) -> None:
    """Measure, print the table, write the JSON."""
    with blaming_input():
        game = make_game(config.game.name, config.game.options)
        if not game.can_determinize:
            raise ValueError(f"game={game.name}: cannot sample hidden hands, which the playouts need; choose another")
        check_out(config.out)
        utility = config.search.argmax_val.utility or game.outcomes.default_utility
        values = game.outcomes.utility(utility)
        names = _players(config, game)
        engines = Engines(game, config.engine)
        players = make_players(names, game, config.search, config.checkpoint, engines=engines)
        model = engines.get(config.checkpoint, utility)
        settings = _settings(config, engines)
    unit, per_utility = unit_of(game, values)
    result = ValuesResult(
        game=game.name,
        game_options=dict(game.options),
        utility=utility,
        unit=unit,
        unit_per_utility=per_utility,
        player=names[0],
        playouts=names[1],
        worlds=config.worlds,
        seed=config.seed,
        parts=tuple(_measured(config, game, model, players[0], None if names[1] == "random" else players[1], values)),
        settings=settings,
    )
    Console().print(render(result))
    if config.out:
        write_json_atomic(config.out, result.record())
        print(f"result: {config.out}")


def _measured(
    config: ValuesConfig,
    game: Game,
    model: ObservationModel,
    player: Player,
    playouts: Player | None,
    utility: np.ndarray,
) -> list[Part]:
    decisions = draw_decisions(game, player, config.decisions, config.seed, config.table_size)
    next_token, values = ask(model, decisions)
    total, ended = int(decisions.legal.sum()) * config.worlds, 0
    with Progress("values", total, "playouts") as progress:

        def show(more: int) -> None:
            nonlocal ended
            ended += more
            progress.update(ended)

        utilities = playout_utilities(
            game, decisions, playouts, utility, config.worlds, config.seed, config.table_size, show
        )
    return measure(decisions, next_token, values, utilities, _grid(config))


def _players(config: ValuesConfig, game: Game) -> tuple[str, str]:
    """Specs of who plays the deals and who plays the worlds out."""
    scripted = kinds.baseline(game)
    player = config.player or (f"{scripted}:explore=0.08" if scripted else "random")
    return player, kinds.playout_player(config.playouts, game)


def _grid(config: ValuesConfig) -> dict[str, ArgmaxValConfig]:
    """Player spec -> settings: every threshold given with every policy weight given, else as configured."""
    lists = {"threshold": config.thresholds, "policy_weight": config.policy_weights}
    given = {key: values for key, values in lists.items() if values}
    names = [
        ":".join(["argmax_val", *(f"{key}={value:g}" for key, value in zip(given, values, strict=True))])
        for values in product(*given.values())
    ]
    return {name: settings_of(parse(name), config.search) for name in names}


def _settings(config: ValuesConfig, engines: Engines) -> dict[str, Any]:
    """What belongs on record besides the figures."""
    return {
        "checkpoint": {"path": config.checkpoint, "id": engines.checkpoint_id(config.checkpoint)},
        "search": asdict(config.search),
        "engine": asdict(config.engine),
    }


if __name__ == "__main__":
    cli.run("values", ValuesConfig, main, output_key="out")
