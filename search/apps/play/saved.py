"""A hand that was left midway, in a file beside the finished ones, so that the next session goes on with it."""

from collections.abc import Sequence

from pydantic import Field

from cluster.errors import UserError
from cluster.files import storage
from cluster.foreign import check_format
from games.game import Game
from search.apps.play.session import Decisions, Session
from search.checked_json import Request

FORMAT = 1
"""Increased whenever the meaning of the JSON changes."""


class Unfinished(Request):
    """All that is needed to be where one was: the deal follows from the seed, the rest from the decisions."""

    format: int = FORMAT
    game: str
    options: dict[str, bool | int | str]
    rules_version: int
    players: list[str]
    seat: int = Field(ge=0)
    seed: int = Field(ge=0, lt=2**64)
    decisions: Decisions
    """Those of the finished hands before too (``Hands.decisions``)."""


def path_of(out: str, game: Game) -> str:
    """Where a hand of a game is kept."""
    return f"{out.rstrip('/')}/unfinished-{game.name.replace(':', '_').replace('/', '_')}.json"


def unfinished(path: str, game: Game, players: Sequence[str], seat: int, seed: int | None) -> Unfinished | None:
    """The hand kept in a file; None where there is none.

    Raises:
        UserError: it is damaged, of other rules, or of other players, another seat or seed.
    """
    if not storage.exists(path):
        return None
    try:
        found = Unfinished.of(storage.read_json(path))
        check_format(found.format, FORMAT)
    except ValueError as error:
        raise UserError(f"{path}: holds no hand ({error}); remove it") from error
    if (found.options, found.rules_version) != (dict(game.options), game.rules_version):
        raise UserError(f"{path}: holds a hand of other rules; play by these to finish it, or remove it")
    if (found.players, found.seat) != (list(players), seat) or seed not in (None, found.seed):
        who = f"seat={found.seat} players=[{','.join(found.players)}]"
        raise UserError(
            f"{path}: holds a hand that was left midway, {who}; give these, and no seed, to finish it, or remove it"
        )
    return found


def keep(path: str, session: Session, players: Sequence[str]) -> bool:
    """Keep the hand that is under way, if anybody has acted in it; else remove what was kept. Whether it is kept."""
    game = session.game
    if session.over or not session.decisions[-1]:
        storage.remove_file(path)
        return False
    kept = Unfinished(
        game=game.name,
        options=dict(game.options),
        rules_version=game.rules_version,
        players=list(players),
        seat=session.seat,
        seed=session.seed,
        decisions=session.decisions,
    )
    storage.write_json_atomic(path, kept.model_dump())
    return True
