"""Model, queries, training."""

import os

# Read once, when torch loads its OpenMP: threads that spin while they wait make every process on a shared machine
# several times slower, and cost nothing to put to sleep.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
