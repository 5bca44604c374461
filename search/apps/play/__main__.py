"""Play against players: ``kibitz play hearts``, or replay a hand: ``kibitz play replay=FILE.parquet row=N``."""

import itertools
import os
import secrets
import signal
import sys

from cluster import cli
from cluster.errors import UserError, blaming_input
from cluster.files import storage
from cluster.foreign import printable
from games import plugins
from games.game import Game
from games.registry import make_game, recorded_game
from games.shards import read_shard, shard_info
from learner import kinds as networks
from learner.model.checkpoint import installed
from search.apps.play.app import Pace, PlayApp
from search.apps.play.config import SHIPPED, PlayConfig
from search.apps.play.hints import Hints
from search.apps.play.layouts import layout_of
from search.apps.play.saved import keep, path_of, unfinished
from search.apps.play.session import Session, check_seats
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.registry import Entrant, checkpoint_paths, resolve, seat_players, settings_of, settled

COLUMNS, LINES = 80, 24
"""Smallest size of the screen."""


def main(config: PlayConfig) -> None:
    """Play hands, or replay one, until the person leaves."""
    if config.replay:
        _replay(config)
    else:
        _play(config)


def _play(config: PlayConfig) -> None:
    seed = secrets.randbits(32) if config.seed is None else config.seed
    with blaming_input():
        config = settled(config)
        game = make_game(config.game.name, config.game.options)
        checkpoint = _network(config, game)
        seated = _seated(config, game, checkpoint)
        names = [entrant.name for entrant in seated]
        path = path_of(config.out, game)
        left = unfinished(path, game, names, config.seat, config.seed) if config.out else None
        seed = left.seed if left else seed
        shard = new_shard(config.out, seed)
        engines = Engines(game, config.engine)
        players = seat_players(seated, names, game, engines)
        hints = _hints(config, game, checkpoint, engines, seed)
        _check_terminal()
    print("setting the table; where the rules were never compiled it takes about a minute", file=sys.stderr)
    session = Session(game, players, config.seat, seed)
    if left:
        try:
            session.resume(left.decisions)
        except ValueError as error:
            raise UserError(f"{path}: is damaged ({error}); remove it") from None
    before = session.finished  # their shard stays
    ids = [f"{name}:{engines.checkpoint_id(path)}" for name, path in checkpoint_paths(seated).items()]
    provenance = {"seating": "play", "checkpoints": " ".join(ids)}

    def keep_finished() -> None:
        if shard:
            session.save(shard, provenance, before)

    with blaming_input():
        layout = layout_of(game, [name.partition("@")[0] for name in names])
    pace = Pace(config.card_seconds, config.trick_seconds)
    signal.signal(signal.SIGHUP, _hang_up)
    signal.signal(signal.SIGTERM, _hang_up)
    try:
        _run(PlayApp(layout, session, hints=hints, pace=pace, hand_over=keep_finished))
    finally:  # also when the terminal is closed
        if config.out and keep(path, session, names):
            print(f"left midway: {path}; the same command goes on with this hand")
    totals = zip(layout.names, session.points.sum(axis=0), strict=True)
    print(f"hands: {len(session.points)}; {', '.join(f'{name} {points:g}' for name, points in totals)}; seed={seed}")
    if shard and storage.exists(shard):
        print(f"shard: {shard}")


def _replay(config: PlayConfig) -> None:
    with blaming_input():
        info = shard_info(config.replay)
        own = config.game.name if plugins.is_reference(config.game.name) else ""  # else the shard names its game
        game = recorded_game(config.replay, info.game, info.options, own)
        if config.row >= info.num_sequences:
            raise UserError(f"row={config.row}: {config.replay} has rows 0 to {info.num_sequences - 1}")
        sequences = read_shard(config.replay, game, range(config.row, config.row + 1))
        tokens, lengths = sequences.tokens[0], (sequences.tokens[0] != game.vocabulary.eos).sum()
        if not game.consistent(game.views(tokens[None], lengths[None]))[0]:
            raise UserError(f"row={config.row}: what {config.replay} has there could not have happened")
        hints = _hints(config, game, _network(config, game), Engines(game, config.engine), config.seed or 0)
        _check_terminal()
    with blaming_input():
        layout = layout_of(game, [""] * (game.num_players - 1), own=printable(sequences.player[0]))
    _run(PlayApp(layout, tokens=tokens[:lengths], hints=hints))


