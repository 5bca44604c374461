"""Timings against named peers. Their threads wait as those of the commands do."""

from cluster.threads import let_threads_sleep

let_threads_sleep()  # before any benchmark loads torch
