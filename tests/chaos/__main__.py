"""Runs of self-play under random faults, compared with ones that were left alone: ``make chaos``.

``python -m tests.chaos [--faults N] [--seed N] [--dir DIR]`` plays one small run after another: Hearts with stages in
turns and side by side, The Crew, on a disk, behind an S3 server with a bad line, on two hosts with a cable between. At
random moments it kills, stops and pauses their processes, the command and its Ray, fills the disk and cuts the cable,
and gives the same command again. Damaged files are ``tests/selfplay/test_damage.py`` and ``test_verify.py``.

Runs that came out wrong stay in DIR. The last line is JSON; the exit code is 1 unless all came out equal.
"""

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

from tests.chaos.places import Bucket, Disk, Hosts, Place
from tests.chaos.records import Story, say, table
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
    if not run.exists():
        say(f"{run}: a run that is left alone")
        command = Command("selfplay", *WORLDS[world], f"run.dir={run}", log=root / f"undisturbed-{world}.log")
        try:
            if command.wait(3600) != 0:
                raise SystemExit(command.output)
        finally:
            command.clean_up()
    return run


def tell(root: Path, number: int, seed: int) -> tuple[Story, Counter[str]]:
    """Play a run to its end; what happened, and numbers."""
    drawn, here = random.Random(f"{seed}/{number}"), root / f"story-{number:03d}"
    mix = [entry for entry in _MIX if entry[1].possible()]
    ((world, kind, _),) = drawn.choices(mix, [entry[2] for entry in mix])
    calm, began = undisturbed(root, world), time.monotonic()
    say(f"run {number}: {world}, {kind.__name__.lower()}")
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
    play.finish()
    for defect in play.story.defects:
        say(f"DEFECT {defect}")
    numbers = {key: found[key] for key in ("games", "lost_games", "doubled_games")}
    more = {"commands": play.story.commands, "requeued": play.story.requeued}
    return play.story, Counter({**numbers, **more, "seconds": round(time.monotonic() - began)})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--faults", type=int, default=60, help="how many at least")
    parser.add_argument("--dir", type=Path, help="where to work, a new directory; a temporary one by default")
    given = parser.parse_args()
    root = (given.dir or Path(tempfile.mkdtemp(prefix="kibitz-chaos-"))).absolute()
    root.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where a shell has had us ignore it, commands would too
    stories, sums = list[Story](), Counter[str]()
    for number in count():
        story, numbers = tell(root, number, given.seed)
        stories.append(story)
        sums.update(numbers)
        if not story.defects:
            shutil.rmtree(root / f"story-{number:03d}")
        if sum(len(story.faults) for story in stories) >= given.faults:
            break
    found = table(stories)
    defects = [f"run {number}: {defect}" for number, story in enumerate(stories) for defect in story.defects]
    skipped = [what for what, missing in (("full disk (not root)", "full disk"), ("S3", "S3 error 500"),
               ("cut link (not root, or no ip)", "cut link"))
               if missing not in found]  # fmt: skip
    for kind, outcomes in found.items():
        print(f"{kind}: {', '.join(f'{times} {outcome}' for outcome, times in outcomes.items())}")
    print(json.dumps({"faults": found, "runs": len(stories), **sums, "none_of": skipped, "defects": defects}))
    if given.dir is None and not defects:
        shutil.rmtree(root)
    return int(bool(defects))


if __name__ == "__main__":
    sys.exit(main())
