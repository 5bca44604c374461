"""Several connections at a table: searches that go on, spectators, matches, restarts, and what each is sent."""

import asyncio
import json
import re
import threading
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from aiohttp import WSMsgType

from cluster.files.locks import run_lock
from games.game import Game
from games.registry import make_game
from games.rng import derive
from search.apps.play.session import Hands
from search.apps.serve import rooms
from search.apps.serve.rooms import _MOST_AT_A_SEAT, _MOST_WATCHING
from search.arena.tournament.statistics import ends_of
from search.players.player import Player
from search.players.table import play_table
from search.roster.registry import make_players
from tests.search.serve.clients import Client, asks, begun, error_of, opened, played, run, sat, scenario, until
from tests.search.serve.material import at, lowest, service
from tests.search.turns import turns_at
from tests.selfplay.commands import here


@scenario("hearts")
async def test_a_search_is_shown_as_it_goes_and_stopped_at_will(client: Client) -> None:
    socket, scene = await begun(client, level="rules", training=True)
    while True:  # to a decision that takes a while: one with several likely actions
        await socket.send_json({"search": True})
        first = await until(  # a busy machine has nothing to show yet at first
            socket, lambda told: told["type"] == "hint" and (told["simulations"] or not told["searching"])
        )
        if first["searching"]:
            break
        await socket.send_json(at(scene))
        scene = await until(socket, asks)
    await socket.send_json({"stop": True})
    last = await until(socket, lambda told: told["type"] == "hint" and not told["searching"])
    assert 0 < first["simulations"] <= last["simulations"] < 1000
    await socket.send_json({"search": True})
    await until(socket, lambda told: told["type"] == "hint")
    for _ in range(200):  # each ends the one before
        await socket.send_json({"search": True})
    await socket.send_json(at(scene))  # ends the search too
    assert (await until(socket, asks))["choices"] != scene["choices"]


@scenario()
async def test_a_second_tap_does_nothing_and_is_told_where_the_table_stands(client: Client) -> None:
    """A decision, a hand taken back, the next hand: each is asked for a position."""
    socket, first = await begun(client, level="rules", training=True)

    async def twice(message: dict[str, Any]) -> dict[str, Any]:
        for _ in range(2):
            await socket.send_json(message)
        scene = await until(socket, asks)
        assert (await error_of(socket)).startswith("the table has moved on")
        assert await until(socket, asks) == scene
        return scene

    for wrong in ({"act": lowest(first)}, {"undo": True, "at": None}, at(first) | {"at": True}):
        await socket.send_json(wrong)
        assert re.search("at must be the number of tokens|at: Input should be a valid int", await error_of(socket))
    second = await twice(at(first))
    third = await twice(at(second))
    assert await twice(at(third, undo=True)) == second
    assert (await twice(at(await played(socket, second), deal=True)))["hand"] == 2


@scenario()
async def test_who_watches_takes_nobodys_seat_and_an_old_connection_makes_room_for_a_new_one(client: Client) -> None:
    response = await client.post("/tables", json={"level": "rules"})
    found = await response.json()
    table, seat, watch = found["table"], found["seats"]["0"], found["watch"]
    watching = [await sat(client, table, watch) for _ in range(_MOST_WATCHING)]
    for socket in watching:
        await socket.receive_json()
    assert (await (await sat(client, table, watch)).receive()).data == 4503
    first, *others = [await sat(client, table, seat) for _ in range(_MOST_AT_A_SEAT + 1)]
    scenes = [await until(socket, asks) for socket in others]
    while (ended := await first.receive()).type is WSMsgType.TEXT:
        pass
    assert (ended.data, ended.extra) == (4409, "this seat is open in other windows")
    await others[0].send_json(at(scenes[0]))
    assert await until(others[-1], asks)


