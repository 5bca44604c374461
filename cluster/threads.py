"""How OpenMP's threads, which torch uses on a CPU, wait for each other."""

import os

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
"""Environment variables for it, read once when torch is loaded."""


def let_threads_sleep() -> None:
    """Let waiting threads of this process and its children spin for some ten microseconds, then sleep, unless the
    environment sets something else. Call it before torch is loaded.

    By default they spin for milliseconds, which makes every process on a shared machine several times slower; threads
    that sleep at once take longer to wake than most loops here take to run (docs/performance.md).
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
