"""Playing the matches of a tournament.

Letters: ``D`` deals, ``S`` seatings of every deal, ``P`` seats, ``E`` entrants. A *match* is one deal in one seating.
Its result depends only on the tournament's seed, the deal's number and the seating, so that any number of workers can
share the deals, and ``merge`` joins the parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from games.game import Game
from games.rng import derive
from games.shards import Sequences
from search.arena.tournament.deals import Deals
from search.players.player import Player
from search.players.table import play_table

_INDICATOR = "indicator."
"""Before the names of indicators in a file."""


@dataclass(frozen=True)
class Matches:
    """Every seating of a run of consecutive deals."""

    deals: Deals
    points: np.ndarray
    """``float32[D, S, P]``: points of every seat."""
    decisions: np.ndarray
    """``int64[E]``: turns each entrant decided."""
    seconds: np.ndarray
    """``float64[E]``: wall time each entrant took for them."""
    fill: float = 1.0
    """Mean share of the table's places in use."""
    sees_hidden: tuple[bool, ...] = ()
    """Whether each entrant looks at cards that a real player cannot see; empty where none does."""
    variant: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int16))
    """``int16[D]``: the kind of each deal, an index of ``Game.scenarios``; empty where the game has none."""
    indicators: dict[str, np.ndarray] = field(default_factory=dict)
    """Name -> ``float32[D, S, P]``, as ``search.players.table.TableResult`` has them."""
    histories: Sequences | None = None
    """Every seat's history of every match, numbered by match as shards number deals; None if not kept."""


def part_name(matches: Matches) -> str:
    """The name of these deals' file."""
    return f"{matches.deals.first:08d}-{len(matches.points)}"


def to_arrays(matches: Matches) -> dict[str, np.ndarray]:
    """The arrays for a file, without ``histories``; the tournament knows the rest of ``deals``."""
    fields = ("points", "decisions", "seconds", "fill", "sees_hidden", "variant")
    arrays = {name: np.asarray(getattr(matches, name)) for name in fields}
    arrays |= {f"{_INDICATOR}{name}": shown for name, shown in matches.indicators.items()}
    return arrays | {"first": np.asarray(matches.deals.first), "sees_hidden": arrays["sees_hidden"].astype(np.bool_)}


def from_arrays(arrays: Mapping[str, np.ndarray], deals: Deals) -> Matches:
    """The inverse of ``to_arrays``, for a tournament of ``deals``."""
    shown = {key.removeprefix(_INDICATOR): arrays[key] for key in arrays if key.startswith(_INDICATOR)}
    fields: dict[str, Any] = {key: value for key, value in arrays.items() if not key.startswith(_INDICATOR)}
    fields |= {"fill": float(arrays["fill"]), "indicators": shown}
    fields["sees_hidden"] = tuple(arrays["sees_hidden"].tolist())
    return Matches(deals.part(int(fields.pop("first")), len(arrays["points"])), **fields)


def play_deals(
    game: Game,
    players: Sequence[Player],
    deals: Deals,
    table_size: int = 256,
    on_progress: Callable[[int, int], None] = lambda deals, decisions: None,
    keep: bool = False,
) -> Matches:
    """Play every deal in every seating.

    Args:
        players: the entrants.
        table_size: matches played side by side; bounds the memory.
        on_progress: called when a player has decided its turns or matches have ended, with the ended matches, counted
        in
            deals, and the decisions since the last call.
        keep: whether to keep the histories.
    """
    seats = deals.seatings(game, len(players))
    ended = 0

    def count_deals(matches: int, decisions: int) -> None:
        nonlocal ended
        before, ended = ended // len(seats), ended + matches
        on_progress(ended // len(seats) - before, decisions)

    rows, seeds = np.tile(seats, (deals.count, 1)), np.repeat(deals.seeds(game), len(seats))
    result = play_table(game, players, rows, seeds, table_size, count_deals, secret=derive(deals.seed, "decisions"))
    points = result.points.reshape(deals.count, *seats.shape)
    sees_hidden = tuple(player.sees_hidden for player in players)
    variant = game.scenario(result.states[:: len(seats)]) if game.scenarios else np.zeros(0, np.int16)
    histories = None
    if keep:
        names, first = np.array([player.name for player in players], object)[rows], deals.first * len(seats)
        histories = Sequences.of_deals(game, result.states, seeds, names, first=first)
    shown = {name: each.reshape(points.shape) for name, each in result.indicators.items()}
    return Matches(deals, points, result.decisions, result.seconds, result.fill, sees_hidden, variant, shown, histories)


def merge(parts: Sequence[Matches], deals: Deals) -> Matches:
    """The parts of a tournament of ``deals`` as one.

    ``ValueError`` where they are not its deals, each once.
    """
    ordered = sorted(parts, key=lambda part: part.deals.first)
    if [deal for part in ordered for deal in part.deals.numbers] != list(deals.numbers):
        there = ", ".join(f"{part.deals.numbers[0]}..{part.deals.numbers[-1]}" for part in ordered) or "none"
        raise ValueError(f"deals {deals.numbers[0]}..{deals.numbers[-1]} were asked for, and the parts have {there}")
    kept = [part.histories for part in ordered if part.histories is not None]
    return Matches(
        deals,
        np.concatenate([part.points for part in ordered]),
        np.sum([part.decisions for part in ordered], axis=0),
        np.sum([part.seconds for part in ordered], axis=0),
        float(np.average([part.fill for part in ordered], weights=[len(part.points) for part in ordered])),
        ordered[0].sees_hidden,
        np.concatenate([part.variant for part in ordered]),
        _indicators(ordered),
        Sequences.concat(kept) if kept else None,
    )


def _indicators(parts: Sequence[Matches]) -> dict[str, np.ndarray]:
    """Those of all parts; NaN where a part has none of a name."""
    names = dict.fromkeys(name for part in parts for name in part.indicators)
    nothing = [np.full(part.points.shape, np.nan, np.float32) for part in parts]
    found = {
        name: [part.indicators.get(name, none) for part, none in zip(parts, nothing, strict=True)] for name in names
    }
    return {name: np.concatenate(columns) for name, columns in found.items()}
