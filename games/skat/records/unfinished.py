"""Files that have their name only once they are finished."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def unfinished(path: Path) -> Iterator[TextIO]:
    """A text file to write, called ``<path>.partial`` until it is on the disk; removed where writing it fails. A device
    or pipe is written as it is."""
    special = path.exists() and not path.is_file()
    partial = path if special else path.with_name(path.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            yield file
            file.flush()
            if not special:
                os.fsync(file.fileno())
        if not special:
            partial.replace(path)
    except BaseException:
        if not special:
            partial.unlink(missing_ok=True)
        raise
