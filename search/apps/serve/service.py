"""What a server offers of one game, without any network: tables, hints, reviews, answers."""

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from cluster.errors import UserError
from games.recorded_deals import RecordedDeals
from games.registry import make_game
from learner.kinds import of_checkpoint
from search.apps.engine.engine import MoveEngine
from search.apps.pictures.pages import templates
from search.apps.pictures.texts import Text, as_json
from search.apps.play.hints import Expectation, Hints, visits_of
from search.apps.play.layouts import layout_of
from search.apps.review.page import page
from search.apps.review.review import review_of
from search.apps.serve.config import ServeConfig
from search.apps.serve.tables import Table, TableOptions, new_seed
from search.arena.judges import JudgeSetup, load_judge, ships, tells_values
from search.arena.tournament.statistics import ends_of
from search.players.player import Player
from search.players.support import Level, Support
from search.roster.engines import Engines
from search.roster.kinds import NETWORK_PLAYER, support_of
from search.roster.registry import make_players, resolve, settings_of, settled

_SEARCHED, _SEARCH_SECONDS = 1000, 5.0
"""Most simulations, and seconds of thinking, of a search, which people see as it goes and may stop."""
_SHOWN_EVERY = 0.2
"""Seconds."""
_Steps = Generator[dict[str, Any] | None, None, None]
NO_VALUES = Text("serve.no_values")