@scenario("hearts")
async def test_a_reload_while_others_think_shows_the_present_moment_alone(client: Client, monkeypatch) -> None:
    going, choice = threading.Event(), Hands.choice
    going.set()

    def slow(self: Hands) -> int:
        assert going.wait(60)
        return choice(self)

    monkeypatch.setattr(Hands, "choice", slow)

    table, (seat,) = await opened(client, level="rules")
    socket = await sat(client, table, seat)
    scene = await played(socket, await until(socket, asks), 4)
    going.clear()
    await socket.send_json(at(scene))
    before = await until(socket, lambda told: told.get("waiting_for"))
    again = await sat(client, table, seat)
    await asyncio.sleep(0.05)  # it waits behind what the others do
    going.set()
    here = await until(socket, asks)
    seen = [await again.receive_json()]
    while not asks(seen[-1]):
        seen.append(await again.receive_json())
    assert seen[-1] == here and len(seen[-1]["history"]) - len(before["history"]) >= len(seen) - 1


def test_the_time_of_a_card_does_not_tell_whether_there_was_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands still but where somebody waits or thinks. What takes longer than the pace still tells."""
    now, told, choice = [0.0], list[tuple[bool, float]](), Hands.choice
    wait, show = asyncio.sleep, Hands.let_play

    async def sleep(seconds: float) -> None:
        now[0] += max(0.0, seconds)
        await wait(0)

    def thinks(self: Hands) -> int:
        free = int(self.game.legal(self._state)[0].sum()) > 1
        now[0] += (0.03 + 0.06 * (len(told) % 2)) * free
        told.append((free, 0.0))
        return choice(self)

    def shown(self: Hands, chosen: int) -> None:
        told[-1] = told[-1][0], now[0]
        show(self, chosen)

    monkeypatch.setattr(rooms, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(Hands, "choice", thinks)
    monkeypatch.setattr(Hands, "let_play", shown)

    def times_apart(pace: float) -> dict[bool, set[float]]:
        told.clear()
        apart: dict[bool, set[float]] = {False: set(), True: set()}

        async def timed(client: Client) -> None:
            socket, scene = await begun(client, level="rules")
            while not scene["over"]:
                before, began = len(told), now[0]
                await socket.send_json(at(scene))
                scene = await until(socket, asks)
                for free, when in told[before:]:
                    apart[free].add(round(when - began, 6))
                    began = when

        run(timed, pace=pace)
        return apart

    assert times_apart(1.0) == {False: {0.2}, True: {0.2}}
    assert times_apart(0.25) == {False: {0.05}, True: {0.05, 0.09}}
    assert times_apart(0.0) == {False: {0.0}, True: {0.03, 0.09}}


@scenario()
async def test_who_watches_sees_no_hand_and_can_do_nothing(client: Client) -> None:
    response = await client.post("/tables", json={"level": "rules", "people": 1})
    found = await response.json()
    table, seat, watch = found["table"], found["seats"]["0"], found["watch"]
    player, spectator = await sat(client, table, seat), await sat(client, table, watch, "Nosy")
    scene = await played(player, await until(player, asks))
    seen = [await spectator.receive_json()]
    while not seen[-1].get("over"):
        seen.append(await spectator.receive_json())
    assert len(seen) > 5 and not any(one["choices"] or one["prompt"] or one.get("history") for one in seen)
    refused = {"type": "error", "text": "you watch this table", "said": ["serve.watching", {}]}
    for message in ({"act": [1]}, *({key: True} for key in ("deal", "hint", "search", "undo", "again"))):
        await spectator.send_json(message)
        assert await spectator.receive_json() == refused
    review = await client.get(f"/tables/{table}/review", headers={"X-Kibitz-Seat": watch})
    assert review.status == 403
    assert "Nosy" not in json.dumps(scene)


def test_a_table_outlives_its_server(tmp_path: Path) -> None:
    """The same link leads to the same moment, and what was done before can be taken back; a link that fits no seat is
    told nothing there either."""
    links, scenes = list[str](), list[dict[str, Any]]()

    async def before(client: Client) -> None:
        table, (seat,) = await opened(client, level="rules", training=True)
        links.extend([table, seat])
        socket = await sat(client, table, seat)
        scenes.append(await until(socket, asks))
        await socket.send_json(at(scenes[0]))
        scenes.append(await until(socket, asks))

    async def after(client: Client) -> None:
        table, seat = links
        socket = await sat(client, table, seat)
        assert await until(socket, asks) == scenes[1]
        await socket.send_json(at(scenes[1], undo=True))
        assert await until(socket, asks) == scenes[0]
        await socket.send_json(at(scenes[0]))
        assert await until(socket, asks) == scenes[1]
        for wrong in ((table, "wrong"), ("nosuch", seat), ("..%2F..%2Fx", seat)):
            ended = await (await sat(client, *wrong)).receive()
            assert ended.data == 4403

    run(before, out=str(tmp_path))
    run(after, out=str(tmp_path))


def test_a_decision_is_kept_before_anybody_else_acts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table from the moment it is opened; and what a person did, whatever becomes of the server then."""

    async def failing(client: Client) -> None:
        table, (seat,) = await opened(client, level="rules", training=True)
        kept = tmp_path / f"table-{table}.json"
        assert json.loads(kept.read_text())["decisions"] == [[]]
        socket = await sat(client, table, seat)
        scene = await until(socket, asks)
        monkeypatch.setattr(Hands, "let_play", lambda self, chosen: self.play(self.turn, -1, 17))  # fails
        await socket.send_json(at(scene))
        await error_of(socket)
        ((*_, done),) = json.loads(kept.read_text())["decisions"]
        assert done == lowest(scene)
        for wrong in ({"act": lowest(scene), "deal": True}, {"act": lowest(scene), "stop": True}):
            await socket.send_json(wrong)
            assert (await error_of(socket)).startswith("no such message")

    run(failing, out=str(tmp_path))


