"""What happened, as it is kept and counted."""

import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

BY_ITSELF = "went on by itself"
REFUSED = "named in a line, mended as it says"
RESUMED = "ended, resumed by the same command"
_FILE = "stories.jsonl"


@dataclass
class Fault:
    """Something that was done to a run."""

    kind: str
    what: str = ""
    """To whom or what."""
    outcome: str = BY_ITSELF
    seconds: float = 0.0
    """That a command took to end over it."""


@dataclass
class Story:
    """A disturbed run, and how it came out."""

    faults: list[Fault] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    """What should not have been: hangs, tracebacks, damage that nobody named, files that differ in the end."""
    commands: int = 0
    requeued: int = 0
    """Pieces of work that were done again."""

    def note(self, fault: Fault) -> None:
        """Count a fault."""
        self.faults.append(fault)
        say(f"  {fault.kind} {fault.what}")


def say(text: str) -> None:
    """A line for whoever watches."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def keep(root: Path, story: Story, more: dict[str, Any]) -> None:
    """Add a story that is through to those in a directory."""
    with (root / _FILE).open("a") as lines:
        lines.write(json.dumps({**more, **asdict(story)}) + "\n")


def kept(root: Path) -> list[dict[str, Any]]:
    """All stories that are through."""
    return [json.loads(line) for line in (root / _FILE).read_text().splitlines()] if (root / _FILE).exists() else []


def table(stories: Iterable[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Kind of fault -> tries, and how many had which outcome."""
    found: dict[str, Counter[str]] = {}
    for story in stories:
        for fault in story["faults"]:
            found.setdefault(fault["kind"], Counter())[fault["outcome"]] += 1
    return {kind: {"tries": outcomes.total(), **outcomes} for kind, outcomes in sorted(found.items())}


def markdown(found: dict[str, dict[str, int]]) -> str:
    """The table for people."""
    outcomes = (BY_ITSELF, REFUSED, RESUMED)
    others = sorted({name for row in found.values() for name in row} - {"tries", *outcomes})
    heads = ("fault", "tries", *outcomes, *others)
    rows = [[kind, *(str(row.get(name, "")) for name in heads[1:])] for kind, row in found.items()]
    rows.append(["all", *(str(sum(row.get(name, 0) for row in found.values()) or "") for name in heads[1:])])
    return "\n".join(f"| {' | '.join(row)} |" for row in ([*heads], ["---"] * len(heads), *rows))
