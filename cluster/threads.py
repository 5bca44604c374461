"""How OpenMP's threads wait for each other, which is torch's on a CPU."""

import os

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
"""Environment variables that say how, read once when torch is loaded."""


def let_threads_sleep() -> None:
    """Let threads of this process and those below it spin for some ten microseconds while they wait, then sleep; unless
    the environment says something else. To be called before torch is loaded.

    Left alone they spin for milliseconds, which makes every process on a shared machine several times slower; put to
    sleep at once, they take longer to wake than most loops here take to run (docs/performance.md).
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
