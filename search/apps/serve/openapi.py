"""What ``/openapi.json`` says: the routes here, the objects from their types."""

from typing import Any

from pydantic import TypeAdapter

from search.apps.engine.engine import Answer, Question
from search.apps.serve.service import NO_VALUES
from search.apps.serve.tables import Greeting, Message, TableOptions

_REFUSALS = {
    "400": "Not UTF-8, or not JSON, NaN and 1e999 among it; or no such table: the text says why.",
    "403": "The key is missing or wrong.",
    "408": "Not all of the request has come within ten seconds.",
    "413": "More than 1 MiB.",
}
_KEY = "Needed where the server was started with a key."
_ABOUT = (
    "The game, who answers, in which unit, and the levels of opponents: player, rating with the rules of thumb at 0, "
    "null where it is unknown, and the least seconds from decision to decision; first is the one that is offered first."
)
_SOCKET = (
    "The first message is a Greeting, the others are Messages. What changes the table names the position that it is "
    "for; at another position nothing happens: an error says so, and the scene is sent again (undo: only where the "
    "history is shorter by now). The server sends objects with type: scene (a moment of the seat's; the last of a "
    "batch has your_turn, over and the seat's history), hint (actions with probability, value, visits, mean; searching "
    "while a search goes on, which ends without a last one where its position has passed), again (the rival's points "
    "beside the seat's), error (text)."
)
_REVIEW = "The review of the seat's last hand, as a page."
_CLOSED = (
    "Closed with 4403 where the secret fits no seat, with 4503 where there is no place for one more spectator, with "
    "4409 where the seat was opened four times since."
)


def document() -> dict[str, Any]:
    """The description of the server, as JSON types."""
    asked: Any = [
        (kind, "validation", TypeAdapter(kind)) for kind in (Question, Answer, TableOptions, Greeting, Message)
    ]
    found, schemas = TypeAdapter.json_schemas(asked, ref_template="#/components/schemas/{model}")
    question, answer, options, *_ = found.values()
    text = {"type": "string"}
    links = {"type": "object", "additionalProperties": text}
    opened = {"type": "object", "properties": {"table": text, "seats": links, "watch": text}}
    table = {"name": "table", "in": "path", "required": True, "schema": text}
    seat = {"name": "X-Kibitz-Seat", "in": "header", "required": True, "schema": text}
    no_review = {
        "200": "HTML.",
        "403": "The secret fits no seat, or is that of spectators.",
        "409": f"No hand is over yet. Or: {NO_VALUES}.",
        "503": "All tables are taken.",
    }
    paths = {
        "/about": {"get": {"summary": _ABOUT, "responses": _said({"200": "An object."})}},
        "/answers": _post(
            "Answers to a question, or to each of a list in the same order.",
            _or_list(question),
            _or_list(answer),
            {"409": f"{NO_VALUES}.", "503": "Too many questions wait."},
        ),
        "/tables": _post(
            "Open a table: the secret of each person's seat, and that of spectators.",
            options,
            opened,
            {"503": "All tables are taken, or cannot be kept."},
        ),
        "/tables/{table}": {"get": {"summary": _SOCKET, "parameters": [table], "responses": _said({"101": _CLOSED})}},
        "/tables/{table}/review": {
            "get": {"summary": _REVIEW, "parameters": [table, seat], "responses": _said(no_review)}
        },
    }
    info = {"title": "Kibitz", "version": "1", "description": "Answers and tables of one game."}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas["$defs"]}}


def _post(summary: str, asked: Any, answered: Any, refusals: dict[str, str]) -> dict[str, Any]:
    key = {"name": "X-Kibitz-Key", "in": "header", "description": _KEY, "schema": {"type": "string"}}
    found = {"200": {"description": "Done.", "content": _json(answered)}, **_said(_REFUSALS | refusals)}
    body = {"required": True, "content": _json(asked)}
    return {"post": {"summary": summary, "parameters": [key], "requestBody": body, "responses": found}}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _or_list(schema: Any) -> dict[str, Any]:
    return {"oneOf": [schema, {"type": "array", "items": schema}]}


def _said(responses: dict[str, str]) -> dict[str, Any]:
    return {code: {"description": text} for code, text in responses.items()}