class Service:
    """Loads networks once; everything but the constructor and ``about`` may take long."""

    def __init__(self, config: ServeConfig) -> None:
        """``ValueError`` for a player that cannot be had; ``UserError`` for one that sees hidden cards, or if none is
        given and none ships."""
        config = settled(config)  # hints and all tables have the network of now, however its run goes on
        self._config, self.game = config, make_game(config.game.name, config.game.options)
        self._engines, support = Engines(self.game, config.engine), support_of(self.game)
        self.used, self.seeded = set[int](), config.seed is not None
        """Seeds of earlier tables, and whether the next ones are to follow a seed that was asked for."""
        if not config.player and not ships(self.game):
            other = support.baseline.name if support.baseline else "random"
            raise UserError(f"no network ships for {self.game.name}: give player=argmax_val@DIR, or player={other}")
        (entrant,) = resolve([config.player or NETWORK_PLAYER], self.game, config.search)
        self._setup: JudgeSetup | None = None
        if tells_values(entrant.kind):
            self._setup = load_judge(config.player, self.game, self._engines, config.search)
            (entrant,) = resolve([self._setup.name], self.game, config.search)  # with the network that ships
        self.levels = _levels(support, entrant.name, bool(config.player))
        self.first = "player" if config.player else "network"
        if self._player(self.first).sees_hidden:
            raise UserError(f"player {entrant.name}: it sees hidden cards; name a player that sees what the seat sees")
        self.engine = MoveEngine(self.game, self._setup, 0) if self._setup else None
        self._hints: Hints | None = None
        self._missions = layout_of(self.game, [""] * (self.game.num_players - 1)).missions
        self._spare = 0
        """KV slots that searches leave to others while they pause."""
        if entrant.checkpoint and of_checkpoint(entrant.checkpoint).input == "histories":
            model = self._engines.get(entrant.checkpoint)
            settings = settings_of("go_mcts", entrant.checkpoint, self.game, config.search)
            settings = replace(settings, num_runs=_SEARCHED, seconds=_SEARCH_SECONDS)
            self._hints, self._spare = Hints(self.game, model, settings, 0), model.slots_left // 2

    def about(self) -> dict[str, Any]:
        """What the page offers: as the first line of ``kibitz engine``, and the levels of opponents."""
        alone = {"game": self.game.name, "player": self._config.player, "seats": self.game.num_players}
        return {
            **(self.engine.about if self.engine else alone),
            "first": self.first,
            "levels": {name: asdict(one) for name, one in self.levels.items()},
            "missions": as_json(self._missions),
            "key": bool(self._config.key),
        }

    def page(self) -> str:
        """The page of the table, self-contained."""
        return templates("search.apps.serve").get_template("table.html").render(game=self.game.name)

    # ---- tables

    def checked(self, options: TableOptions) -> TableOptions:
        """Options with the first level where they name none; ``ValueError`` says what this game does not have."""
        levels = {key: getattr(options, key) or self.first for key in ("level", "rival")}
        for key, level in levels.items():
            if level not in self.levels:
                raise ValueError(f"{key}: no such level; there are {', '.join(self.levels)}")
        if options.people > (seats := self.game.num_players):
            raise ValueError(Text("serve.people", game=self.game.title, seats=seats))
        if options.mission > len(self._missions):
            raise ValueError(f"mission: {self.game.title} has missions 0 to {len(self._missions)}")
        return options.model_copy(update=levels)

    def table(self, options: TableOptions) -> Table:
        """A new table: people sit from seat 0 on, evenly spread. With a seed tables have it and those that follow, less
        the ``used`` ones."""
        seed = new_seed() if self._config.seed is None else self._config.seed
        while seed in self.used:
            seed += 1
        self.used.add(seed)
        return self.table_of(options, seed)

    def table_of(self, options: TableOptions, seed: int) -> Table:
        """A table of a seed, at its first deal."""
        seats = self.game.num_players
        people = {seats * number // options.people for number in range(options.people)}
        player = self._player(options.level)
        others: dict[int, Player] = {seat: player for seat in range(seats) if seat not in people}
        return Table(self.game, options, others, seed)

    def _player(self, level: str) -> Player:
        """A new player for a table of its own; players of all tables share the engines."""
        return make_players([self.levels[level].player], self.game, self._config.search, engines=self._engines)[0]

    def hint(self, table: Table, seat: int) -> dict[str, Any]:
        """What the network expects at a seat's turn. ``ValueError`` where the table is not for training."""
        return table.expectation(seat, self._expected(table, seat), {})

    def search(self, table: Table, seat: int, stopped: Callable[[], bool]) -> _Steps:
        """A search of a seat's decision, which goes on between what this yields: now and then what it has found, and at
        last the result. It ends early once ``stopped``, and without a result once the decision has passed.
        ``ValueError`` as ``hint``."""
        history, found, shown = table.hands.history_of(seat), self._expected(table, seat), time.monotonic()
        search = None
        assert self._hints  # else nothing was expected
        with closing(self._hints.searching(history)) as searching:
            for search in searching:
                if not np.array_equal(history, table.hands.history_of(seat)):
                    return
                if stopped():
                    search.stop()
                if search.model.slots_left < self._spare:
                    search.make_room()
                if (now := time.monotonic()) - shown < _SHOWN_EVERY:
                    yield None
                    continue
                shown = now
                yield table.expectation(seat, found, visits_of(search), searching=True)
        yield table.expectation(seat, found, visits_of(search))

    def _expected(self, table: Table, seat: int) -> Expectation:
        if not table.options.training:
            raise ValueError(Text("serve.no_hints"))
        if self._hints is None:
            raise ValueError(Text("serve.no_network"))
        history = table.hands.history_of(seat)
        found = self._hints.expect(history)
        if found is None or not found.actions:
            raise ValueError(Text("serve.own_turns"))
        return found

    def replay(self, table: Table) -> _Steps:
        """The rival plays the hand that is over, a decision at a time; nothing where it has, or none is over."""
        finished = table.hands.finished
        if not table.hands.over or (table.replayed is not None and table.replayed[0] == finished):
            return
        for points in table.hands.played_by(self._player(table.options.rival)):
            if points is not None:
                table.replayed = finished, points
            yield None

    def rival_replay(self, table: Table, seat: int) -> dict[str, Any]:
        """The last hand played by the rival in people's places, beside the person's result, and how far that person is
        ahead over all hands that were compared. ``ValueError`` while a hand is being played."""
        if not table.hands.over:
            raise ValueError(Text("serve.not_yet"))
        rival, finished = table.options.rival, table.hands.finished
        for _ in self.replay(table):
            pass
        assert table.replayed is not None
        points = table.replayed[1]
        mine = table.hands.points_of(seat)[-1]
        sign = -1.0 if self.game.outcomes.lower_is_better else 1.0
        ahead = table.compared.setdefault(seat, {})
        ahead[finished] = sign * float(mine[0] - points[seat])
        differences = np.array([*ahead.values()])
        low, high = ends_of(differences)
        half = None if low is None or high is None else (high - low) / 2
        return {"type": "again", "player": rival, "points": float(points[seat]), "yours": float(mine[0]),
                "hands": len(ahead), "ahead": float(differences.mean()), "half": half}  # fmt: skip

    def review(self, table: Table, seat: int) -> str:
        """The page of a review of the last finished hand, of a person's own decisions; made once. ``ValueError`` where
        nobody can judge."""
        if self._setup is None:
            raise ValueError(NO_VALUES)
        number, html = table.pages.get(seat, (0, ""))
        if number != table.hands.finished:
            deals = RecordedDeals(self.game, table.hands.last, ("Your hand",))
            names = [table.name_at(one) for one in range(self.game.num_players)]
            html = page(review_of(deals, np.array([seat]), self._setup, most=1), deals, 1, names)
            table.pages[seat] = table.hands.finished, html
        return html


def _levels(support: Support, player: str, given: bool) -> dict[str, Level]:
    """The opponents of a game by name; of one that has none the judging player, the rules of thumb and random actions.

    Args:
        given: whether the player was asked for, and is a level of its own.
    """
    own = {"player": Level(player)} if given else {}
    if support.levels:
        return {**own, **support.levels}
    rules = {"rules": Level(support.baseline.name)} if support.baseline else {}
    return {**(own or {"network": Level(player)}), **rules, "random": Level("random")}
