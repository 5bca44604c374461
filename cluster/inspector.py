"""What one process sees of the machine that it runs on, for ``cluster.doctor``; works without Ray."""

import hashlib
import platform
import shutil
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cluster.errors import UserError
from cluster.files.storage import read_text, remove_directory, write_bytes_atomic
from cluster.files.uris import is_remote, resolve
from cluster.provenance import installed_version

_CODE = ("cluster", "conf", "games", "learner", "search", "selfplay")
_MARKS = ".kibitz-doctor"
"""Directory below the checked storage in which every machine leaves a file."""
_CONNECT_SECONDS = 3.0


@dataclass(frozen=True)
class Machine:
    """Software and room of one machine."""

    versions: dict[str, str]
    """Versions of Python and of packages; empty for a missing package."""
    code: str
    """Digest of our modules as imported there."""
    disk_mb: int
    """Free space where Ray keeps its files ..."""
    disk_share: float
    """... and the part of the disk that is in use, ``0 .. 1``."""


@dataclass(frozen=True)
class Compute:
    """What torch sees in a process of one role."""

    device: str
    """Name of the GPU, or ``cpu``."""
    memory_mb: int
    """Memory of the GPU; 0 without one."""
    threads: int


class Inspector:
    """Inspects the cluster from one machine; ``clean`` removes its files."""

    def __init__(self) -> None:
        self._made: Path | None = None

    def machine(self, ray_dir: str = "/") -> Machine:
        """Software and room; ``ray_dir`` is where Ray keeps its files."""
        packages = ("kibitz", "ray", "torch", "numpy", "numba", "pyarrow")
        versions = {name: installed_version(name) for name in packages}
        disk = shutil.disk_usage(ray_dir)
        return Machine(
            {"python": platform.python_version()} | versions,
            code_digest(),
            disk.free // 2**20,
            disk.used / max(disk.used + disk.free, 1),
        )

    def unreachable(self, endpoints: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """The hosts and ports that refuse a connection from this machine."""
        return [endpoint for endpoint in endpoints if not _answers(*endpoint)]

    def mark(self, directory: str, name: str) -> str:
        """Leave a file of this name in shared storage; returns the error, empty if none."""
        try:
            self._made = _topmost_missing(directory)
            write_bytes_atomic(f"{directory}/{_MARKS}/{name}", name.encode())
        except (OSError, UserError) as error:
            return " ".join(str(error).split())
        return ""

    def unseen(self, directory: str, names: Sequence[str]) -> list[str]:
        """Files left by ``mark`` on other machines that cannot be read from this one."""
        return [name for name in names if not _reads(f"{directory}/{_MARKS}/{name}", name)]

    def clean(self, directory: str) -> None:
        """Remove the files of ``mark``, and the directories that it made, if empty."""
        with suppress(OSError, UserError):  # another machine that shares the storage has been faster
            remove_directory(f"{directory}/{_MARKS}")
        if self._made is not None:
            place = Path(resolve(directory)[1])
            with suppress(OSError):  # not empty
                while place.is_relative_to(self._made):
                    place.rmdir()
                    place = place.parent


def compute() -> Compute:
    """What torch sees in this process; computes something on a GPU if there is one."""
    import torch

    if not torch.cuda.is_available():
        return Compute("cpu", 0, torch.get_num_threads())
    torch.ones(8, device="cuda").sum().item()
    properties = torch.cuda.get_device_properties(0)
    return Compute(properties.name, properties.total_memory // 2**20, torch.get_num_threads())


def code_digest() -> str:
    """Digest of our modules as this process imports them."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(path for package in _CODE for path in (root / package).rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _reads(path: str, content: str) -> bool:
    try:
        return read_text(path) == content
    except (OSError, UserError):
        return False


def _topmost_missing(directory: str) -> Path | None:
    """The topmost missing directory on a local path; None if the path exists, or behind a URI."""
    if is_remote(directory):
        return None
    path = Path(resolve(directory)[1])
    missing = [place for place in (path, *path.parents) if not place.exists()]
    return missing[-1] if missing else None
