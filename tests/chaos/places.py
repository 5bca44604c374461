"""Where a disturbed run lies and works: a disk that fills up, a bad line to object storage, two hosts and a cable."""

import fcntl
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

from tests.chaos.proxy import BadLine
from tests.cluster import hosts
from tests.selfplay.commands import Command, Process, descendants, numbered
from tests.storage.server import BUCKET, S3Server, available, environment_of

_ROOM = "400m"
_PAGE = 4096
_OUTAGE_SECONDS = (5.0, 60.0)
_GLITCH_SECONDS = (0.1, 0.8)
_CUT_SECONDS = 5.0
"""A host that is cut off for so long is lost (``hosts.QUICK``)."""


class Place:
    """What the places have in common, and a place where nothing of its own goes wrong."""

    faults: Mapping[str, float] = MappingProxyType({})
    """What can happen here and not everywhere, with weights."""
    before: tuple[str, ...] = ()
    """Program that commands stand behind."""
    environment: Mapping[str, str] = os.environ

    def __init__(self, run: str, ray_files: str) -> None:
        self.run = run
        """The run directory, a path or a URI."""
        self._ray_files = ray_files

    @staticmethod
    def possible() -> bool:
        """Whether it can be had on this machine."""
        return True

    def settings(self, number: int) -> list[str]:
        """Of the command of this number."""
        return [f"run.dir={self.run}", f"cluster.temp_dir={self._ray_files}/{number}"]

    def processes(self, command: Command) -> list[Process]:
        """Everything that works for a command."""
        return descendants(command.pid)

    def strike(self, kind: str, drawn: random.Random) -> None:
        """Do one of ``faults``."""

    def mend(self) -> None:
        """Do what a user does after a fault that ends commands."""

    def fetch(self) -> Path:
        """The run as a local directory."""
        return Path(self.run)

    def close(self) -> None:
        """End what was started here."""


class Disk(Place):
    """A directory, where we are root on a file system in memory of its own."""

    def __init__(self, root: Path, ray_files: str, drawn: random.Random) -> None:
        super().__init__(f"{root}/disk/run", ray_files)
        self._mount = root / "disk"
        self._mount.mkdir()
        self._mounted = os.geteuid() == 0 and not _mount("-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", self._mount)
        full = {"full disk": 12.0} if self._mounted else {}
        self.faults = {**full, "kill raylet": 12, "kill head": 8}

    def strike(self, kind: str, drawn: random.Random) -> None:
        """Leave room for a few kilobytes more."""
        for _ in range(100):  # it is too small again if something was written meanwhile
            state = os.statvfs(self._mount)
            used = (state.f_blocks - state.f_bfree) * state.f_bsize
            if not _mount("-o", f"remount,size={used + drawn.randrange(1, 30) * _PAGE}", self._mount):
                return

    def mend(self) -> None:
        """Have as much room as at first."""
        if self._mounted:
            _mount("-o", f"remount,size={_ROOM}", self._mount)

    def close(self) -> None:
        if self._mounted:
            subprocess.run(["umount", "-l", str(self._mount)], check=False)


class Bucket(Place):
    """A bucket of an S3 server behind a proxy whose answers go wrong."""

    faults = MappingProxyType({"S3 outage": 12, "kill raylet": 6})

    def __init__(self, root: Path, ray_files: str, drawn: random.Random) -> None:
        super().__init__(f"s3://{BUCKET}/run", ray_files)
        self._root = root
        self._server = S3Server(root / "s3.log")
        self.line = BadLine(self._server.address, drawn)
        self.environment = {**environment_of(self._server), "AWS_ENDPOINT_URL": f"http://{self.line.address}"}

    @staticmethod
    def possible() -> bool:
        return available()

    def strike(self, kind: str, drawn: random.Random) -> None:
        """Answer nothing but errors for a while."""
        self.line.down_until = time.monotonic() + drawn.uniform(*_OUTAGE_SECONDS)

    def mend(self) -> None:
        """Have it answer again."""
        self.line.down_until = 0.0

    def fetch(self) -> Path:
        """A copy of what the bucket holds."""
        keys = self._server.keys()
        for key in [key for key in keys if not any(other.startswith(f"{key.rstrip('/')}/") for other in keys)]:
            target = self._root / "fetched" / key
            target.parent.mkdir(parents=True, exist_ok=True)
            if not key.endswith("/"):
                target.write_bytes(self._server.request("GET", f"{BUCKET}/{quote(key)}"))
        return self._root / "fetched/run"

    def close(self) -> None:
        self.line.close()
        self._server.stop()


class Hosts(Place):
    """Two hosts that share a disk, and a cable that is cut."""

    faults = MappingProxyType({"cut link": 60, "cut link for a moment": 60, "kill host": 40})

    def __init__(self, root: Path, ray_files: str, drawn: random.Random) -> None:
        super().__init__(f"{root}/run", ray_files)
        self._head, self._worker = hosts.HOSTS
        with ExitStack() as started:
            alone = started.enter_context(Path(tempfile.gettempdir(), "kibitz-chaos-hosts.lock").open("w"))
            fcntl.flock(alone, fcntl.LOCK_EX)  # names and addresses of the hosts are the same always
            self.environment = started.enter_context(hosts.two(ray_files))
            self._ended = started.pop_all()
        self.before = ("ip", "netns", "exec", self._head)

    @staticmethod
    def possible() -> bool:
        return hosts.possible()

    def settings(self, number: int) -> list[str]:
        address = f"cluster.address={hosts.HOSTS[self._head]}:6399"
        sizes = [f"cluster.{name}=0" for name in ("generator_memory_mb", "generator_gpus", "evaluator_gpus")]
        return [f"run.dir={self.run}", "cluster=existing", address, *sizes, "cluster.learner_gpus=0",
                "cluster.generators=2", "cluster.evaluators=2", "cluster.learner_cpus=1"]  # fmt: skip

    def processes(self, command: Command) -> list[Process]:
        """The actors, on whatever host: Ray stays when the command is gone."""
        found = [numbered(pid) for host in hosts.HOSTS for pid in hosts.processes(host)]
        return [one for one in found if one and one.title.startswith(("ray::Gen", "ray::Learn", "ray::Eval"))]

    def strike(self, kind: str, drawn: random.Random) -> None:
        """Cut the cable, or kill all that runs on the worker; a lost host comes back with a new Ray."""
        if kind == "kill host":
            hosts.end_processes(self._worker)
        else:
            self._link("down")
            moment = kind == "cut link for a moment"
            time.sleep(drawn.uniform(*_GLITCH_SECONDS) if moment else _CUT_SECONDS)
            self._link("up")
            if moment:
                return
        hosts.end_processes(self._worker)
        time.sleep(_CUT_SECONDS)  # until the head has noticed
        hosts.start_ray(self._worker, self.environment, f"--address={hosts.HOSTS[self._head]}:6399")

    def _link(self, state: str) -> None:
        hosts.ip("-n", self._worker, "link", "set", f"{self._worker}0", state)

    def close(self) -> None:
        self._ended.close()


def _mount(*arguments: object) -> int:
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True).returncode
