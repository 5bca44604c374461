"""The program ``kibitz``: every command by one name.

``kibitz tournament ...`` is ``python -m search.arena.tournament ...`` with the same arguments, but imports nothing from
the working directory, so that a ``search.py`` or a ``conf/`` there does no harm. A command's modules are imported when
it runs; its help imports Hydra and the dataclasses of its configuration.
"""

import re
import runpy
import shlex
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import import_module, resources
from importlib.metadata import entry_points

from cluster.errors import in_one_line, say
from cluster.fields import flat, keys
from cluster.provenance import installed_version
from cluster.reader import end_with_reader

_WIDTH = 100


@dataclass(frozen=True)
class Command:
    """One subcommand."""

    module: str
    """The module for ``python -m``."""
    summary: str
    schema: str = ""
    """``module:class`` of its configuration; empty for commands that read their arguments themselves."""
    example: str = ""
    config: str = ""
    """Its file in ``conf/``, where that is not called as the command is."""


COMMANDS = {
    "selfplay": Command(
        "selfplay",
        "play, train and measure, iteration after iteration; the same command resumes",
        "selfplay.config:TrainConfig",
        "experiment=hearts_demo run.dir=runs/demo",
        "train",
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
    "label": Command(
        "selfplay.label",
        "say for shards that exist what another player would have done",
        "selfplay.config:LabelConfig",
        "data=shards player=hearts_rules out=labelled game=hearts",
    ),
    "tournament": Command(
        "search.arena.tournament",
        "players against each other, every deal in every seating",
        "search.arena.tournament.config:TournamentConfig",
        "players=[hearts_rules,random] deals=20 game=hearts",
    ),
    "rating": Command(
        "search.arena.rating",
        "ratings of players from a round robin; new players join the table",
        "search.arena.rating.config:RatingConfig",
        "players=[hearts_rules,random] deals=20 out=DIR game=hearts",
    ),
    "values": Command(
        "search.arena.values",
        "how good a network's values are, against playouts of sampled deals",
        "search.arena.values.config:ValuesConfig",
        "checkpoint=DIR game=hearts thresholds=[0.02,0.05,0.1]",
    ),
    "openings": Command(
        "search.arena.openings",
        "what a Q-network thinks of every first action, over many deals",
        "search.arena.openings.config:OpeningsConfig",
        "checkpoint=DIR game=hearts_no_pass deals=1000 out=DIR",
    ),
    "play": Command(
        "search.apps.play",
        "sit down and play in the terminal, or step through a hand of a shard",
        "search.apps.play.config:PlayConfig",
        "hearts players=[hearts_rules]",
    ),
    "serve": Command(
        "search.apps.serve",
        "play in a browser, alone or with others, against players of any strength",
        "search.apps.serve.config:ServeConfig",
        "skat",
    ),
    "engine": Command(
        "search.apps.engine",
        "answer other programs' questions about positions, a JSON object a line",
        "search.apps.engine.config:MoveEngineConfig",
        "skat 'player=\"go_mcts:num_runs=100\"'",
        "move_engine",
    ),
    "review": Command(
        "search.apps.review", "what a player would have done in deals that were played, and what each decision cost"
    ),
    "report": Command("selfplay.report", "a page about a run with curves, tables and deals to step through"),
    "curves": Command("selfplay.curves", "the learning curves of several runs in one picture"),
    "doctor": Command(
        "selfplay.doctor",
        "check the machines, and the run asked for, before hours are spent",
        "selfplay.config:DoctorConfig",
        "cluster=existing cluster.address=HOST:6379 experiment=hearts_demo run.dir=DIR",
    ),
    "publish": Command("learner.publish", "give a network away: a folder with a card, or a hub (hf://USER/NAME)"),
    "show": Command("games.show", "print sequences of a shard as people write cards"),
    "verify": Command("selfplay.verify", "read a whole run and say what is damaged, and what to remove to mend it"),
    "docs": Command("search.docs", "print what there is to know of a game or of the players"),
}

GROUPS = {
    "Play and review": ("serve", "play", "review", "engine"),
    "Train": ("selfplay", "generate", "label", "learn", "report", "curves"),
    "Compare": ("tournament", "rating", "values", "openings"),
    "Operate": ("doctor", "verify", "show", "publish", "docs"),
}
"""What people come for, and the commands for it, in the order of the help."""


@in_one_line
def main() -> int:
    """Entry point: runs a subcommand, which ends the process itself, or prints help; 2 after bad input."""
    end_with_reader()
    name, *rest = sys.argv[1:] or ["--help"]
    if name in ("--version", "-V"):
        print(f"kibitz {installed_version() or 'unknown'}")
    elif name in ("--help", "-h", "help"):
        print(overview())
    elif name not in COMMANDS:
        meant = "".join(f"did you mean {close}? " for close in get_close_matches(name, COMMANDS, 1))
        return say(f"no command {name!r}; {meant}there are {', '.join(COMMANDS)}")
    elif COMMANDS[name].schema and {"--help", "-h"} & set(rest):
        print(help_of(name, [argument for argument in rest if not argument.startswith("-")]))
    else:
        sys.argv = [f"kibitz {name}", *rest]
        runpy.run_module(COMMANDS[name].module, run_name="__main__", alter_sys=False)
    return 0


def overview() -> str:
    """What ``kibitz --help`` prints."""
    return "\n".join(
        [
            "usage: kibitz COMMAND [ARGUMENTS]",
            "",
            "Learns to play games of hidden information from what each player sees.",
            *(line for group in GROUPS.items() for line in _listed(*group)),
            "",
            "kibitz COMMAND --help prints the keys of a command, kibitz --version the version.",
        ]
    )


def _listed(title: str, names: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {name:<12}{COMMANDS[name].summary}" for name in names)]


def help_of(name: str, arguments: Sequence[str] = ()) -> str:
    """What ``kibitz NAME ARGUMENTS --help`` prints: usage, the groups of presets, and the keys with the values that
    they have with these arguments, else with those of the example. Of players, the keys of those that are named."""
    command = COMMANDS[name]
    module, _, schema_name = command.schema.partition(":")
    schema = getattr(import_module(module), schema_name)
    from cluster.cli import values_in_force  # Hydra

    overrides = [*arguments] or shlex.split(command.example)
    values = values_in_force(command.config or name, schema, overrides)
    written = [str(value) for key, value in flat(values).items() if not key.startswith("search.")]
    named = set(re.findall(r"\w+", " ".join(written)))
    lines = [
        f"usage: kibitz {name} [GROUP=PRESET ...] [KEY=VALUE ...]",
        f"example: kibitz {name} {command.example}",
        "",
        f"{command.summary[0].upper()}{command.summary[1:]}.",
        "",
        "Groups and their presets:",
        *(f"  {group:<12}{', '.join(presets)}" for group, presets in groups(schema).items()),
        "",
        f"Keys, with their values in: kibitz {name} {shlex.join(overrides)}",
        "",
    ]
    for key in keys(schema, values):
        player = re.match(r"search\.(\w+)", key.name)
        if player and player[1] not in named:
            continue
        lines.append(f"{key.name}:" if key.group else f"  {key.name}: {key.type} = {key.written(values)}")
        lines += textwrap.wrap(key.doc, _WIDTH, initial_indent="      ", subsequent_indent="      ")
    if "search" in values:
        lines += ["", "search.PLAYER.KEY of other players: kibitz docs players, or name them here"]
    return "\n".join([*lines, "", "--multirun sweeps over values separated by commas: KEY=A,B"])


def groups(schema: type) -> dict[str, list[str]]:
    """Each group of ``conf/`` that a configuration has -> its presets, plug-ins' games included."""
    wanted = {field.name for field in fields(schema)}
    if "run" in wanted:
        wanted.add("experiment")  # presets of whole runs
    found = {}
    for folder in sorted(resources.files("conf").iterdir(), key=lambda entry: entry.name):
        if folder.is_dir() and folder.name in wanted:
            presets = [entry.name.removesuffix(".yaml") for entry in folder.iterdir()]
            offered = [entry.name for entry in entry_points(group=f"kibitz.{folder.name}s")]
            found[folder.name] = sorted({*presets, *offered})
    return found


if __name__ == "__main__":
    sys.exit(main())
