"""What grows with a cluster: ``make scale``, or ``python -m tests.scale [--full] [GROUP ...]``, all groups without any.

Object storage is moto's server on this machine, behind a line that takes 30 ms for every request and as much again for
a new connection (``tests.storage.slow_line``). The naive way beside it makes a client for every question, asks one
after the other, and copies whole directories for each process.

* ``objects``: ``between_stages``, seconds from the last shard to the first step: which shards are there, whether they
  are the right ones, their digest, all rows. 400 shards (``--full``: 8,000); the naive way is measured on 20 and
  multiplied. ``shard_written``, ``shard_read``, ``part_written``, ``checkpoint_written``: requests.
  ``network_to_8_processes``: bytes fetched, in multiples of the network's weights.
* ``pool``: items a second by a pool of 1,000 places for which the cluster has room for four, whose items take a
  tenth of a second each, against the 40 that are possible; and where the driver shares its core with a process that is
  never idle.
* ``roles``: two groups of machines that are pretended, with labels and without: how long the learner waits, and how
  many of 16 generators play while it trains (``tests.scale.roles``).
* ``idle``: share of the time that the GPUs of a pretended node of eight have nothing to do (``tests.scale.idle``).
* ``paper``: ``experiment=hearts_paper`` with 1,000 generators on paper (``tests.scale.paper``), 100 without ``--full``.
"""

import argparse

from benchmarks.report import report
from tests.scale import idle, objects, paper, pool, roles

GROUPS = {one.__name__.rpartition(".")[2]: one.cases for one in (objects, pool, roles, idle, paper)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--full", action="store_true", help="8,000 shards, and all of the paper's run")
    given = parser.parse_args()
    report([case for name in given.groups or GROUPS for case in GROUPS[name](given.full)])


if __name__ == "__main__":
    main()
