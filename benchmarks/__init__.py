"""Timings against named peers."""

import learner.config  # noqa: F401  before any benchmark loads torch: threads wait as those of the commands do
