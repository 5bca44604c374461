"""What all HTML pages share. They open offline."""

import json
from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from search.apps.pictures.texts import Text, as_json, word

_FORMS = {
    "say": '<span data-said="{}">{}</span>',
    "said": 'data-said="{}"',
    "label": 'data-label="{}" aria-label="{}"',
}
"""Filters that show a text, which scripts say in other languages; ``said`` is for elements that hold text alone."""


def templates(package: str) -> Environment:
    """The templates of a package, and those of this one: ``head.html``, how pages begin before their content policy,
    ``page.css``, ``scene.html`` with cards and tables, ``deals.js`` to step through deals, ``languages.html`` and
    ``texts.js`` for pages in several languages, whose texts are in a file a language (``search.apps.pictures.texts``).
    Text is escaped."""
    loaders = ChoiceLoader([PackageLoader(package), PackageLoader("search.apps.pictures")])
    made = Environment(loader=loaders, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.globals |= {"text": Text, "word": word}
    made.filters |= {name: partial(_shown, form, made.filters["safe"]) for name, form in _FORMS.items()}
    return made


def _shown(form: str, safe: Callable[[str], Any], text: str) -> Any:
    return safe(form.format(escape(json.dumps(as_json(text))), escape(text)))
