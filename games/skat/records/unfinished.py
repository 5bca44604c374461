"""Files that have their name only once they are finished."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def unfinished(path: Path) -> Iterator[TextIO]:
    """A text file to write, called ``<path>.partial`` until it is on the disk; removed where writing it fails."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
