"""Playing the matches of a tournament.

Letters: ``D`` deals, ``S`` seatings of every deal, ``P`` seats, ``E`` entrants. A *match* is one deal in one seating.
What a match ends with depends on the tournament's seed, the number of its deal and its seating alone, so that the deals
can be shared out among any number of workers and put together again with ``merge``.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from games.game import Game
from games.rng import derive, derive_many
from search.players.player import Player
from search.players.table import play_table
from search.tournament.seatings import ALL, seatings


@dataclass(frozen=True)
class Matches:
    """Every seating of a run of consecutive deals."""

    first: int
    """Number of the first deal."""
    points: np.ndarray
    """``float32[D, S, P]``: points of every seat."""
    decisions: np.ndarray
    """``int64[E]``: turns each entrant decided."""
    seconds: np.ndarray
    """``float64[E]``: wall time each entrant took for them."""
    fill: float = 1.0
    """Mean share of the table's places at which a match was going on."""
    sees_hidden: tuple[bool, ...] = ()
    """Whether each entrant looks at cards that a real player cannot see; empty where nobody does."""
    variant: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))
    """``int16[D]``: the kind of each deal, an index of ``Game.variants``; empty where the game has none."""
    seating: str = ALL
    """One of ``search.tournament.seatings.SEATINGS``."""

    @property
    def deals(self) -> range:
        """Numbers of the deals."""
        return range(self.first, self.first + len(self.points))


def to_arrays(matches: Matches) -> dict[str, np.ndarray]:
    """What a file keeps of them: every field but ``seating``, which the tournament knows."""
    fields = ("first", "points", "decisions", "seconds", "fill", "sees_hidden", "variant")
    arrays = {name: np.asarray(getattr(matches, name)) for name in fields}
    return arrays | {"sees_hidden": arrays["sees_hidden"].astype(np.bool_)}


def from_arrays(arrays: Mapping[str, np.ndarray], seating: str) -> Matches:
    """The matches that ``to_arrays`` was given."""
    plain: dict[str, Any] = {"first": int(arrays["first"]), "fill": float(arrays["fill"])}
    plain["sees_hidden"] = tuple(arrays["sees_hidden"].tolist())
    return Matches(**{**arrays, **plain}, seating=seating)


def play_deals(
    game: Game,
    players: Sequence[Player],
    first: int,
    count: int,
    seed: int,
    table_size: int = 256,
    on_progress: Callable[[int, int], None] = lambda deals, decisions: None,
    seating: str = ALL,
) -> Matches:
    """Play deals ``first .. first + count - 1`` of the tournament that ``seed`` names, each in every seating.

    Args:
        players: the entrants.
        table_size: matches played side by side; bounds the memory.
        on_progress: called whenever a player has decided its turns or matches have ended, with the number of deals'
            worth of matches that have ended since the last call, and of decisions taken.
        seating: one of ``search.tournament.seatings.SEATINGS``.
    """
    if count < 1:
        raise ValueError(f"deals={count}: at least 1 deal must be played")
    seats = seatings(len(players), game.num_players, game.cooperative, seating)
    deals = derive_many(derive(seed, "tournament"), count, first)
    ended = 0

    def count_deals(matches: int, decisions: int) -> None:
        nonlocal ended
        before, ended = ended // len(seats), ended + matches
        on_progress(ended // len(seats) - before, decisions)

    rows, seeds = np.tile(seats, (count, 1)), np.repeat(deals, len(seats))
    result = play_table(game, players, rows, seeds, table_size, count_deals, secret=derive(seed, "decisions"))
    points = result.points.reshape(count, *seats.shape)
    sees_hidden = tuple(player.sees_hidden for player in players)
    variant = game.variant(result.states[:: len(seats)]) if game.variants else np.zeros(0, np.int16)
    return Matches(first, points, result.decisions, result.seconds, result.fill, sees_hidden, variant, seating)


def merge(parts: Sequence[Matches], first: int, count: int) -> Matches:
    """The parts of a tournament of deals ``first .. first + count - 1`` as one.

    ``ValueError`` naming the deals that are missing, there more than once, or not of this tournament.
    """
    promised = range(first, first + count)
    times = Counter(deal for part in parts for deal in part.deals)
    wrong = {
        "missing": [deal for deal in promised if deal not in times],
        "more than once": sorted(deal for deal, number in times.items() if number > 1),
        "not asked for": sorted(deal for deal in times if deal not in promised),
    }
    if any(wrong.values()):
        said = (f"{what}: {_listed(deals)}" for what, deals in wrong.items() if deals)
        raise ValueError(f"the parts of deals {first}..{first + count - 1} do not fit; {'; '.join(said)}")
    ordered = sorted(parts, key=lambda part: part.first)
    return Matches(
        first,
        np.concatenate([part.points for part in ordered]),
        np.sum([part.decisions for part in ordered], axis=0),
        np.sum([part.seconds for part in ordered], axis=0),
        float(np.average([part.fill for part in ordered], weights=[len(part.points) for part in ordered])),
        ordered[0].sees_hidden,
        np.concatenate([part.variant for part in ordered]),
        ordered[0].seating,
    )


def _listed(deals: Sequence[int]) -> str:
    """Numbers of deals, the first few of many."""
    return ", ".join(map(str, deals[:5])) + (f" and {len(deals) - 5} more" if len(deals) > 5 else "")
