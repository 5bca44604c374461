"""HTML pages that open offline: what all of them share."""

import json
from collections.abc import Callable

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from search.apps.pictures.texts import Text, as_json, word

_SAID = Markup('<span data-said="{}">{}</span>')
_LABEL = Markup('data-label="{}" aria-label="{}"')


def templates(package: str) -> Environment:
    """The templates of a package, and those of this one: ``head.html``, how pages begin before their content policy,
    ``page.css``, ``scene.html`` with cards and tables, ``deals.js`` to step through deals, ``languages.html`` and
    ``texts.js`` for pages in several languages, whose texts are in a file a language (``search.apps.pictures.texts``).
    Text is escaped."""
    loaders = ChoiceLoader([PackageLoader(package), PackageLoader("search.apps.pictures")])
    made = Environment(loader=loaders, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    made.globals |= {"text": Text, "word": word}
    made.filters |= {"say": _filling(_SAID), "label": _filling(_LABEL)}
    return made


def _filling(form: Markup) -> Callable[[str], Markup]:
    """A filter that has a form show a text, which scripts say in other languages."""
    return lambda text: form.format(json.dumps(as_json(text)), text)
