"""What happened, as it is counted."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

BY_ITSELF = "went on by itself"
REFUSED = "named in a line, mended as it says"
RESUMED = "ended, resumed by the same command"


@dataclass
class Fault:
    """Something that was done to a run."""

    kind: str
    what: str = ""
    """To whom or what."""
    outcome: str = BY_ITSELF


@dataclass
class Story:
    """A disturbed run, and how it came out."""

    faults: list[Fault] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    """What should not have been: hangs, tracebacks, files that differ in the end."""
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


def table(stories: Iterable[Story]) -> dict[str, dict[str, int]]:
    """Kind of fault -> tries, and how many had which outcome."""
    found: dict[str, Counter[str]] = {}
    for story in stories:
        for fault in story.faults:
            found.setdefault(fault.kind, Counter())[fault.outcome] += 1
    return {kind: {"tries": outcomes.total(), **outcomes} for kind, outcomes in sorted(found.items())}
