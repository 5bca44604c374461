"""Tournaments in parts for any number of workers: one queue for several tournaments, each merged after its last part.
Finished parts may be kept in files (``search.arena.partial_results``)."""

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

from cluster.files import uris
from cluster.watching.progress import OnProgress
from games.game import Game
from games.registry import make_game
from games.shards import write_shard
from search.arena.partial_results import PartialResults, Parts, parts_of
from search.arena.tournament.deals import Deals
from search.arena.tournament.evaluator import DealsTask, EvaluatorSettings
from search.arena.tournament.matches import Matches, from_arrays, merge, part_name, to_arrays
from search.arena.tournament.result import TournamentResult, identity, summarize
from search.roster.spec import labels

Evaluate = Callable[[Iterable[DealsTask], OnProgress], Iterator[tuple[DealsTask, Matches | Exception]]]
"""Plays parts of tournaments; yields each with its matches or exception, in order of completion."""


@dataclass(frozen=True)
class Tournament:
    """A tournament to be played."""

    settings: EvaluatorSettings
    players: tuple[str, ...]
    """Entrants, A first, as ``search.roster.registry`` reads them."""
    checkpoint: str
    """Directory of the network of entrants that name none; empty if no entrant needs one."""
    deals: Deals
    deals_per_task: int
    """Most deals of a part; 0 for as many as fill the table."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Put into the result as ``settings``."""
    keep: str = ""
    """Shard for the histories of all matches; empty to keep none."""
    kept: PartialResults = field(default_factory=PartialResults)
    """Finished parts in files."""

    def game(self) -> Game:
        """The game that is played."""
        return make_game(self.settings.game.name, self.settings.game.options)

    @cached_property
    def played(self) -> list[Matches]:
        """The parts read from files, no deal twice."""
        parts, deals = list[Matches](), set[int]()
        for name in sorted(self.kept.found):
            part = from_arrays(self.kept.found[name], self.deals)
            if deals.isdisjoint(part.deals.numbers):  # parts of two commands at once may overlap
                parts.append(part)
                deals.update(part.deals.numbers)
        return parts

    @property
    def deals_played(self) -> int:
        """Deals of ``played``."""
        return sum(len(part.points) for part in self.played)

    @property
    def depends_on(self) -> dict[str, Any]:
        """The settings that its result depends on; see ``Recorded.depends_on``."""
        game = self.game()
        return {**self.record, **identity(game.name, game.options, labels(self.players), self.deals)}

    def stored(self, path: str) -> TournamentResult | None:
        """Its result if ``path`` holds it; None for a missing file, or if histories are to be kept, which such files
        lack. See ``Recorded.stored``."""
        result = TournamentResult.stored(path, self.depends_on)
        return None if self.keep else result

    def with_parts(self, path: str) -> "Tournament":
        """The same with its parts stored for the result ``path``, where new parts will be kept too until the result is
        written; without parts if histories are to be kept, which parts lack.

        Raises:
            UserError: a part is damaged or of another tournament, naming the difference.
        """
        begun = replace(self, kept=PartialResults(parts_of(path), self.depends_on, TournamentResult.WHAT))
        if self.keep:
            begun.kept.found.clear()
        if begun.deals_played:
            print(f"{path}: {begun.deals_played} of {begun.deals.count} deals played before", flush=True)
        return begun

    def tasks(self, match: int) -> list[DealsTask]:
        """The parts still to play, of nearly equal size, independent of the workers and their number."""
        played = {deal for part in self.played for deal in part.deals.numbers}
        parts = self.kept.parts if uris.is_remote(self.kept.parts.directory) else Parts()
        with_what = self.settings, self.players, self.checkpoint
        return [
            DealsTask(*with_what, self.deals.part(*run), match, bool(self.keep), parts)
            for begin, end in self._cuts()
            for run in _runs(deal for deal in range(begin, end) if deal not in played)
        ]

    def keep_part(self, part: Matches) -> None:
        """Write a part to its file, if parts are kept."""
        self.kept.keep(part_name(part), to_arrays(part))

    def matches_at_once(self) -> int:
        """Most matches in progress at one table."""
        deals = max(end - first for first, end in self._cuts())
        return min(self.settings.table_size, deals * self._seatings())

    def _cuts(self) -> list[tuple[int, int]]:
        """First deal of every part, and the deal after its last."""
        most = self.deals_per_task or -(-self.settings.table_size // self._seatings())
        first, count = self.deals.first, self.deals.count
        parts = -(-count // most)
        return list(pairwise(first + count * part // parts for part in range(parts + 1)))

    def _seatings(self) -> int:
        """Number of matches per deal."""
        return len(self.deals.seatings(self.game(), len(self.players)))

    def result(self, parts: Sequence[Matches]) -> TournamentResult:
        """The result of all parts together; writes the shard of histories if ``keep`` names one."""
        game, matches = self.game(), merge(parts, self.deals)
        if matches.histories is not None:
            networks = self.record.get("checkpoints", {}).items()
            ids = " ".join(f"{name}:{network['id']}" for name, network in networks)
            provenance = {"seating": "tournament", "run_seed": str(self.deals.seed), "checkpoints": ids}
            write_shard(self.keep, matches.histories, game, provenance)
        return summarize(game, labels(self.players), matches, self.record)


def play_tournaments(
    tournaments: Sequence[Tournament],
    evaluate: Evaluate,
    show: Callable[[float, Mapping[str, float]], None] = lambda deals, figures: None,
) -> Iterator[tuple[int, TournamentResult | Exception]]:
    """Play tournaments from one queue of parts, so that no worker waits while a tournament has deals left.

    A tournament fails with its first failed part; its other parts are not played. The other tournaments go on.

    Args:
        show: called at intervals with the deals played so far, including those from files, and figures about the
            others: ``decisions``, ``decisions/s`` and ``fill``, the share of the tables' places in use.

    Yields:
        Number of a tournament, and its result after its last part, or its exception.
    """
    queues = [tournament.tasks(match) for match, tournament in enumerate(tournaments)]
    failed, left = set[int](), [len(queue) for queue in queues]
    parts = [list(tournament.played) for tournament in tournaments]
    before = sum(tournament.deals_played for tournament in tournaments)
    deals, decisions, fill, began = 0, 0, 0.0, time.monotonic()

    def report(under_way: Mapping[str, float]) -> None:
        decided = decisions + int(under_way.get("decisions", 0))
        rate = decided / max(time.monotonic() - began, 1e-9)
        figures = {"decisions": decided, "decisions/s": rate, "fill": fill / max(deals, 1)}
        show(before + deals + under_way.get("deals", 0), figures)

    yield from ((match, tournaments[match].result(parts[match])) for match, queue in enumerate(queues) if not queue)
    for task, matches in evaluate(_Queue(queues, failed), report):
        if isinstance(matches, Exception):
            if task.match not in failed:
                failed.add(task.match)
                yield task.match, matches
            continue
        if not task.parts.directory:
            tournaments[task.match].keep_part(matches)
        parts[task.match].append(matches)
        deals += len(matches.points)
        decisions += int(matches.decisions.sum())
        fill += matches.fill * len(matches.points)
        report({})
        left[task.match] -= 1
        if not left[task.match]:
            yield task.match, tournaments[task.match].result(parts[task.match])


class _Queue:
    """The parts of all tournaments but those that have failed by then; as many as there are at most."""

    def __init__(self, queues: Sequence[Sequence[DealsTask]], failed: Container[int]) -> None:
        self._queues, self._failed = queues, failed

    def __iter__(self) -> Iterator[DealsTask]:
        return (task for queue in self._queues for task in queue if task.match not in self._failed)

    def __len__(self) -> int:
        return sum(map(len, self._queues))


def _runs(deals: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First number and length of every run of consecutive numbers."""
    for _, run in groupby(enumerate(deals), key=lambda place: place[1] - place[0]):
        numbers = [deal for _, deal in run]
        yield numbers[0], len(numbers)
