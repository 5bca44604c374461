"""Results of tournaments in files, so that nothing is played twice."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.errors import UserError
from cluster.files import storage
from search.kept import Kept, parts_of
from search.roster.spec import labels
from search.tournament.parts import Tournament
from search.tournament.result import TournamentResult, identity


def check_out(out: str, key: str = "out") -> None:
    """``UserError`` where no file can be written under this name, given as ``key``; an empty name is fine."""
    if out and not storage.is_remote(out) and Path(storage.resolve(out)[1]).is_dir():
        raise UserError(f"{key}={out}: is a directory; name the file to write")
    if out:
        storage.check_writable(storage.parent(out))


def stored_result(path: str, tournament: Tournament) -> TournamentResult | None:
    """The result in ``path`` if it is this tournament's; None for a missing file, or if histories are to be kept, which
    such files lack. See ``Recorded.stored``."""
    result = TournamentResult.stored(path, settings_of(tournament))
    return None if tournament.keep else result


def with_parts(tournament: Tournament, path: str) -> Tournament:
    """The tournament with its parts stored for the result ``path``, where new parts will be kept too until the result
    is written; without parts if histories are to be kept, which parts lack.

    Raises:
        UserError: a part is damaged or of another tournament, naming the difference.
    """
    begun = replace(tournament, kept=Kept(parts_of(path), settings_of(tournament), "a tournament"))
    if tournament.keep:
        begun.kept.found.clear()
    if begun.deals_played:
        print(f"{path}: {begun.deals_played} of {begun.deals.count} deals played before", flush=True)
    return begun


def settings_of(tournament: Tournament) -> dict[str, Any]:
    """The settings that its result depends on."""
    game = tournament.game()
    return {**tournament.record, **identity(game.name, game.options, labels(tournament.players), tournament.deals)}
