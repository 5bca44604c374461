"""What opponents cost on one core: ``python -m benchmarks.opponents [--full]``.

UCT in worlds of Hearts (``benchmarks.uct``) and Skat's open-hand solver (``benchmarks.skat_solver``).
"""

import argparse

from benchmarks import skat_solver, uct
from benchmarks.report import report


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="four times as many decisions and deals")
    scale = 4 if parser.parse_args().full else 1
    report([*uct.cases(16 * scale), *skat_solver.cases(100 * scale)])


if __name__ == "__main__":
    main()
