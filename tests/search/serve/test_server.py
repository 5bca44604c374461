"""The server as browsers and programs meet it."""

import asyncio
import gzip
import threading
from itertools import product
from typing import Any

import pytest
from aiohttp import WSMsgType

from learner.inference.engine import QueryEngine
from search.apps.play.session import Hands
from search.apps.serve import server
from search.apps.serve.rooms import _BEHIND
from tests.search.serve.clients import Client, asks, begun, error_of, opened, played, run, sat, scenario, until
from tests.search.serve.material import at, config, service

KEY = "a-secret-of-the-house"


@scenario()
async def test_a_hand_with_its_hints_and_its_review(client: Client) -> None:
    table, (seat,) = await opened(client, level="rules", training=True)
    headers = {"X-Kibitz-Seat": seat}
    assert (await client.get(f"/tables/{table}/review", headers=headers)).status == 409
    socket = await sat(client, table, seat)
    scene = await until(socket, asks)
    await socket.send_json({"hint": True})
    assert (await until(socket, lambda message: message["type"] == "hint"))["actions"]
    scene = await played(socket, scene)
    await socket.send_json({"again": True})
    assert (await until(socket, lambda message: message["type"] == "again"))["player"] == "network"
    review = await client.get(f"/tables/{table}/review", headers=headers)
    assert review.status == 200 and "Review of your last hand" in await review.text()
    await socket.send_json(at(scene, deal=True))
    assert (await until(socket, asks))["hand"] == 2


@scenario()
async def test_a_token_that_fits_no_seat_is_told_nothing(client: Client) -> None:
    table, _ = await opened(client)
    for name, secret in product((table, "nosuch"), ("", "wrong", None, 7, ["x"], "\ud800")):
        socket = await client.ws_connect(f"/tables/{name}")
        await socket.send_json({"seat": secret})
        ended = await asyncio.wait_for(socket.receive(), 10)
        assert ended.type is WSMsgType.CLOSE and ended.data == 4403
        response = await client.get(f"/tables/{name}/review", headers={"X-Kibitz-Seat": "wrong"})
        assert response.status == 403 and await response.text() == "this link fits no seat"


NONSENSE = [{}, *({"act": act} for act in ("x", [1.5], [9999], [0] * 99, [True])), {"deal": 1}, {"undo": 1}, {"x": 1}]


@scenario()
async def test_what_makes_no_sense_is_refused_and_the_hand_goes_on(client: Client) -> None:
    socket, scene = await begun(client, level="rules")
    for message in NONSENSE:
        await socket.send_json(message | {"at": len(scene["history"])})
        assert await error_of(socket)
    for junk in ("junk", "[" * 10_000, "[1]", "null"):
        await socket.send_str(junk)
        assert await error_of(socket)
    await socket.send_json(at(scene))
    assert (await until(socket, lambda told: told["type"] == "scene"))["title"]


@scenario(names=["play.example.org"])
async def test_behind_a_proxy_its_own_pages_may_ask_and_no_site_may_frame_them(client: Client) -> None:
    site = {"Host": "play.example.org", "Origin": "https://play.example.org"}
    asked = [client.get("/", headers=site), client.get("/nowhere", headers=site), client.post("/tables", data=b"x")]
    asked += [client.get("/", headers={"Host": "127.0.0.1:evil"})]
    for one, status in zip(asked, (200, 404, 400, 403), strict=True):
        response = await one
        assert response.status == status and response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    table, (seat,) = await opened(client, level="rules")
    socket = await client.ws_connect(f"/tables/{table}", headers={"Host": site["Host"]}, origin=site["Origin"])
    await socket.send_json({"seat": seat})
    assert await until(socket, asks)


@scenario(key=KEY)
async def test_with_a_key_nobody_opens_a_table_or_asks_without_it(client: Client) -> None:
    for headers, status in (({}, 403), ({"X-Kibitz-Key": "no"}, 403), ({"X-Kibitz-Key": KEY}, 200)):
        assert (await client.post("/tables", json={}, headers=headers)).status == status
        question = {"history": ["forehand"]}
        assert (await client.post("/answers", json=question, headers=headers)).status == status


def test_beyond_loopback_only_with_a_key() -> None:
    with pytest.raises(ValueError, match=r"host=0\.0\.0\.0: must be loopback"):
        config("skat", host="0.0.0.0")
    assert config("skat", host="0.0.0.0", key=KEY).key == KEY
    for odd in ("with spaces in it", "mit-Umläuten-ä"):
        with pytest.raises(ValueError, match="key: must be of printable ASCII characters without spaces"):
            config("skat", key=odd)


@scenario(waiting=40)
async def test_answers_are_the_analysts_and_too_many_are_told_to_come_back(client: Client) -> None:
    questions = [{"id": number, "history": ["forehand"]} for number in range(20)] + [{"id": 20, "histroy": []}]
    response = await client.post("/answers", json=questions)
    assert await response.json() == service("skat").engine.answers(questions)
    alone = await client.post("/answers", json=questions[0])
    assert await alone.json() == service("skat").engine.answers(questions[:1])[0]
    assert (await client.post("/answers", json=questions * 2)).status == 503
    assert (await client.post("/answers", data=b"junk")).status == 400
    odd = {"Content-Type": "application/json; charset=foo"}
    assert (await client.post("/answers", data=b"{}", headers=odd)).status == 400
    await _refused_bodies(client)
    many = await asyncio.gather(*(client.post("/answers", json=questions[:4]) for _ in range(200)))
    assert {response.status for response in many} <= {200, 503} and many[0].status == 200
    assert [await one.json() for one in many if one.status == 200][-1] == await (
        await client.post("/answers", json=questions[:4])
    ).json()


