"""One driver on a run directory.

On a local disk the operating system keeps the lock and releases it when its holder dies. Object storage has no such
lock, and ``pyarrow.fs`` no conditional writes. There a driver writes a *claim*, its own file in ``.claims/``, and then
lists all claims. Lists of S3, Google's and Azure's storage are consistent: they hold all earlier writes. So of two
drivers that start at the same time at least one sees the other, and a driver that sees another withdraws. A driver
renews its claim while it lives; the next driver removes a claim that is older than ``STALE_SECONDS``. A driver that
slept so long may renew its claim once more; it ends when it sees a claim taken after its own.
"""

import fcntl
import hashlib
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cluster.errors import UserError, writing
from cluster.files import storage, uris

STALE_SECONDS = 120.0
"""A claim not renewed for this long, by the storage's own clock, is void."""
RENEW_SECONDS = 20.0
_LOOK_SECONDS = 5.0
_ATTEMPTS = 3
"""Two drivers that start at the same moment both withdraw; each tries again after a different delay."""


@contextmanager
def run_lock(directory: str | Path) -> Iterator[None]:
    """Keep a second driver out of a run directory, which is made if missing, until the block ends or the process dies.
    After a death the lock is free at once on a local disk, on object storage once the claim is stale.

    Raises:
        UserError: another process holds the lock, or the directory cannot be written to.
    """
    storage.check_writable(directory)
    with _claimed(str(directory)) if uris.is_remote(directory) else _flocked(directory):
        yield


@contextmanager
def _flocked(directory: str | Path) -> Iterator[None]:
    local = Path(uris.resolve(directory)[1])
    with writing(directory):
        local.mkdir(parents=True, exist_ok=True)
        file = (local / ".lock").open("a+")
    with file:
        file.seek(0)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = file.read().strip() or "unknown"
            raise UserError(
                f"{directory} is in use by another command (process {holder}); wait for it or take another"
            ) from error
        file.truncate()
        print(os.getpid(), file=file, flush=True)
        yield


# ---- object storage --------------------------------------------------------------------------------------------------


@contextmanager
def _claimed(directory: str) -> Iterator[None]:
    claim = _Claim(directory)
    claim.take()
    ended = threading.Event()
    renewing = threading.Thread(target=claim.keep, args=(ended,), name="claim", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        with suppress(UserError):  # a claim left behind is stale soon, and the block's own error matters more
            claim.remove()


class _Claim:
    """This process's claim on a directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._name = secrets.token_hex(8)
        self._home = f"{directory.rstrip('/')}/.claims"
        self._taken = 0.0
        """Time at which the lock was taken, by the storage's own clock; 0 before."""

    def take(self) -> None:
        """Write the claim. ``UserError`` naming the holder of another live claim; one of another machine, which may be
        lost, is watched until it is renewed or stale."""
        for attempt in range(_ATTEMPTS):
            if (holder := self._try()) is None:
                return
            if attempt < _ATTEMPTS - 1:
                time.sleep(0.2 + int(self._name[:4], 16) / 2**16)  # names differ, so do these times
        assert holder is not None
        if holder.get("machine") != _machine() and self._outlive():
            for _ in range(_ATTEMPTS):  # others may have waited too
                if (later := self._try()) is None:
                    return
                holder = later
                time.sleep(0.2 + int(self._name[:4], 16) / 2**16)
        who = f"process {holder.get('pid', 'unknown')} on {holder.get('host', 'unknown')}"
        raise UserError(
            f"{self._directory} is in use by another command ({who}); wait for it or take another; if it was "
            f"killed, its claim ends after {STALE_SECONDS:g} s"
        )

    def _try(self) -> dict[str, Any] | None:
        """Write the claim, unless there is another live one: withdraw, and return that one's content."""
        self._write()
        holder = next(self._others(), None)
        if holder is None:
            self._taken = storage.times(self._home).get(self._name, 0.0)
            self._write()
            return None
        self.remove()
        return holder or {"pid": "unknown"}

    def _outlive(self) -> bool:
        """Wait until the claims there have gone or are stale; False as soon as one is renewed."""
        print(
            f"{self._directory}: another machine's claim; waiting to see whether it lives", file=sys.stderr, flush=True
        )
        before, end = storage.times(self._home), time.monotonic() + STALE_SECONDS
        while time.monotonic() < end:
            time.sleep(min(_LOOK_SECONDS, STALE_SECONDS / 4))
            now = storage.times(self._home)
            if any(now.get(name, 0.0) > written for name, written in before.items()):
                return False
            if not now.keys() & before.keys():
                break
        return True

    def keep(self, ended: threading.Event) -> None:
        """Renew the claim at intervals. If it went stale and another driver has taken over, end this process in
        order."""
        said = False
        while not ended.wait(RENEW_SECONDS):
            try:
                if self._lost():
                    print(f"error: {self._directory}: another command has taken over, this one ends", file=sys.stderr)
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
            except UserError as error:
                if not said:
                    print(f"warning: {error}; trying to keep the lock again and again", file=sys.stderr)
                said = True

    def remove(self) -> None:
        """Remove the claim."""
        storage.remove_file(f"{self._home}/{self._name}")

    def _write(self) -> None:
        record = {"pid": os.getpid(), "host": socket.gethostname(), "machine": _machine(), "taken": self._taken}
        storage.write_json_atomic(f"{self._home}/{self._name}", record)

    def _lost(self) -> bool:
        """Renew the claim; whether another driver has taken over.

        This process may sleep for long between listing and writing, so it lists again afterwards. Drivers without the
        lock will withdraw, and a driver that took it before this one is about to end.
        """
        if self._name not in storage.list_names(self._home):
            return True
        self._write()
        return any(other.get("taken", 0.0) > self._taken for other in self._others())

    def _others(self) -> Iterator[dict[str, Any]]:
        """The content of other drivers' live claims; removes the claims of dead drivers."""
        written = storage.times(self._home)
        if self._name not in written:
            raise UserError(f"{self._home}: a file just written is not listed; this storage cannot keep a lock")
        for name in written.keys() - {self._name}:
            claim = f"{self._home}/{name}"
            with suppress(FileNotFoundError):  # withdrawn meanwhile
                holder = _read(claim)
                if written[self._name] - written[name] < STALE_SECONDS and not _known_dead(holder):
                    yield holder
                else:
                    storage.remove_file(claim)


def _read(claim: str) -> dict[str, Any]:
    """The content of a claim; empty while it cannot be read, as in the moment that some storages take to write it. An
    unreadable claim counts as alive until it is stale."""
    try:
        return dict(storage.read_json(claim))
    except UserError:
        return {}


def _machine() -> str:
    """Identity shared by processes that see each other's ids: the machine's boot and the container."""
    try:
        parts = (Path("/proc/sys/kernel/random/boot_id").read_text(), str(Path("/proc/self/ns/pid").readlink()))
    except OSError:  # no Linux
        return ""
    return hashlib.blake2b("".join(parts).encode(), digest_size=8).hexdigest()


def _known_dead(holder: dict[str, Any]) -> bool:
    """Whether a driver ran on this machine and has ended."""
    if not _machine() or holder.get("machine") != _machine():
        return False
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's
        pass
    return False
