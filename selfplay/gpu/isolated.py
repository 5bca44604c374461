"""Work in processes of its own, with a time limit: their crash or hang is an error here, and no more."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context
from typing import Any

from cluster.errors import first_line

LIMIT_SECONDS = 600.0
"""A machine that compiles the kernels of a game needs minutes the first time."""


class ProbeError(RuntimeError):
    """What broke a probe, in one line."""


@dataclass(frozen=True)
class Peers:
    """One process among ``size`` that do the same work at once."""

    rank: int
    size: int
    barrier: Any
    """A ``multiprocessing.Barrier`` of all of them."""
    messages: Any
    """A ``multiprocessing.Queue`` from one to another."""


def isolated(
    probe: Callable[..., Any], *arguments: Any, count: int = 1, limit: float = LIMIT_SECONDS
) -> list[dict[str, Any]]:
    """What ``probe(peers, *arguments)`` returns in each of ``count`` processes at once. ``ProbeError`` as soon as one
    raises or dies, or when ``limit`` seconds are over; the others are killed."""
    context, running, results = get_context("spawn"), dict[Any, Any](), dict[Any, dict[str, Any]]()
    shared, deadline = (context.Barrier(count), context.Queue()), time.monotonic() + limit
    try:
        for rank in range(count):
            ours, theirs = context.Pipe(duplex=False)
            running[ours] = context.Process(
                target=_answer, args=(theirs, probe, Peers(rank, count, *shared), arguments)
            )
            running[ours].start()
            theirs.close()  # so that the end of the process ends the connection
        while len(results) < count:
            ready = connection.wait(running.keys() - results.keys(), max(deadline - time.monotonic(), 0.0))
            if not ready:
                raise ProbeError(f"hangs: no answer within {limit:g} s")
            results |= {end: _received(end, running[end]) for end in ready}
        return [results[end] for end in running]
    finally:
        for process in running.values():
            process.kill()
            process.join()


def _received(end: Any, process: Any) -> dict[str, Any]:
    try:
        found = end.recv()
    except EOFError:
        process.join()
        code = process.exitcode
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        raise ProbeError(f"crashed ({how}); what it said stands above") from None
    if isinstance(found, str):
        raise ProbeError(found)
    return dict(found)


def _answer(theirs: Any, probe: Callable[..., Any], peers: Peers, arguments: Sequence[Any]) -> None:
    try:
        theirs.send(probe(peers, *arguments))
    except Exception as error:
        theirs.send(f"{type(error).__name__}: {first_line(error)}")
