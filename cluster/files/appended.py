"""Text files of a run directory that grow by lines while a run lives."""

from pathlib import Path

from cluster.files import storage, uris


class AppendedText:
    """A file that lines are appended to; existing lines stay.

    On a local disk a line is in the file once it has been added. Behind a URI files cannot grow: lines are kept in
    memory and ``flush`` writes the whole file anew, damaged bytes as they were.
    """

    def __init__(self, path: str) -> None:
        """Make no file before the first line. End a last line that was cut short, as by a full disk."""
        self._path = path
        self._lines: list[str] | None = None
        """A file behind a URI."""
        before = storage.read_text(path, "surrogateescape") if storage.exists(path) else ""
        if uris.is_remote(path):
            self._lines = before.splitlines()
            return
        self._local = Path(uris.resolve(path)[1])
        if before and not before.endswith("\n"):
            self.add("")

    def add(self, line: str) -> None:
        """Add a line, or several."""
        if self._lines is not None:
            self._lines.append(line)
            return
        self._local.parent.mkdir(parents=True, exist_ok=True)
        with self._local.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def flush(self) -> None:
        """Make everything added so far visible to readers."""
        if self._lines:
            text = "".join(f"{line}\n" for line in self._lines)
            storage.write_bytes_atomic(self._path, text.encode(errors="surrogateescape"))
