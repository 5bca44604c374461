"""Ray: connecting to it, its actors, and the stages of a command. Settings that Ray reads when it is imported."""

import os

# No traceback of a failed task whose result nobody wants, and no paragraph about a dead worker: the pool logs a line.
os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died or was killed while executing")
