"""Log files: what they hold, and what happens where there can be none."""

import logging
from pathlib import Path

import pytest

from cluster.errors import UserError
from cluster.watching import logs

log = logging.getLogger("somewhere")


class Worker:
    @logs.logged("shard {0}")
    def play(self, shard: int) -> int:
        """Fails for shard 0."""
        return 100 // shard


def test_a_log_says_what_was_done_how_long_it_took_and_why_it_failed(tmp_path: Path) -> None:
    path = tmp_path / "logs/driver.log"
    with pytest.raises(ZeroDivisionError), logs.kept(str(path)):
        log.warning("an actor died")
        Worker().play(3)
        Worker().play(0)
    text = path.read_text()
    assert "WARNING somewhere: an actor died" in text and f"{__name__}: shard 3: done in 0.0 s" in text
    assert "shard 0: failed after 0.0 s\nTraceback" in text and "return 100 // shard\n" in text
    assert text.count("Traceback") == 2 and "failed\nTraceback" in text, "of the item and of the command"


def test_a_log_is_appended_to_and_says_how_commands_ended(tmp_path: Path) -> None:
    path = tmp_path / "driver.log"
    with pytest.raises(UserError), logs.kept(str(path)):
        raise UserError("no room")
    with pytest.raises(SystemExit), logs.kept(str(path)):
        raise SystemExit(143)
    with logs.kept(str(path)):
        pass
    log.warning("after the end")
    ends = [line.partition("cluster.watching.logs: ")[2] for line in path.read_text().splitlines()]
    assert ends[1::2] == ["error: no room", "ended by SystemExit", "done"] and len(ends) == 6


def test_a_log_that_cannot_be_written_is_told_once_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("in the way")
    with logs.kept(str(tmp_path / "logs/driver.log")):
        log.warning("one")
        log.warning("two")
    assert capsys.readouterr().err.count("driver.log gets no more lines: ") == 1
