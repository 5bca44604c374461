"""Files that are damaged between two commands, named by one of them or by ``kibitz verify``, and mended as it says."""

import io
import random
import re
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from selfplay import verify
from tests.chaos.files import Damaged, candidates, damage
from tests.chaos.places import Place
from tests.chaos.records import REFUSED, Fault, Story, say

_VERIFY_SHARE = 0.75
_MOST_WITHOUT = 2
"""How often ``kibitz verify`` looks before the command does, and how many files are damaged where it does not."""


class Damages:
    """The damaged files of one run."""

    def __init__(self, place: Place, drawn: random.Random, story: Story) -> None:
        self._run, self._random, self._story = Path(place.run), drawn, story
        self._open: list[tuple[Damaged, Fault]] = []
        """Not named so far."""
        self._removed: set[Path] = set()

    def strike(self, number: int) -> None:
        """Damage so many files, no two that are published together; then, perhaps, ask what is damaged."""
        verifying = self._random.random() < _VERIFY_SHARE
        for _ in range(number if verifying else min(number, _MOST_WITHOUT)):
            taken = {damaged.unit for damaged, _ in self._open}
            found = {
                kind: [path for path in paths if Damaged(path, b"").unit not in taken]
                for kind, paths in candidates(self._run).items()
            }
            kinds = sorted(kind for kind, paths in found.items() if paths)
            if "shard" not in kinds:  # hardly anything is there
                break
            if verifying:  # without settings it can look at nothing else
                kinds = [kind for kind in kinds if kind != "config.yaml"]
            kind, flip = self._random.choice(kinds), self._random.random() < 0.5
            path = self._random.choice(found[kind])
            fault = Fault(f"{'flip in' if flip else 'truncate'} {kind}", str(path.relative_to(self._run)), "not named")
            self._open.append((damage(path, flip, self._random), fault))
            self._story.note(fault)
        if verifying:
            self.verify()

    def all_named(self) -> bool:
        """Have ``kibitz verify`` look; whether nothing was damaged any more, so that the run is through."""
        if self.verify():
            return False
        for damaged, fault in self._open:
            if damaged.path.exists() and damaged.path.read_bytes() != damaged.before:
                self._story.defects.append(f"{fault.kind}: {fault.what}: nobody named it")
                damaged.restore()
            else:
                fault.outcome = "made again before anybody read it"
        self._open.clear()
        return True

    def mend(self, message: str) -> bool:
        """Do what a command's message says; False where it names nothing that was damaged or removed."""
        named = [pair for pair in self._open if str(pair[0].unit) in message]
        again = [path for path in self._removed if str(path) in message]
        if not named and not again:
            return False
        for damaged, fault in named[:1]:
            self._named(damaged, fault)
            target = re.search(rf"restore ({re.escape(str(self._run))}\S*) or remove it", message)
            if "restore it, or take another" in message or "this run was started with" in message:
                damaged.restore()
            else:
                self._remove(Path(target[1]) if target else damaged.path)
        if not named:
            told = re.search(r"remove (\S+)", message)
            return bool(told) and self._remove(Path(told[1].rstrip(";,")))
        return True

    def verify(self) -> int:
        """``kibitz verify`` names damaged files and no others, and what it says is done; how many it has named."""
        said = io.StringIO()
        try:
            with redirect_stdout(said), redirect_stderr(said):
                code = verify.main([str(self._run)])
        except Exception as error:
            self._story.defects.append(f"verify: {error!r}")
            code = -1
        lines = [line for line in said.getvalue().splitlines() if "; remove " in line]
        say(f"  verify: exit code {code}, {len(lines)} named")
        for line in lines:
            path, _, reason = line.partition(": ")
            named = [pair for pair in self._open if str(pair[0].unit) == path]
            if not named and not ("is missing" in reason and Path(path) in self._removed):
                self._story.defects.append(f"verify: names what nobody damaged: {line}")
            for damaged, fault in named:
                self._named(damaged, fault)
            told = line.rpartition("; remove ")[2]
            if told == "that line":
                self._remove_line(Path(path), reason)
            else:
                for target in told.split():
                    self._remove(Path(target))
        return len(lines)

    def _named(self, damaged: Damaged, fault: Fault) -> None:
        fault.outcome = REFUSED
        self._open.remove((damaged, fault))

    def _remove(self, path: Path) -> bool:
        """Remove what lies in the run, a file or a directory; False where there is nothing."""
        if not path.is_relative_to(self._run) or not path.exists():
            return False
        say(f"  removing {path.relative_to(self._run)}")
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._removed.add(path)
        for pair in [pair for pair in self._open if pair[0].path.is_relative_to(path)]:
            pair[1].outcome = "removed with what is around it"
            self._open.remove(pair)
        return True

    @staticmethod
    def _remove_line(path: Path, reason: str) -> None:
        number = re.search(r"line (\d+)", reason)
        lines = path.read_bytes().splitlines(keepends=True)
        if number:
            del lines[int(number[1]) - 1]
        path.write_bytes(b"".join(lines))
