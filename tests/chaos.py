"""A run of self-play under random faults, compared with one that was left alone: ``make chaos``.

``python -m tests.chaos [--seed N] [--dir DIR]`` plays some thousand hands of Hearts in a few iterations, with
generators, a learner, evaluators, gates and tournaments. At random moments it kills or stops their processes, the
command itself and its Ray, and damages files that the run still needs. Then it does what a user would: it removes the
file that the message names, and gives the same command again. The last line is JSON; the exit code is 1 unless
everything is equal after thirty faults or more.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from games.hearts.game import HeartsGame
from games.shards import read_shard
from tests.selfplay.commands import TINY, Command, Process, actors, descendants

SETTINGS = (
    *TINY,
    "run.seed=5",
    "selfplay.iterations=6",
    "selfplay.initial_games=400",
    "selfplay.games_per_iteration=400",
    "selfplay.games_per_shard=20",
    "selfplay.gate={deals: 10}",
    "learner.num_epochs=100",
    "learner.max_steps=600",
    "learner.checkpoint_every_steps=25",
    "evaluation.curve=[{players: [argmax_val, random], deals: 30}]",
    "evaluation.final=[{players: [argmax_val, hearts_rules], deals: 30}]",
    "evaluation.deals_per_task=2",
    "cluster.generators=2",
    "cluster.evaluators=2",
    "cluster.item_timeout_s=10",
    "cluster.max_attempts=10",
)
ROLES = {"generator": "Generator.generate", "learner": "Learner.train", "evaluator": "Evaluator.play"}
OWED = {
    **{"kill generator": 5, "kill learner": 4, "kill evaluator": 5},
    **{"stop generator": 2, "stop learner": 2, "stop evaluator": 2},
    **{"kill driver": 8, "kill node": 2},
    **{"flip shard": 3, "truncate shard": 3, "flip checkpoint": 1, "truncate checkpoint": 1},
}
"""How often each fault strikes; files are damaged while no command runs, so a driver dies before each."""
PAUSE = (1.0, 4.0)
"""Seconds between two faults."""
ROLE_WEIGHT = 3
"""How much likelier a fault of a role is than one of the command or its Ray, which may strike at any time."""
LEAST = 30
"""Faults without which nothing is shown."""
STARTS = 60
"""Commands after which a run that still has not finished never will."""


@dataclass
class Story:
    """A disturbed run, and what was done to it."""

    root: Path
    random: random.Random
    ray_files: str = field(default_factory=lambda: tempfile.mkdtemp(prefix="kibitz-", dir="/tmp"))
    """Short, and of our own: a killed command leaves the files of its Ray behind."""
    owed: Counter[str] = field(default_factory=lambda: Counter(OWED))
    faults: Counter[str] = field(default_factory=Counter)
    ended_with: Counter[int] = field(default_factory=Counter)
    """Exit codes of the commands that were not killed."""
    requeued: int = 0
    started: list[Command] = field(default_factory=list)
    stopped: list[Process] = field(default_factory=list)

    @property
    def run(self) -> Path:
        return self.root / "disturbed"

    def live(self) -> None:
        """The same command again and again, until it finishes."""
        while len(self.started) < STARTS:
            command = self._start()
            code = self._strike(command)
            self.requeued += command.output.count("doing it again")
            if code == 0:
                return
            if code is not None:
                self.ended_with[code] += 1
                self._mend(code, command.output)
            if code != 2:
                self._damage()
        raise SystemExit(f"the run has not finished after {STARTS} commands; see {self.root}")

    def clean_up(self) -> None:
        """End what killed commands have left, and what was stopped and never went on."""
        for command in self.started:
            command.clean_up()
        for process in self.stopped:
            process.kill()
        shutil.rmtree(self.ray_files, ignore_errors=True)

    def _start(self) -> Command:
        number = len(self.started) + 1
        say(f"command {number}")
        where = (f"run.dir={self.run}", f"cluster.temp_dir={self.ray_files}/{number}")
        self.started.append(Command("selfplay", *SETTINGS, *where, log=self.root / f"command-{number}.log"))
        return self.started[-1]

    def _strike(self, command: Command) -> int | None:
        """Faults at random moments until the command ends: its exit code, or None where it was killed."""
        while (code := wait(command, self.random.uniform(*PAUSE))) is None:
            at_work = {role: actors(command.pid, title) for role, title in ROLES.items()}
            possible = self._left("kill ", "stop ")
            possible = [fault for fault in possible if at_work.get(fault.split()[1], any(at_work.values()))]
            if not possible:
                continue
            weights = [self.owed[fault] * (ROLE_WEIGHT if fault.split()[1] in ROLES else 1) for fault in possible]
            (fault,) = self.random.choices(possible, weights)
            self._note(fault)
            if fault == "kill driver":
                command.kill()
                return None
            if fault == "kill node":
                for process in descendants(command.pid):  # all of Ray but its head, which is missed a minute later
                    if "gcs_server" not in process.title:
                        process.kill()
                return command.wait()
            victim = self.random.choice(at_work[fault.split()[1]])
            if fault.startswith("stop"):
                self.stopped.append(victim)
                if victim.alive():
                    os.kill(victim.pid, signal.SIGSTOP)
            else:
                victim.kill()
        return code

    def _left(self, *beginnings: str) -> list[str]:
        return [fault for fault, owed in self.owed.items() if owed > 0 and fault.startswith(beginnings)]

    def _note(self, fault: str) -> None:
        self.owed[fault] -= 1
        self.faults[fault] += 1
        say(f"  {fault} ({sum(self.faults.values())} of {sum(OWED.values())})")

    def _damage(self) -> None:
        """Flip a bit in, or cut off the end of, a file that the next command reads."""
        state = json.loads((self.run / "state.json").read_text())
        here = self.run / f"iterations/{state['iteration']:03d}"
        files: dict[str, list[Path]] = {"shard": [], "checkpoint": []}
        if state["stage"] in ("generate", "train") and not (here / "checkpoint").exists():
            files["shard"] = sorted(here.glob("shards/*.parquet"))
            if state["iteration"] == 1:  # later the gate decides which networks still play
                files["checkpoint"] = [self.run / "iterations/000/checkpoint/model.safetensors"]
        if state["stage"] == "gate" and not (here / "gate.json").exists():
            files["checkpoint"] = [here / "checkpoint/model.safetensors"]
        possible = [fault for fault in self._left("flip ", "truncate ") if files[fault.split()[1]]]
        if not possible:
            return
        fault = self.random.choices(possible, [self.owed[fault] for fault in possible])[0]
        self._note(fault)
        damage(self.random.choice(files[fault.split()[1]]), fault.startswith("flip"), self.random)

    def _mend(self, code: int, output: str) -> None:
        """Remove what the message of a command that refused to go on names."""
        message = [line for line in output.splitlines() if line.startswith("error: ")][-1:]
        say(f"  ended with {code}: {''.join(message) or output[-500:]}")
        if code != 2:
            return
        named = re.search(rf"restore ({re.escape(str(self.run))}\S*) or remove it", "".join(message))
        named = named or re.search(rf"error: ({re.escape(str(self.run))}[^\s:]*)", "".join(message))
        if named is None:
            raise SystemExit(f"the message names nothing to remove:\n{output}")
        path = Path(named[1])
        say(f"  removing {path}")
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def wait(command: Command, seconds: float) -> int | None:
    """Exit code of a command that ends within this time."""
    limit = time.monotonic() + seconds
    while (code := command.poll()) is None and time.monotonic() < limit:
        time.sleep(0.05)
    return code


def damage(file: Path, flip: bool, drawn: random.Random) -> None:
    """One bit among the tokens of a shard or the weights of a network; or the last hundred bytes gone."""
    content = bytearray(file.read_bytes())
    if flip:
        first, last = len(content) // 4, len(content)
        if file.suffix == ".parquet":  # the second half of the tokens' page; headers and footer have no checksum
            tokens = pq.ParquetFile(file).metadata.row_group(0).column(0)
            last = tokens.data_page_offset + tokens.total_compressed_size
            first = last - tokens.total_compressed_size // 2
        content[drawn.randrange(first, last)] ^= 1 << drawn.randrange(8)
    else:
        del content[-100:]
    file.write_bytes(content)


def games(run: Path) -> Counter[tuple[str, int]]:
    """How often each (iteration, seed of a deal) was played into the shards of a run."""
    game, found = HeartsGame(), Counter[tuple[str, int]]()
    for path in sorted(run.glob("iterations/*/shards/*.parquet")):
        rows = read_shard(path, game)
        found.update({(path.parts[-3], int(seed)) for seed in rows.deal_seed})
    return found


def shards(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*.parquet")}


def networks(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("model.safetensors")}


def results(run: Path) -> dict[str, Any]:
    """Every tournament and gate, but for the seconds it took."""
    files = [*run.glob("iterations/*/gate.json"), *run.rglob("tournament.json")]
    found = {str(path.relative_to(run)): json.loads(path.read_text()) for path in files}
    for record in (record for records in found.values() for record in records):
        del record["seconds_per_turn"]
    text = json.dumps(found, sort_keys=True).replace(str(run), "RUN")
    return dict(json.loads(text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument(
        "--dir",
        type=Path,
        help="where to work, a temporary directory by default; an undisturbed run there is used again",
    )
    given = parser.parse_args()
    root = (given.dir or Path(tempfile.mkdtemp(prefix="kibitz-chaos-"))).absolute()
    root.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(root / "disturbed", ignore_errors=True)
    began = time.monotonic()
    say(f"in {root}: a run that is left alone")
    calm = Command("selfplay", *SETTINGS, f"run.dir={root / 'undisturbed'}", log=root / "undisturbed.log")
    if calm.wait(3600) != 0:
        raise SystemExit(calm.output)
    story = Story(root, random.Random(given.seed))
    try:
        story.live()
    finally:
        story.clean_up()
    expected, found = games(root / "undisturbed"), games(story.run)
    summary = {
        "faults": dict(story.faults),
        "faults_in_all": sum(story.faults.values()),
        "commands": len(story.started),
        "ended_with": dict(story.ended_with),
        "requeued": story.requeued,
        "games": sum(found.values()),
        "lost_games": len(expected - found),
        "doubled_games": len(found - expected),
        "shards": "equal" if shards(story.run) == shards(root / "undisturbed") else "different",
        "networks": "equal" if networks(story.run) == networks(root / "undisturbed") else "different",
        "results": "equal" if results(story.run) == results(root / "undisturbed") else "different",
        "seconds": round(time.monotonic() - began),
    }
    good = summary["faults_in_all"] >= LEAST and not (summary["lost_games"] or summary["doubled_games"])
    good = good and {summary[key] for key in ("shards", "networks", "results")} == {"equal"}
    if given.dir is None and good:
        shutil.rmtree(root)
    print(json.dumps(summary))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