async def _refused_bodies(client: Client) -> None:
    """What would stop the server, or is no JSON, is refused at once."""
    slow = b'"' + b"a" * 200_000 + "-\u00fc".encode() + b'"'
    for charset in ("punycode", "idna", "utf-7", "unicode_escape", "latin-1"):
        response = await client.post("/answers", data=slow, headers={"Content-Type": f"text/plain; charset={charset}"})
        assert (response.status, await response.text()) == (400, "not UTF-8")
    for body, headers in (
        (b'"\xff"', {}),
        ('{"id": 1}'.encode("utf-16"), {}),
        (b"no gzip", {"Content-Encoding": "gzip"}),
        (gzip.compress(b'{"id": 1}')[:-12], {"Content-Encoding": "gzip"}),
        (b'{"id": 1e999}', {}),
        (b'{"id": -1e999}', {}),
        (b'{"id": [NaN]}', {}),
    ):
        response = await client.post("/answers", data=body, headers=headers)
        assert (response.status, await response.text()) == (400, "not JSON"), body
    long = [{"record": "A" * 60_000}] * 2
    response = await client.post("/answers", json=long)
    assert [answer["error"] for answer in await response.json()] == [
        "record: String should have at most 8000 characters"
    ] * 2


@scenario()
async def test_a_body_that_never_ends_is_given_up(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_BODY_SECONDS", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", client.port)
    writer.write(b"POST /tables HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
    assert b" 408 " in await asyncio.wait_for(reader.readline(), 30)
    writer.close()


@scenario(tables=2)
async def test_a_table_that_nobody_sat_at_makes_room_for_another(client, monkeypatch) -> None:
    """One that somebody sat at does not, nor one that somebody opened just now."""
    left, (seat,) = await opened(client)
    socket = await sat(client, left, seat)
    await until(socket, lambda told: told["type"] == "scene")
    await socket.close()
    never, (nobody,) = await opened(client)
    assert (await client.post("/tables", json={})).status == 503
    monkeypatch.setattr(server, "_UNUSED_SECONDS", 0.0)
    await opened(client)
    assert (await (await sat(client, never, nobody)).receive()).data == 4403
    assert await until(await sat(client, left, seat), lambda told: told["type"] == "scene")


@scenario()
async def test_the_page_holds_everything_and_the_api_is_described(client: Client) -> None:
    page = await (await client.get("/")).text()
    assert "default-src 'none'" in page and "src=" not in page.replace("frame-src", "").replace("-src", "")
    described = await (await client.get("/openapi.json")).json()
    assert set(described["paths"]) == {"/about", "/answers", "/tables", "/tables/{table}", "/tables/{table}/review"}


@scenario()
async def test_a_player_that_fails_names_nobodys_cards(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    table, (seat,) = await opened(client, level="rules")
    monkeypatch.setattr(Hands, "let_play", lambda self, chosen: self.play(self.turn, -1, 17))
    socket = await sat(client, table, seat)
    scene = await asyncio.wait_for(socket.receive_json(), 60)
    if scene.get("your_turn"):
        await socket.send_json(at(scene))
    assert await error_of(socket) == "a player of this table has failed; open another table"


@scenario()
async def test_three_people_see_each_other_play_and_one_goes_and_comes_back(client: Client) -> None:
    table, seats = await opened(client, level="rules", people=3)
    sockets = [await sat(client, table, seat, f"<b>{number}</b>") for number, seat in enumerate(seats)]
    turns = [asyncio.ensure_future(until(socket, asks)) for socket in sockets]
    for number in range(2):
        (done,), _ = await asyncio.wait(turns, return_when=asyncio.FIRST_COMPLETED)
        mover, scene = turns.index(done), done.result()
        assert scene["your_turn"] and (number == 0 or "<b>" in str(scene["table"]["places"]))
        await sockets[mover].close()
        sockets[mover] = await sat(client, table, seats[mover])
        back = await until(sockets[mover], asks)
        assert back["choices"] == scene["choices"]
        await sockets[mover].send_json(at(back))
        turns[mover] = asyncio.ensure_future(asyncio.Event().wait())  # it has had its turn
    for turn in turns:
        turn.cancel()


@scenario()
async def test_who_reads_nothing_stops_nobody(client: Client) -> None:
    """Its connection is closed once it is far behind, and the other plays on."""
    table, seats = await opened(client, level="rules", people=2, training=True)
    first, slow = [await sat(client, table, seat) for seat in seats]
    await slow.receive_json()
    for number in range(3 * _BEHIND):
        await first.send_json({"wrong": number})
    for _ in range(3 * _BEHIND):
        await error_of(first)
    await first.send_json({"hint": True})
    assert await asyncio.wait_for(first.receive_json(), 30)


def test_engines_are_touched_on_one_thread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[str]()
    release, query = QueryEngine.release, QueryEngine.query

    def noted(of: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            threads.add(threading.current_thread().name)
            return of(*arguments, **named)

        return call

    monkeypatch.setattr(QueryEngine, "release", noted(release))
    monkeypatch.setattr(QueryEngine, "query", noted(query))

    async def play(client: Client) -> None:
        socket, scene = await begun(client, level="network", training=True)
        scene = await played(socket, scene, 2)
        await socket.send_json(at(scene, undo=True))
        scene = await played(socket, await until(socket, asks))
        await socket.send_json(at(scene, deal=True))
        await until(socket, asks)

    async def both(client: Client) -> None:
        await asyncio.gather(play(client), play(client))

    run(both)
    assert len(threads) == 1 and next(iter(threads)).startswith("kibitz-thinks")
