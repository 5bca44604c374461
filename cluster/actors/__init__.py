"""Ray: connecting to it, its actors, and the stages of a command. Settings that Ray reads when it is imported."""

import os

os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # no traceback of a failed task whose result nobody wants
os.environ.setdefault(
    "RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died or was killed while executing"
)  # the pool logs a line