def test_a_directory_has_one_server(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        done = here("search.apps.serve", "skat", "port=0", f"out={tmp_path}")
    assert done.returncode == 2 and str(tmp_path) in done.stderr and len(done.stderr.splitlines()) == 1


def test_duplicate_deals_are_a_tournament() -> None:
    """A client plays a match against the network by a scripted player; the same two at the tables of tournaments have
    the same points on these deals."""
    deals, ends = 6, list[dict[str, Any]]()
    rules = make_game("skat")
    offered = service("skat")
    (mine,) = make_players(["skat_rules"], rules, offered._config.search)

    async def match(client: Client) -> None:
        socket, scene = await begun(client, level="network", deals=deals, rival="network")
        while True:
            if scene["over"]:
                ends.append(await until(socket, lambda told: told["type"] == "again"))
                if scene["match_over"]:
                    break
                await socket.send_json(at(scene, deal=True))
            else:
                await socket.send_json(at(scene, act=decided(rules, mine, scene)))
            scene = await until(socket, asks)
        await socket.send_json(at(scene, deal=True))
        assert await error_of(socket) == "the match of 6 deals is over; open another table"

    run(match)
    seeds = np.array([derive(5, "hand", number) for number in range(deals)], np.uint64)
    (network,) = make_players([offered.levels["network"].player], rules, offered._config.search)
    seating, secret = np.tile([0, 1, 1], (deals, 1)), derive(5, "decisions")
    points = [play_table(rules, [player, network], seating, seeds, secret=secret).points for player in (mine, network)]
    ahead = points[0][:, 0] - points[1][:, 0]
    low, high = ends_of(ahead)
    assert low is not None and high is not None
    assert [(end["yours"], end["points"]) for end in ends] == [*zip(points[0][:, 0], points[1][:, 0], strict=True)]
    assert ends[-1]["hands"] == deals and ends[-1]["ahead"] == pytest.approx(ahead.mean())
    assert ends[-1]["half"] == pytest.approx((high - low) / 2)


def decided(rules: Game, player: Player, scene: dict[str, Any]) -> list[int]:
    """A whole decision of a player, from what its seat is told."""
    tokens = [rules.vocabulary.names.index(name) for name in scene["history"]]
    player.start(rules, 1)
    for _ in range(scene["needed"]):
        tokens.append(int(player.act(turns_at(rules, [tuple(tokens)], np.zeros(1, np.uint64)))[0]))
    return tokens[-scene["needed"] :]


def test_of_searches_that_are_asked_for_while_one_ends_the_last_alone_waits() -> None:
    begun = list[int]()

    async def asked() -> None:
        searches, ends = rooms.Searches(), asyncio.Event()

        async def searching(number: int, stopped: threading.Event) -> None:
            begun.append(number)
            await ends.wait()

        for number in range(1000):
            searches.stop()
            searches.begin(partial(searching, number))
            await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 2
        ends.set()
        assert searches._task is not None
        await searches._task

    asyncio.run(asked())
    assert begun == [0, 999]
