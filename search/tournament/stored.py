"""Results of tournaments in files: what has been played is not played again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.errors import UserError
from cluster.files import storage
from search.kept import Kept, check_same, parts_of, remove_parts
from search.roster.spec import labels
from search.tournament.parts import Tournament
from search.tournament.result import TournamentResult, from_record


def check_out(out: str, key: str = "out") -> None:
    """``UserError`` where no file can be written under this name, given as ``key``; nothing where there is none."""
    if out and not storage.is_remote(out) and Path(storage.resolve(out)[1]).is_dir():
        raise UserError(f"{key}={out}: is a directory; name the file to write")
    if out:
        storage.check_writable(storage.parent(out))


def read_result(path: str) -> TournamentResult:
    """The result in a file; ``UserError`` where it holds none."""
    try:
        return from_record(storage.read_json(path))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: holds no result of a tournament ({error}); remove it, or give another out") from error


def stored_result(path: str, tournament: Tournament) -> TournamentResult | None:
    """The result that ``path`` holds if it is this tournament's; None where there is no such file, or histories are
    asked for, which lie in no such file. A setting of players that is newer than the file counts as its default there.

    Raises:
        UserError: it holds another tournament's, or something else; names what differs.
    """
    if not path or not storage.exists(path):
        return None
    result = read_result(path)
    check_same(path, "a tournament", {**result.settings, **_named(result)}, settings_of(tournament))
    if tournament.keep:
        return None
    remove_parts(path)  # left by a command that was killed between writing the one and removing the others
    return result


def with_parts(tournament: Tournament, path: str) -> Tournament:
    """The tournament with those of its parts that were played for the result ``path`` before, unless histories are
    asked for, which no part holds; those that will be are kept too, until ``write_result``.

    Raises:
        UserError: parts of another tournament lie there, which names what differs, or a damaged one.
    """
    begun = replace(tournament, kept=Kept(parts_of(path), settings_of(tournament), "a tournament"))
    if tournament.keep:
        begun.kept.found.clear()
    if begun.deals_played:
        print(f"{path}: {begun.deals_played} of {begun.deals.count} deals played before", flush=True)
    return begun


def write_result(path: str, result: TournamentResult) -> None:
    """Write or replace the file, and remove the parts it came from."""
    storage.write_json_atomic(path, result.record())
    remove_parts(path)


def settings_of(tournament: Tournament) -> dict[str, Any]:
    """Everything that its result depends on."""
    game = tournament.game()
    return {
        **tournament.record,
        "game": game.name,
        "game.options": dict(game.options),
        "players": list(labels(tournament.players)),
        **_of_deals(tournament.deals.count, tournament.deals.seed, tournament.deals.seating, tournament.deals.first),
    }


def _named(result: TournamentResult) -> dict[str, Any]:
    named = {"game": result.game, "game.options": result.game_options, "players": list(result.players)}
    return {**named, **_of_deals(result.deals, result.seed, result.seating, result.first)}


def _of_deals(count: int, seed: int, seating: str, first: int) -> dict[str, Any]:
    return {"deals": count, "seed": seed, "seating": seating} | ({"first": first} if first else {})
