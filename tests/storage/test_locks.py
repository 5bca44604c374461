"""One driver on a run directory behind ``s3://``, with real processes."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.files import locks, storage
from cluster.files.locks import run_lock
from tests.storage.server import S3Server, environment_of

ROOT = Path(__file__).parents[2]
HOLD = """
import sys, time
from cluster.files import locks
locks.RENEW_SECONDS, locks.STALE_SECONDS = 0.2, 2.0
locks.signal.signal(locks.signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # as commands do
try:
    with locks.run_lock(sys.argv[1]):
        print("held", flush=True)
        time.sleep(60)
except locks.UserError as error:
    print(error, flush=True)
"""


@contextmanager
def driver(server: S3Server, uri: str, program: str = HOLD) -> Iterator[subprocess.Popen]:
    """Another process that tries to take the lock and, if it can, holds it."""
    command, output = [sys.executable, "-c", program, uri], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env=environment_of(server), stdout=output, stderr=output, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen) -> str:
    return str(process.stdout.readline())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "RENEW_SECONDS", 0.2)
    monkeypatch.setattr(locks, "STALE_SECONDS", 2.0)


def test_a_second_driver_is_refused_while_the_first_lives_and_not_when_it_was_killed_here(server, uri, quick) -> None:
    with driver(server, uri) as first:
        assert said(first) == "held\n"
        time.sleep(2.5)  # long enough to be stale, were it not renewed
        holder = f"in use by another command .process {first.pid} on {socket.gethostname()}"
        with pytest.raises(UserError, match=holder), run_lock(uri):
            pass
        first.send_signal(signal.SIGKILL)
        first.wait()
        with run_lock(uri):
            assert len(storage.list_names(f"{uri}/.claims")) == 1
    assert storage.list_names(f"{uri}/.claims") == []


@contextmanager
def elsewhere(uri: str, claim: bytes) -> Iterator[None]:
    """A driver on another machine, which renews its claim twice a second."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(0.5):
            storage.write_bytes_atomic(f"{uri}/.claims/other", claim)

    storage.write_bytes_atomic(f"{uri}/.claims/other", claim)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


LOST = b'{"pid": 7, "host": "elsewhere", "machine": "another"}'


def test_a_driver_elsewhere_is_refused_as_soon_as_the_other_is_seen_to_live(uri: str, capsys) -> None:
    began = time.monotonic()
    refused = pytest.raises(UserError, match=r"process 7 on elsewhere.*ends after 120 s")
    with elsewhere(uri, LOST), refused, run_lock(uri):
        pass
    assert time.monotonic() - began < 30
    assert "another machine's claim; waiting to see whether it lives" in capsys.readouterr().err


def test_the_claim_of_a_driver_on_a_lost_machine_is_waited_for_once(uri: str, monkeypatch) -> None:
    """So that a Job that is tried again elsewhere does not use up its tries."""
    storage.write_bytes_atomic(f"{uri}/.claims/lost", LOST)
    monkeypatch.setattr(locks, "STALE_SECONDS", 3.0)
    with run_lock(uri):
        assert "lost" not in storage.list_names(f"{uri}/.claims")


STOP_AFTER_LOOKING = """
import os, signal
from cluster.files import storage
listing = storage.list_names
def stop(directory):
    names = listing(directory)
    storage.list_names = listing
    os.kill(os.getpid(), signal.SIGSTOP)
    return names
storage.list_names = stop
"""


@pytest.mark.slow
@pytest.mark.parametrize("program", [HOLD, STOP_AFTER_LOOKING + HOLD], ids=["anywhere", "between looking and renewing"])
def test_a_driver_that_slept_until_another_took_over_ends_and_the_other_goes_on(
    program, server, uri, quick, monkeypatch
):
    monkeypatch.setattr(locks, "_known_dead", lambda holder: False)
    with driver(server, uri, program) as first:
        assert said(first) == "held\n"
        if program is HOLD:  # the other stops at its first renewal
            first.send_signal(signal.SIGSTOP)
        time.sleep(4.5)  # the server counts in whole seconds
        with run_lock(uri):
            [own] = storage.list_names(f"{uri}/.claims")
            first.send_signal(signal.SIGCONT)
            assert first.wait(20) == 128 + signal.SIGTERM
            assert "another command has taken over" in first.stderr.read()
            time.sleep(1)
            assert storage.list_names(f"{uri}/.claims") == [own]


def test_of_two_drivers_that_start_together_one_gets_the_lock(server: S3Server, uri: str) -> None:
    with driver(server, uri) as one, driver(server, uri) as other:
        answers = sorted(said(process).partition(" (")[0].strip() for process in (one, other))
        assert answers == ["held", f"{uri} is in use by another command"]


def test_a_claim_that_cannot_be_read_is_somebody_s_all_the_same(uri: str) -> None:
    half, unknown = b'{"pid": 1', r"is in use by another command \(process unknown on unknown\)"
    with elsewhere(uri, half), pytest.raises(UserError, match=unknown), run_lock(uri):
        pass
    assert storage.list_names(f"{uri}/.claims") == ["other"]


def test_a_claim_says_who_holds_it_and_goes_with_an_error_in_the_block(uri: str) -> None:
    with pytest.raises(KeyError), run_lock(uri):
        [name] = storage.list_names(f"{uri}/.claims")
        record = json.loads(storage.read_text(f"{uri}/.claims/{name}"))
        assert record["host"] == socket.gethostname()
        raise KeyError
    assert storage.list_names(f"{uri}/.claims") == []
