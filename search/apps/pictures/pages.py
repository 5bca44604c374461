"""HTML pages that open offline: what all of them share."""

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def templates(package: str) -> Environment:
    """The templates of a package, and those of this one: ``head.html``, how pages begin before their content policy,
    ``page.css``, ``scene.html`` with cards and tables, ``deals.js`` to step through deals, ``languages.html`` and
    ``phrases.js`` for pages in several languages, whose texts are in a file a language. Text is escaped."""
    loaders = ChoiceLoader([PackageLoader(package), PackageLoader("search.apps.pictures")])
    return Environment(loader=loaders, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
