"""Networks: their shapes, how they learn, and how they are asked."""

import os

# OpenMP's threads spin for milliseconds while they wait, and beside other processes a decision then takes ten times as
# long; those that sleep at once wake later than most loops here take. It is read once, when torch is loaded, and
# whatever loads torch here or above imports this package first (docs/performance.md).
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
