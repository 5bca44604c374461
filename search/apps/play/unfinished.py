"""A hand that was left midway, in a file beside the finished ones, so that the next session goes on with it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from cluster.errors import UserError
from cluster.files import storage
from cluster.foreign import check_format
from games.game import Game
from search.apps.play.session import Session

FORMAT = 1
"""Increased whenever the meaning of the JSON changes."""


@dataclass(frozen=True)
class Unfinished:
    """All that is needed to be where one was: the deal follows from the seed, the rest from the decisions."""

    game: str
    options: dict[str, bool | int | str]
    rules_version: int
    players: list[str]
    seat: int
    seed: int
    decisions: list[list[list[int]]]
    """Of the finished hands before too (``Hands.decisions``)."""

    @property
    def who(self) -> str:
        """Seat and players, as on the command line."""
        return f"seat={self.seat} players=[{','.join(self.players)}]"


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
        record = dict(storage.read_json(path))
        check_format(record.pop("format", None), FORMAT)
        found = Unfinished(**record)
        if not _sound(found, game):
            raise ValueError("values that no hand has")
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: holds no hand ({error}); remove it") from error
    if (found.options, found.rules_version) != (dict(game.options), game.rules_version):
        raise UserError(f"{path}: holds a hand of other rules; play by these to finish it, or remove it")
    if (found.players, found.seat) != (list(players), seat) or seed not in (None, found.seed):
        these = f"{found.who}; give these, and no seed, to finish it, or remove it"
        raise UserError(f"{path}: holds a hand that was left midway, {these}")
    return found


def _sound(found: Unfinished, game: Game) -> bool:
    """Whether all of it has the types and ranges that it must have."""
    actions = [action for hand in found.decisions for decision in hand for action in decision]
    return (
        all(type(number) is int and 0 <= number < 2**64 for number in (found.seat, found.seed, *actions))
        and all(action < game.vocabulary.size for action in actions)
        and all(isinstance(player, str) for player in found.players)
    )


def keep(path: str, session: Session, players: Sequence[str]) -> bool:
    """Keep the hand that is under way, if anybody has acted in it; else remove what was kept. Whether it is kept."""
    game = session.game
    if session.over or not session.decisions[-1]:
        storage.remove_file(path)
        return False
    who = list(players), session.seat, session.seed
    kept = Unfinished(game.name, dict(game.options), game.rules_version, *who, session.decisions)
    storage.write_json_atomic(path, {"format": FORMAT, **asdict(kept)})
    return True
