"""Work in processes of its own, with a time limit: a crash or a hang of theirs is an error here, and no more."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cluster.errors import first_line

LIMIT_SECONDS = 600.0
"""A machine that compiles the kernels of a game needs minutes at the first."""


class ProbeError(RuntimeError):
    """What broke a probe, in one line."""


@dataclass(frozen=True)
class Peers:
    """One process among those that do the same work at once."""

    rank: int
    size: int
    barrier: Any
    """A ``multiprocessing.Barrier`` of all of them."""
    messages: Any
    """A ``multiprocessing.Queue`` from one to another."""


def isolated(
    probe: Callable[..., Any],
    *arguments: Any,
    count: int = 1,
    gpus: Sequence[str] = (),
    limit: float = LIMIT_SECONDS,
) -> list[Any]:
    """The results of ``probe(peers, *arguments)`` in ``count`` processes at once.

    Args:
        gpus: what each process sees as ``CUDA_VISIBLE_DEVICES``; empty for all that this one sees.
        limit: seconds for all of them.

    Raises:
        ProbeError: one raised, died or did not answer; the others are killed.
    """
    context, processes, waiting, results = get_context("spawn"), [], {}, [None] * count
    shared = context.Barrier(count), context.Queue()
    deadline = time.monotonic() + limit
    with TemporaryDirectory() as logs:
        try:
            for rank in range(count):
                ours, theirs = context.Pipe(duplex=False)
                log = Path(logs) / str(rank)
                place = Peers(rank, count, *shared), str(log), gpus[rank] if gpus else None
                processes.append(context.Process(target=_answer, args=(theirs, probe, arguments, *place), daemon=False))
                processes[-1].start()
                theirs.close()  # so that the end of the process ends the connection
                waiting[ours] = rank, log
            while waiting:
                ready = connection.wait(list(waiting), max(deadline - time.monotonic(), 0.0))
                if not ready:
                    raise ProbeError(f"hangs: no answer within {limit:g} s")
                for ours in ready:
                    rank, log = waiting.pop(ours)
                    results[rank] = _received(ours, processes[rank], log)
        finally:
            for process in processes:
                process.kill()
                process.join()
    return results


def _received(ours: Any, process: Any, log: Path) -> Any:
    try:
        done, value = ours.recv()
    except EOFError:
        process.join()
        said = log.read_text(errors="replace").split("\n") if log.exists() else []
        last = next((line for line in reversed(said) if line.strip()), "nothing said")
        code = process.exitcode
        how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise ProbeError(f"crashed: {how}: {last.strip()}") from None
    if not done:
        raise ProbeError(value)
    return value


def _answer(
    theirs: Any, probe: Callable[..., Any], arguments: Sequence[Any], peers: Peers, log: str, gpu: str | None
) -> None:
    """The whole life of a process; what it and its libraries print goes into ``log``."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(file, stream.fileno())
    if gpu is not None:  # read when CUDA is first used
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    try:
        theirs.send((True, probe(peers, *arguments)))
    except Exception as error:
        theirs.send((False, f"{type(error).__name__}: {first_line(error)}"))
