"""Model, queries, training."""

import os

# Read once, when torch loads its OpenMP. Left alone, threads spin for milliseconds while they wait, which makes every
# process on a shared machine several times slower; put to sleep at once, they take longer to wake than most loops here
# take to run. So they spin for some ten microseconds (docs/performance.md).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
