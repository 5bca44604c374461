"""What ``GROUP=NAME`` on a command line may choose: presets of ``conf``, and what installed packages bring."""

import re
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from cluster.errors import UserError

_GAMES, _PLAYERS, _MODELS = "kibitz.games", "kibitz.players", "kibitz.models"
_NO_NAME = re.compile(r"null|true|false|[-+.\d]+", re.IGNORECASE)
"""Values that are no names."""


def offer_plugins(arguments: list[str]) -> None:
    """Let ``game=NAME`` and ``model=NAME`` choose what another package offers (entry points ``kibitz.games`` and
    ``kibitz.models``), and ``game=module:attribute``; presets of ``conf`` come first, then those of packages."""
    Plugins.instance().register(_PresetsOfPackages)
    for name in _offered(_MODELS):
        node = {"defaults": [{"/kinds/model@_here_": name}, "_self_"]}
        ConfigStore.instance().store(group="model", name=name, node=node, provider="kibitz")
    names = _offered(_GAMES) - {*_preset_names("conf", "game")}  # a game of that name is only there by its reference
    chosen = [argument.removeprefix("game=") for argument in arguments if argument.startswith("game=")]
    names |= {name for value in chosen for name in value.split(",") if re.fullmatch(r"[\w.]+:\w+", name)}
    for name in names:
        ConfigStore.instance().store(group="game", name=name, node={"name": name, "options": {}}, provider="kibitz")


class _PresetsOfPackages(SearchPathPlugin):
    """A package that offers a game, a player or a kind of network may have presets too, in a folder ``conf`` like ours.
    To find them, nothing of it is imported."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        modules = {entry.module for group in (_GAMES, _PLAYERS, _MODELS) for entry in entry_points(group=group)}
        for package in sorted({module.partition(".")[0] for module in modules}):
            spec = find_spec(package)
            for folder in (spec and spec.submodule_search_locations) or ():
                if (presets := Path(folder, "conf").absolute()).is_dir():
                    search_path.append(provider=package, path=f"file://{presets}")


def check_choices(arguments: list[str], config_module: str) -> None:
    """``UserError`` for a group whose value is no preset's name, as Hydra's message does not name the group; and for a
    preset that hides a kind of network of a package."""
    for argument in arguments:
        group, _, value = argument.partition("=")
        names = _preset_names(config_module, group) if re.fullmatch(r"[\w/]+", group) else []
        if names and _NO_NAME.fullmatch(value):
            raise UserError(f"{argument}: {group} takes the name of a preset; there are {', '.join(names)}")
        if group == "model" and (hidden := _offered(_MODELS) & {*names} & {*value.split(",")}):
            raise UserError(
                f"{argument}: a package offers a kind of network {min(hidden)!r} ({_MODELS}), and Kibitz has a preset "
                "of that name; rename the kind, or uninstall its package"
            )


def _offered(group: str) -> set[str]:
    return {entry.name for entry in entry_points(group=group)}


def _preset_names(config_module: str, group: str) -> list[str]:
    """Names of a group's presets; none where there is no such group."""
    folder = files(config_module) / group
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir()) if folder.is_dir() else []
