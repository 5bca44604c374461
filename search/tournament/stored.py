"""Results of tournaments in files: what has been played is not played again."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from cluster.errors import UserError
from cluster.fields import flat
from cluster.files import storage
from learner.config import FREE_ENGINE_KEYS
from search.config import SearchConfig
from search.players.spec import labels
from search.tournament.parts import Tournament
from search.tournament.result import TournamentResult, from_record

_FREE = frozenset(["table_size", *(f"engine.{key}" for key in FREE_ENGINE_KEYS)])
"""Settings on record that decide where and in what batches a tournament is played, and its points up to rounding."""


def check_out(out: str) -> None:
    """``UserError`` where no file can be written under this name; nothing where there is none."""
    if out and not storage.is_remote(out) and Path(storage.resolve(out)[1]).is_dir():
        raise UserError(f"out={out}: is a directory; name the JSON file to write")
    if out:
        storage.check_writable(storage.parent(out))


def read_result(path: str) -> TournamentResult:
    """The result in a file; ``UserError`` where it holds none."""
    try:
        return from_record(storage.read_json(path))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: holds no result of a tournament ({error}); remove it, or give another out") from error


def stored_result(path: str, tournament: Tournament) -> TournamentResult | None:
    """The result that ``path`` holds if it is this tournament's; None where there is no such file. A setting of players
    that is newer than the file counts as its default there.

    Raises:
        UserError: it holds another tournament's, or something else; names what differs.
    """
    if not path or not storage.exists(path):
        return None
    result = read_result(path)
    theirs = flat({**result.settings, **_named(result)})
    mine = flat({**tournament.record, **_asked(tournament)})
    newer = flat({"search": asdict(SearchConfig())})
    for key in sorted(mine.keys() | theirs.keys()):
        before, now = theirs.get(key, newer.get(key)), mine.get(key)
        if before != now and key not in _FREE and not key.startswith("overrides"):  # they are among the others
            raise UserError(
                f"{path}: holds a tournament with {key}={before}, and this one has {key}={now}; remove it, or give "
                "another out"
            )
    return result


def write_result(path: str, result: TournamentResult) -> None:
    """Write or replace the file."""
    storage.write_json_atomic(path, result.record())


def _asked(tournament: Tournament) -> dict[str, Any]:
    game = tournament.game()
    players = list(labels(tournament.players))
    asked = {"game": game.name, "game.options": dict(game.options), "players": players}
    return {**asked, "deals": tournament.deals, "seed": tournament.seed, "seating": tournament.seating}


def _named(result: TournamentResult) -> dict[str, Any]:
    named = {"game": result.game, "game.options": result.game_options, "players": list(result.players)}
    return {**named, "deals": result.deals, "seed": result.seed, "seating": result.seating}
