"""The games of one iteration while they are played: what is missing, how far it is, and its figures."""

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from typing import Self

from cluster.files import storage
from cluster.watching.logs import span
from cluster.watching.progress import Progress
from selfplay.generator import ShardReport
from selfplay.plan import ShardPlan

Planned = tuple[ShardPlan, str]
"""A shard and its path."""


class Playing:
    """The missing shards of an iteration; use as a context manager, for its progress in the terminal.

    Sums over shards, so that figures of thousands cost no more than of one.
    """

    def __init__(
        self,
        iteration: int,
        earlier: Iterable[Planned],
        own: Iterable[Planned],
        under_way: Collection[tuple[int, int]] = (),
    ) -> None:
        """Look which shards are there.

        Args:
            earlier: shards of earlier iterations that it learns from too; those that are lost are played again.
            own: its own.
            under_way: numbers of those that are being played already.
        """
        self.iteration = iteration
        earlier, own = [*earlier], [*own]
        there = storage.existing(path for _, path in (*earlier, *own))
        lost = [(plan, path) for plan, path in earlier if path not in there and plan.number not in under_way]
        self.missing = [*lost, *((plan, path) for plan, path in own if path not in there)]
        total = sum(plan.num_games for plan, _ in (*lost, *own))
        self._before = total - sum(plan.num_games for plan, _ in self.missing)
        self._left, self._began = len(self.missing), time.monotonic()
        self._title, self._open = f"iteration {iteration}: playing", ExitStack()
        self._progress = Progress(self._title, total, "games", done=self._before)
        self._games = self._decisions = 0
        self._asked = 0
        """Games in which networks were asked; the others measure nothing of them."""
        self._illegal_mass = self._batch_fill = 0.0
        """Sums over these games."""

    def __enter__(self) -> Self:
        self._open.enter_context(span(self._title))
        self._open.enter_context(self._progress)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    @property
    def complete(self) -> bool:
        """Whether every missing shard has been added."""
        return not self._left

    def add(self, report: ShardReport) -> None:
        """Count a shard."""
        self._left -= 1
        self._games += report.games
        self._decisions += report.decisions
        if report.decisions:
            self._asked += report.games
            self._illegal_mass += report.illegal_mass * report.games
            self._batch_fill += report.batch_fill * report.games

    def show(self, under_way: Mapping[str, float]) -> None:
        """Show how far it is; ``under_way``: progress within the shards at work."""
        rate = (self._decisions + under_way.get("decisions", 0)) / max(time.monotonic() - self._began, 1e-9)
        self._progress.update(self._before + self._games, {"decisions/s": rate})

    def figures(self) -> dict[str, float]:
        """Rates since the beginning, and means; empty where nothing was played."""
        if not self._games:
            return {}
        seconds, asked = max(time.monotonic() - self._began, 1e-9), max(self._asked, 1)
        return {
            "games_per_second": self._games / seconds,
            "decisions_per_second": self._decisions / seconds,
            "illegal_mass": self._illegal_mass / asked,
            "batch_fill": self._batch_fill / asked,
        }