def _hang_up(number: int, frame: object) -> None:
    """The terminal is gone, or somebody ends the process: unwind, so that the hand is kept."""
    sys.exit(128 + number)


def _run(app: PlayApp) -> None:
    app.run()
    if app.return_code:
        sys.exit(app.return_code)


# ---- everything that can be wrong is found before the screen opens


def _network(config: PlayConfig, game: Game) -> str:
    """The checkpoint to use; empty if none is given, or none ships for the game."""
    if config.checkpoint != SHIPPED:
        return config.checkpoint
    return f"{SHIPPED}:{game.name}" if game.name in installed() else ""


def _seated(config: PlayConfig, game: Game, checkpoint: str) -> list[Entrant]:
    """The players of the other seats, clockwise from the person's left, with their networks."""
    given = [kinds.NETWORK_PLAYER] if config.players is None else config.players
    names = given * (game.num_players - 1) if len(given) == 1 else given
    check_seats(game, len(names), config.seat)
    resolve(given, game, config.search)  # also where nobody else plays
    entrants = resolve(names, game, config.search)
    lacking = next((entrant.name for entrant in entrants if entrant.lacks_model), "")
    if lacking and not checkpoint:
        none = f" and none ships for {game.name}" if config.checkpoint == SHIPPED else ""
        without = kinds.baseline(game) or "random"
        raise UserError(
            f"player {lacking!r} needs a network{none}: give checkpoint=DIR, or {lacking}@DIR, or players=[{without}]"
        )
    return [entrant.named_with(checkpoint) for entrant in entrants]


def _hints(config: PlayConfig, game: Game, checkpoint: str, engines: Engines, seed: int) -> Hints | str:
    """The network's expectations, or why the network that ships cannot be used."""
    if not checkpoint:
        shipping = config.checkpoint == SHIPPED
        return f"no network ships for {game.name}; give checkpoint=DIR" if shipping else "no network was given"
    try:
        match networks.of_checkpoint(checkpoint).input:
            case "states":
                return f"{checkpoint} reads whole deals, and would reveal hidden cards"
            case "decisions":
                return f"{checkpoint} judges single decisions, and says nothing of the rest"
        settings = settings_of("go_mcts", checkpoint, game, config.search)
        model = engines.get(checkpoint, settings.utility)
    except ValueError as error:
        if config.checkpoint != SHIPPED:
            raise
        return str(error)
    return Hints(game, model, settings, seed)


def new_shard(out: str, seed: int) -> str:
    """Path of a new shard; empty if ``out`` is. ``UserError`` where it cannot be written."""
    if not out:
        return ""
    storage.check_writable(out)
    taken = storage.list_names(out)
    names = (f"hands-{seed}{f'-{count}' if count > 1 else ''}.parquet" for count in itertools.count(1))
    return f"{out.rstrip('/')}/{next(name for name in names if name not in taken)}"


def _check_terminal() -> None:
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # the screen is drawn on stderr
        raise UserError("kibitz play needs a terminal; its input, output or error output is a file or a pipe")
    columns, lines = os.get_terminal_size()
    if columns < COLUMNS or lines < LINES:
        raise UserError(f"the terminal has {columns} x {lines} characters; make it {COLUMNS} x {LINES} or larger")


if __name__ == "__main__":
    cli.game_alone()
    cli.run("play", PlayConfig, main, output_key="out")
