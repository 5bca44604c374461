"""Timings against named peers. They run with the settings of threads that the commands have, see ``learner``."""

import learner  # noqa: F401  before torch: says how its threads wait
