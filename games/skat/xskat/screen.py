"""An XSkat process on two hidden displays: read what it shows, and send it clicks.

The program is the installed one, unchanged. ``display.c``, built with the C compiler when it is first needed,
stands in for the display, for waiting and for the time of day, so that a deal takes milliseconds and comes out the same
whenever it is played.
"""

import os
import shutil
import subprocess
import tempfile
from collections import deque
from functools import cache
from pathlib import Path

from games.skat.cards import RANKS
from games.skat.xskat.program import XSkatError, program

_RANKS = "ATKQJ987"
"""The order in which XSkat counts the cards of a suit; the suits are in ours."""
CARD_ORDER = [suit * 8 + RANKS.index(rank) for suit in range(4) for rank in _RANKS]
"""XSkat's number of a card -> ours."""

_LIBRARY = "display.so"

# Where things are on XSkat's small table of 640 x 400 points.
_CARD_WIDTH = 64
_HAND_Y, _TRICK_X, _SKAT_X, _MIDDLE_Y = 304, 224, 256, 145
_YES, _NO, _DONE = (286, 260), (350, 260), (316, 260)
_BOX_X, _BOX_Y = range(_SKAT_X, 330), range(255, 280)
_CALL_X, _CALL_Y = range(500, 580), range(100, 135)
_CAPTION_X, _CAPTION_Y = range(440, 640), range(155, 200)


class XSkatScreen:
    """Two people, 0 and 1, play one deal with the computer, which is player 2."""

    def __init__(self, deal: str, dealer: int) -> None:
        """``deal`` as XSkat's ``-game`` reads it; ``dealer``: which player deals. ``XSkatError`` without XSkat."""
        self.calls: deque[str] = deque()
        """Calls of the computer not consumed yet: ``Pass``, ``Yes``, or a bid."""
        self.caption: list[str] = []
        """Texts below the computer's name, in order: its place at the table, finally the game it plays."""
        self.played: list[int] = []
        """All cards played, in order."""
        self.box = ["", ""]
        """What each person can click to say: a bid, or ``Yes``."""
        self.skat = [-1, -1]
        """The two cards in the middle while a person discards."""
        self._buttons: list[dict[str, int]] = [{}, {}]
        self._places: list[dict[int, int]] = [{}, {}]
        library, path = display_library(), program()  # what can fail does so before there is anything to clean up
        self._directory = tempfile.TemporaryDirectory(prefix="xskat-")
        self._process = _start(path, library, Path(self._directory.name), deal, dealer)
        self._until_idle()
        while "Continue" in self._buttons[0]:
            self.press(0, "Continue")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._directory.cleanup()

    def log(self) -> str:
        """The log of the deal, which must be over."""
        path = Path(self._directory.name) / "log"
        if not path.exists():
            raise XSkatError("xskat wrote no log of a deal that is over")
        return path.read_text(encoding="latin-1")

    # ---- clicks

    def say(self, person: int, yes: bool) -> None:
        """Click what stands in the box, or pass."""
        self._click(person, *(_YES if yes else _NO))

    def discard(self, person: int, wanted: list[int]) -> None:
        """Change cards of the hand for those in the middle until the two wanted lie there. Clicked cards change places
        with the left and the right one in turn."""
        missing = [card for card in wanted if card not in self.skat]
        left_again = [self.skat[0]] if missing and self.skat[0] in wanted else []
        for card in missing + left_again:
            self.click_card(person, card)
        self._click(person, *_DONE)

    def click_card(self, person: int, card: int) -> None:
        """Click a card of the hand."""
        self._click(person, self._places[person][card] * _CARD_WIDTH + 10, _HAND_Y + 10)

    def press(self, person: int, label: str) -> None:
        """Press a button of the dialog that is shown."""
        window = self._buttons[person].get(label)
        if window is None:
            raise XSkatError(f"xskat shows no button {label!r}, only {', '.join(self._buttons[person])}")
        self._click(person, 1, 1, window)
        if self._buttons[person][label] == window:  # it was written once more as it was pressed
            del self._buttons[person][label]

    def _click(self, person: int, x: int, y: int, window: int = 0) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{person} {window} {x} {y}\n")
        self._process.stdin.flush()
        self._until_idle()

    # ---- what is shown

    def _until_idle(self) -> None:
        """Read on until XSkat waits for a person."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            kind, *words = line.rstrip("\n").split(" ", 5)
            if kind == "idle":
                return
            first, second, x, y = (int(word) for word in words[:4])
            if kind == "card":
                self._see_card(first, second, x, y)
            elif len(words) == 5 and words[4].strip():
                self._see_text(first, second, x, y, words[4].strip())
        raise XSkatError("xskat ended in the middle of a deal")

    def _see_card(self, person: int, number: int, x: int, y: int) -> None:
        if number == 0:  # a back
            return
        card = CARD_ORDER[number - 1]
        if y == _HAND_Y:
            self._places[person][card] = x // _CARD_WIDTH
        elif y == _MIDDLE_Y and (x - _SKAT_X) % _CARD_WIDTH == 0:
            self.skat[(x - _SKAT_X) // _CARD_WIDTH] = card
        elif y == _MIDDLE_Y and (x - _TRICK_X) % _CARD_WIDTH == 0 and person == 0:
            self.played.append(card)

    def _see_text(self, person: int, window: int, x: int, y: int, text: str) -> None:
        if window != 0:
            self._buttons[person][text] = window
        elif x in _BOX_X and y in _BOX_Y:
            self.box[person] = text
        elif person == 0 and x in _CALL_X and y in _CALL_Y:
            self.calls.append(text)
        elif person == 0 and x in _CAPTION_X and y in _CAPTION_Y:
            self.caption.append(text)


def _start(path: str, library: Path, directory: Path, deal: str, dealer: int) -> "subprocess.Popen[str]":
    (directory / "deal").write_text(deal)
    command = [path, "-display", "0", "1", "-fastdeal", "-noshortcut", "-unfmt", "-lang", "english"]
    command += ["-start", str(dealer + 1), "-game", str(directory / "deal")]
    for name in ("log", "list", "opt"):
        command += [f"-{name}", str(directory / name)]
    settings = {"HOME": str(directory), "PATH": os.environ.get("PATH", ""), "LD_PRELOAD": str(library)}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="latin-1", env=settings
    )


def display_library() -> Path:
    """The library that stands in for a display, built once a process and removed at its end."""
    return Path(_built().name) / _LIBRARY


@cache
def _built() -> "tempfile.TemporaryDirectory[str]":
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise XSkatError("there is no C compiler to build XSkat's display with; apt-get install gcc libx11-dev")
    directory = tempfile.TemporaryDirectory(prefix="xskat-display-")
    library = Path(directory.name) / _LIBRARY
    source = Path(__file__).with_name("display.c")
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode != 0:
        reason = (built.stderr.strip() or "no reason given").splitlines()[0]
        raise XSkatError(f"XSkat's display cannot be built (apt-get install libx11-dev): {reason}")
    return directory
