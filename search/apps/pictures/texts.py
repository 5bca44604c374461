"""Texts for people. Each has an id and named holes in ``templates/LANGUAGE.json``; here all are English, and pages say
them in other languages by the id and what stands in the holes (``texts.js``)."""

import json
from functools import reduce
from importlib import resources
from typing import Any

ENGLISH: dict[str, dict[str, str]] = json.loads(
    resources.files("search.apps.pictures").joinpath("templates/en.json").read_text(encoding="utf-8")
)


class Text(str):
    """A text in English with its id, ``GROUP.NAME``, and what stands in its holes: numbers and texts."""

    id: str
    holes: dict[str, Any]

    def __new__(cls, id: str, **holes: Any) -> "Text":
        """``KeyError`` for an id or a hole that there is not."""
        group, name = id.split(".", 1)
        made = super().__new__(cls, ENGLISH[group][name].format(**holes))
        made.id, made.holes = id, holes
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "Text":
        """Itself, as a text never changes."""
        return self


def word(group: str, text: str) -> str:
    """A word of a game, or the name of a level: as it is where the group has none."""
    return Text(f"{group}.{text}") if text in ENGLISH[group] else text


def joined(id: str, *texts: str) -> str:
    """Texts one behind the other by a text for two."""
    return reduce(lambda first, then: Text(id, first=first, then=then), texts)


def as_json(part: Any) -> Any:
    """JSON types in which texts are lists of id and holes."""
    match part:
        case Text():
            return [part.id, as_json(part.holes)]
        case dict():
            return {key: as_json(value) for key, value in part.items()}
        case list() | tuple():
            return [as_json(value) for value in part]
    return part
