"""The server as browsers and programs meet it."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError
from aiohttp.test_utils import TestClient, TestServer

from search.pictures.pages import templates
from search.serve.server import Server
from tests.search.serve.material import config, lowest, service

Scenario = Callable[[TestClient], Awaitable[None]]  # type: ignore[type-arg]
KEY = "a secret of the house"


def run(scenario: Scenario, game: str = "skat", **settings: Any) -> None:
    async def served() -> None:
        async with TestClient(TestServer(Server(config(game, **settings), service(game)).app)) as client:
            await asyncio.wait_for(scenario(client), 120)

    asyncio.run(served())


async def opened(client: TestClient, **asked: Any) -> tuple[str, list[str]]:  # type: ignore[type-arg]
    response = await client.post("/tables", json=asked)
    assert response.status == 200, await response.text()
    found = await response.json()
    return found["table"], [found["seats"][seat] for seat in sorted(found["seats"])]


async def sat(client: TestClient, table: str, seat: str, name: str = "Ann") -> ClientWebSocketResponse:  # type: ignore[type-arg]
    socket = await client.ws_connect(f"/tables/{table}")
    await socket.send_json({"seat": seat, "name": name})
    return socket


async def until(socket: ClientWebSocketResponse, wanted: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """The first message that is wanted."""
    while True:
        message: dict[str, Any] = await asyncio.wait_for(socket.receive_json(), 60)
        if wanted(message):
            return message


def asks(message: dict[str, Any]) -> bool:
    return bool(message["type"] == "scene" and (message.get("your_turn") or message.get("over")))


def test_a_hand_with_its_hints_and_its_review() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        table, (seat,) = await opened(client, level="rules", training=True)
        headers = {"X-Kibitz-Seat": seat}
        assert (await client.get(f"/tables/{table}/review", headers=headers)).status == 409
        socket = await sat(client, table, seat)
        scene = await until(socket, asks)
        hinted = False
        while not scene["over"]:
            if not hinted:
                await socket.send_json({"hint": True})
                assert (await until(socket, lambda message: message["type"] == "hint"))["actions"]
                hinted = True
            await socket.send_json({"act": lowest(scene)})
            scene = await until(socket, asks)
        await socket.send_json({"again": True})
        assert (await until(socket, lambda message: message["type"] == "again"))["player"] == "network"
        review = await client.get(f"/tables/{table}/review", headers=headers)
        assert review.status == 200 and "Review of your last hand" in await review.text()
        await socket.send_json({"deal": True})
        assert (await until(socket, asks))["hand"] == 2

    run(scenario)


def test_two_people_see_each_other_play_and_one_comes_back() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        table, seats = await opened(client, level="rules", people=3)
        sockets = [await sat(client, table, seat, f"<b>{number}</b>") for number, seat in enumerate(seats)]
        turns = [asyncio.ensure_future(until(socket, asks)) for socket in sockets]
        done, waiting = await asyncio.wait(turns, return_when=asyncio.FIRST_COMPLETED)
        (mover,) = [number for number, turn in enumerate(turns) if turn in done]
        scene = done.pop().result()
        await sockets[mover].close()
        sockets[mover] = await sat(client, table, seats[mover])
        back = await until(sockets[mover], asks)
        assert back["choices"] == scene["choices"]
        await sockets[mover].send_json({"act": lowest(back)})
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (asked,) = [turn.result() for turn in done]
        assert asked["your_turn"] and "<b>" in str(asked["table"]["places"])
        for other in waiting:
            other.cancel()

    run(scenario)


@pytest.mark.parametrize("secret", ["", "wrong", None, 7, ["x"]])
def test_a_token_that_fits_no_seat_is_told_nothing(secret: Any) -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        table, _ = await opened(client)
        for name in (table, "nosuch"):
            socket = await client.ws_connect(f"/tables/{name}")
            await socket.send_json({"seat": secret})
            ended = await asyncio.wait_for(socket.receive(), 10)
            assert ended.type is WSMsgType.CLOSE and ended.data == 4403
            response = await client.get(f"/tables/{name}/review", headers={"X-Kibitz-Seat": str(secret)})
            assert response.status == 403 and await response.text() == "this link fits no seat"

    run(scenario)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"act": "x"},
        {"act": [1.5]},
        {"act": [9999]},
        {"act": [0] * 99},
        {"act": [True]},
        {"deal": 1},
        {"undo": 1},
        {"x": 1},
    ],
)
def test_what_makes_no_sense_is_refused_and_the_hand_goes_on(message: dict[str, Any]) -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        table, (seat,) = await opened(client, level="rules")
        socket = await sat(client, table, seat)
        scene = await until(socket, asks)
        await socket.send_json(message)
        assert (await until(socket, lambda told: told["type"] == "error"))["text"]
        for junk in ("junk", "[" * 10_000, "[1]", "null"):
            await socket.send_str(junk)
            assert (await until(socket, lambda told: told["type"] == "error"))["text"]
        await socket.send_json({"act": lowest(scene)})
        assert (await until(socket, lambda told: told["type"] == "scene"))["title"]

    run(scenario)


def test_other_sites_and_other_names_of_this_machine_are_refused() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        assert (await client.get("/about")).status == 200
        assert (await client.get("/about", headers={"Origin": "http://evil.example"})).status == 403
        assert (await client.get("/about", headers={"Host": "evil.example:8600"})).status == 403
        table, _ = await opened(client)
        with pytest.raises(WSServerHandshakeError):
            await client.ws_connect(f"/tables/{table}", origin="http://evil.example")

    run(scenario)


def test_with_a_key_nobody_opens_a_table_or_asks_without_it() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        for headers, status in (({}, 403), ({"X-Kibitz-Key": "no"}, 403), ({"X-Kibitz-Key": KEY}, 200)):
            assert (await client.post("/tables", json={}, headers=headers)).status == status
            question = {"history": ["forehand"]}
            assert (await client.post("/answers", json=question, headers=headers)).status == status

    run(scenario, key=KEY)


def test_beyond_loopback_only_with_a_key() -> None:
    with pytest.raises(ValueError, match=r"host=0\.0\.0\.0: must be loopback"):
        config("skat", host="0.0.0.0")
    assert config("skat", host="0.0.0.0", key=KEY).key == KEY


def test_answers_are_the_analysts_and_too_many_are_told_to_come_back() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        questions = [{"id": number, "history": ["forehand"]} for number in range(20)] + [{"id": 20, "histroy": []}]
        response = await client.post("/answers", json=questions)
        assert await response.json() == service("skat").analyst.answers(questions)
        alone = await client.post("/answers", json=questions[0])
        assert await alone.json() == service("skat").analyst.answers(questions[:1])[0]
        assert (await client.post("/answers", json=questions * 2)).status == 503
        assert (await client.post("/answers", data=b"junk")).status == 400
        many = await asyncio.gather(*(client.post("/answers", json=questions[:4]) for _ in range(200)))
        assert {response.status for response in many} <= {200, 503} and many[0].status == 200
        assert [await one.json() for one in many if one.status == 200][-1] == await (
            await client.post("/answers", json=questions[:4])
        ).json()

    run(scenario, waiting=40)


def test_tables_are_bounded() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        assert [(await client.post("/tables", json={})).status for _ in range(3)] == [200, 200, 503]

    run(scenario, tables=2)


def test_the_page_holds_everything_and_the_api_is_described() -> None:
    async def scenario(client: TestClient) -> None:  # type: ignore[type-arg]
        page = await (await client.get("/")).text()
        assert "default-src 'none'" in page and "src=" not in page.replace("frame-src", "").replace("-src", "")
        described = await (await client.get("/openapi.json")).json()
        assert set(described["paths"]) == {"/about", "/answers", "/tables", "/tables/{table}", "/tables/{table}/review"}

    run(scenario)


def test_both_languages_have_every_text() -> None:
    read = templates("search.serve").get_template
    english, german = (json.loads(read(f"{language}.json").render()) for language in ("en", "de"))
    page, script = read("table.html").render(game="skat"), read("table.js").render()
    asked = set(re.findall(r'data-text="(\w+)"', page)) | set(re.findall(r'text\("(\w+)"\)', script))
    assert set(english) == set(german) and asked <= set(english) and all(english.values()) and all(german.values())
