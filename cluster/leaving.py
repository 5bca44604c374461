"""Whether this machine is about to go: a pod that is ended, a spot machine that is taken back.

Whoever hears of it creates the file that ``KIBITZ_LEAVING`` names (docs/operations.md). Ray tells actors nothing: what
it knows of nodes that drain is private, but for functions of Ray Train inside its own workers.
"""

import os
from pathlib import Path

VARIABLE = "KIBITZ_LEAVING"


def leaving() -> bool:
    """Whether the file is there, which a local disk answers in microseconds; False where the variable names none."""
    file = os.environ.get(VARIABLE, "")
    return file != "" and Path(file).exists()
