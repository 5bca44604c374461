"""Runs of self-play under random faults, compared with ones that were left alone: ``make chaos``.

``python -m tests.chaos [--faults N] [--seed N] [--dir DIR]`` plays one small run after another: Hearts with stages in
turns and side by side, The Crew, on a disk, behind an S3 server with a bad line, on two hosts with a cable between. At
random moments it kills, stops and pauses their processes, the command and its Ray, fills the disk, cuts the cable, and
between two commands damages files of every kind. Then it does what a user would: what the message says, and the same
command again.

Runs that are through are kept in ``DIR/stories.jsonl``, and the same command goes on behind them; several at a time
share the work. Runs that came out wrong stay in DIR. The last line is JSON; the exit code is 1 unless all came out
equal and every damage was named.
"""

import argparse
import fcntl
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.chaos.places import Bucket, Disk, Hosts, Place
from tests.chaos.records import Story, keep, kept, markdown, say, table
from tests.chaos.story import Play
from tests.chaos.worlds import WORLDS, compare
from tests.selfplay.commands import Command

_MIX: tuple[tuple[str, type[Place], int], ...] = (
    ("hearts", Disk, 6),
    ("overlap", Disk, 3),
    ("crew", Disk, 3),
    ("hearts", Bucket, 3),
    ("crew", Bucket, 1),
    ("hearts", Hosts, 4),
)
"""Run, where it lies, and how often."""
_FAULTS = {Disk: (35, 60), Bucket: (100, 140), Hosts: (15, 25)}
"""Of one run."""


def undisturbed(root: Path, world: str) -> Path:
    """The run that is left alone, played once."""
    run = root / "undisturbed" / world
    run.mkdir(parents=True, exist_ok=True)
    with (run.parent / f"{world}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (run / "through").exists():
            return run
        say(f"{run}: a run that is left alone")
        command = Command("selfplay", *WORLDS[world], f"run.dir={run}", log=root / f"undisturbed-{world}.log")
        try:
            if command.wait(3600) != 0:
                raise SystemExit(command.output)
        finally:
            command.clean_up()
        (run / "through").touch()
    return run


def tell(root: Path, number: int, seed: int) -> tuple[dict[str, Any], Story]:
    """Play a run to its end; what is kept of it."""
    drawn, here = random.Random(f"{seed}/{number}"), root / f"story-{number:03d}"
    mix = [entry for entry in _MIX if entry[1].possible()]
    ((world, kind, _),) = drawn.choices(mix, [entry[2] for entry in mix])
    calm, began = undisturbed(root, world), time.monotonic()
    say(f"run {number}: {world}, {kind.__name__.lower()}")
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    ray_files = tempfile.mkdtemp(prefix="kibitz-", dir="/tmp")  # short; a killed command leaves them behind
    place = kind(here, ray_files, drawn)
    play = Play(here, world, place, drawn, drawn.randint(*_FAULTS[kind]))
    try:
        play.live()
        found = compare(place.fetch(), calm, place.run)
        if found["different"] or found["lost_games"] or found["doubled_games"]:
            play.story.defects.append(f"not as left alone: {found}")
        if play.story.defects:
            shutil.copytree(place.fetch(), here / "kept", dirs_exist_ok=True)
    finally:
        play.clean_up()
        place.close()
        shutil.rmtree(ray_files, ignore_errors=True)
    for defect in play.story.defects:
        say(f"DEFECT {defect}")
    play.finish()
    return {"number": number, "seed": seed, "run": world, "place": kind.__name__.lower(), **found,
            "seconds": round(time.monotonic() - began)}, play.story  # fmt: skip


@contextmanager
def next_story(root: Path) -> Iterator[int]:
    """The number of a run that is not through and that no other process plays; it is ours inside the block."""
    for number in count():
        with (root / f"story-{number:03d}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if number not in {story["number"] for story in kept(root)}:
                yield number
                return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--faults", type=int, default=60, help="how many at least")
    parser.add_argument("--dir", type=Path, help="where to work and to go on; a temporary directory by default")
    given = parser.parse_args()
    root = (given.dir or Path(tempfile.mkdtemp(prefix="kibitz-chaos-"))).absolute()
    root.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell has had us ignore it, commands would too
    while sum(len(story["faults"]) for story in kept(root)) < given.faults:
        with next_story(root) as number:
            told, story = tell(root, number, given.seed)
            keep(root, story, told)
            if not story.defects:
                shutil.rmtree(root / f"story-{number:03d}")
    stories = kept(root)
    found = table(stories)
    print(markdown(found))
    defects = [f"run {story['number']}: {defect}" for story in stories for defect in story["defects"]]
    sums = {key: sum(story[key] for story in stories) for key in ("commands", "requeued", "games", "lost_games",
            "doubled_games", "seconds")}  # fmt: skip
    faults = sum(row["tries"] for row in found.values())
    skipped = [what for what, missing in (("full disk (not root)", "full disk"), ("S3", "S3 error 500"),
               ("cut link (not root, or no ip)", "cut link"))
               if missing not in found]  # fmt: skip
    print(json.dumps({"faults": found, "faults_in_all": faults, "runs": len(stories), **sums, "none_of": skipped,
                      "defects": defects}))  # fmt: skip
    if given.dir is None and not defects:
        shutil.rmtree(root)
    return int(bool(defects))


if __name__ == "__main__":
    sys.exit(main())
