"""The keys of a configuration, read off its dataclasses: names, types, defaults and the docstring under each field.

``kibitz COMMAND --help`` and the generated page of players print them. Imports only the dataclasses.
"""

import ast
import inspect
import itertools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, get_args, get_type_hints

EMPTY: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Key:
    """One key of a configuration."""

    name: str
    """With the keys of the groups around it, e.g. ``search.go_mcts.num_runs``."""
    type: str
    """As it is written in Python."""
    default: str
    """As it is written in YAML."""
    doc: str
    """The docstring under the field, on one line; empty where there is none."""
    group: bool = False
    """Whether it holds keys of its own, which follow."""

    def written(self, values: Mapping[str, Any]) -> str:
        """Its value among those of a whole configuration, as in YAML; the default where they do not have it."""
        value: Any = values
        for name in self.name.split("."):
            if not isinstance(value, Mapping) or name not in value:
                return self.default
            value = value[name]
        return _in_yaml(value)


def keys(schema: type, values: Mapping[str, Any] = EMPTY, prefix: str = "", kinds: bool = True) -> Iterator[Key]:
    """Every key of a dataclass and of the dataclasses in it, in order; with ``kinds`` also the keys of groups of
    several kinds (``cluster.composing``), which imports their packages: of the kind in ``values``, else of all."""
    types = get_type_hints(schema)
    docs: dict[str, str] = {}
    for declared in reversed([kind for kind in schema.__mro__ if is_dataclass(kind)]):
        docs |= _field_docs(declared)
    for field in fields(schema):
        inner = next(filter(is_dataclass, get_args(types[field.name])), types[field.name])  # of ``Group | None``: Group
        name, doc = f"{prefix}{field.name}", docs.get(field.name, "")
        if "kinds" in field.metadata:
            if kinds:
                chosen = values.get(field.name, {}).get("kind", "")
                yield from _of_kinds(import_module(field.metadata["kinds"]), name, chosen)
        elif is_dataclass(inner):
            yield Key(name, "", "", doc or " ".join((inspect.getdoc(inner) or "").split()), group=True)
            yield from keys(inner, EMPTY, f"{name}.", kinds)  # type: ignore[arg-type]
        else:
            yield Key(name, _written(field.type), _default(field), doc)


def _of_kinds(module: ModuleType, group: str, chosen: str) -> Iterator[Key]:
    """The keys of a group of several kinds (``cluster.composing``), kind by kind, without broken plug-ins."""
    for name in [chosen] if chosen else module.names():
        with suppress(ValueError):
            config = module.config_of(name)
            doc = " ".join((inspect.getdoc(config) or "").split())
            yield Key(f"{group} of the kind {name}", "", "", doc, group=True)
            yield from keys(config, EMPTY, f"{group}.")


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their full keys, as on the command line."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        whole = f"{prefix}{key}"
        found |= flat(value, f"{whole}.") if isinstance(value, Mapping) and value else {whole: value}
    return found


def _field_docs(schema: type) -> dict[str, str]:
    """Field -> the docstring under it."""
    try:
        source = inspect.getsource(schema)
    except OSError:  # a class made at run time has none
        return {}
    (definition,) = ast.parse(inspect.cleandoc("\n" + source)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for line, following in itertools.pairwise(definition.body):
        match line, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found


def _written(annotation: Any) -> str:
    return annotation.__name__ if type(annotation) is type else str(annotation).replace("typing.", "")


def _default(field: Any) -> str:
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    return _in_yaml(value)


def _in_yaml(value: Any) -> str:
    if value is MISSING or value == "???":  # OmegaConf's mark for a value to be given
        return "must be given"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return '""' if value == "" else str(value)
