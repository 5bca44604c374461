"""The program ``kibitz``: every command by one name.

``kibitz tournament ...`` is ``python -m search.tournament ...`` and takes the same arguments; only it does not look for
modules in the working directory, so that a ``search.py`` or a ``conf/`` there does no harm. What a command needs is
imported when it runs, and its help reads nothing but the dataclasses of its configuration.
"""

import os
import runpy
import sys
import textwrap
from dataclasses import dataclass
from importlib import import_module, resources
from importlib.metadata import PackageNotFoundError, entry_points, version

_WIDTH = 100


@dataclass(frozen=True)
class Command:
    """One subcommand."""

    module: str
    """What ``python -m`` runs."""
    summary: str
    schema: str = ""
    """``module:class`` of its configuration; empty for commands that read their arguments themselves."""
    example: str = ""


COMMANDS = {
    "selfplay": Command(
        "selfplay",
        "play, train and measure, iteration after iteration; the same command resumes",
        "selfplay.config:TrainConfig",
        "experiment=hearts_demo run.dir=runs/demo",
    ),
    "learn": Command(
        "learner",
        "train a network on shards",
        "learner.config:LearnConfig",
        "data=shards out=checkpoint game=hearts model=demo",
    ),
    "generate": Command(
        "selfplay.generate",
        "play games and write shards",
        "selfplay.config:GenerateConfig",
        "out=shards games=10000 game=hearts",
    ),
    "tournament": Command(
        "search.tournament",
        "players against each other, every deal in every seating",
        "search.tournament.config:TournamentConfig",
        "players=[hearts_rules,random] deals=20 game=hearts",
    ),
    "show": Command("games.show", "print sequences of a shard as people write cards"),
    "docs": Command("search.docs", "print what there is to know of a game or of the players"),
}


def main(arguments: list[str] | None = None) -> int:
    """Entry point: runs a subcommand, which ends the process itself, or prints what was asked; 2 after bad input."""
    try:
        return _main(arguments)
    except BrokenPipeError:  # whoever read what was printed has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _main(arguments: list[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    name = given[0] if given else "--help"
    if name in ("--version", "-V"):
        print(f"kibitz {installed_version()}")
        return 0
    if name in ("--help", "-h", "help"):
        print(overview())
        return 0
    if name not in COMMANDS:
        print(f"error: no command {name!r}; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    command, rest = COMMANDS[name], given[1:]
    if command.schema and any(argument in ("--help", "-h") for argument in rest):
        print(help_of(name))
        return 0
    sys.argv = [f"kibitz {name}", *rest]
    runpy.run_module(command.module, run_name="__main__", alter_sys=False)
    return 0


def installed_version() -> str:
    """The version of the installed package; ``unknown`` in a checkout that is not installed."""
    try:
        return version("kibitz")
    except PackageNotFoundError:
        return "unknown"


def overview() -> str:
    """What ``kibitz --help`` prints."""
    lines = [f"  {name:<12}{command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: kibitz COMMAND [ARGUMENTS]",
            "",
            "Learns to play games of hidden information from what each player sees.",
            "",
            *lines,
            "",
            "kibitz COMMAND --help prints the keys of a command, kibitz --version the version.",
        ]
    )


def help_of(name: str) -> str:
    """What ``kibitz NAME --help`` prints: usage, the groups of presets, and every key."""
    from cluster.fields import keys

    command = COMMANDS[name]
    module, _, schema = command.schema.partition(":")
    lines = [
        f"usage: kibitz {name} [GROUP=PRESET ...] [KEY=VALUE ...]",
        f"example: kibitz {name} {command.example}",
        "",
        f"{command.summary[0].upper()}{command.summary[1:]}.",
        "",
        "Groups and their presets:",
        *(f"  {group:<12}{', '.join(presets)}" for group, presets in groups(module, schema).items()),
        "",
        "Keys, with the defaults of the code. Presets set others: --cfg job prints what the command would use.",
        "",
    ]
    for key in keys(getattr(import_module(module), schema)):
        lines.append(f"{key.name}:" if key.group else f"  {key.name}: {key.type} = {key.default}")
        lines += textwrap.wrap(key.doc, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    return "\n".join([*lines, "", "--multirun sweeps over values separated by commas: KEY=A,B"])


def groups(module: str, schema: str) -> dict[str, list[str]]:
    """Group of ``conf/`` -> its presets, of those that the command's configuration has; plug-ins' games included."""
    from dataclasses import fields

    wanted = {field.name for field in fields(getattr(import_module(module), schema))} | {"experiment"}
    found = {}
    for folder in sorted(resources.files("conf").iterdir(), key=lambda entry: entry.name):
        if folder.is_dir() and folder.name in wanted and (folder.name != "experiment" or schema == "TrainConfig"):
            presets = [entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")]
            offered = [entry.name for entry in entry_points(group=f"kibitz.{folder.name}s")]
            found[folder.name] = sorted({*presets, *offered})
    return found


if __name__ == "__main__":
    sys.exit(main())
