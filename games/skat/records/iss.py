"""Records of the International Skat Server, one deal per line, as the actions of our rules.

A record is ``(;KEY[value]KEY[value]...;)``. ``MV`` holds pairs of actor and move: the deal, the calls, ``s`` for the
pickup, the declaration with the discards behind it or in a move of their own, and the cards. ``R`` is the result.
"""

import re
import string
from dataclasses import dataclass, field

import numpy as np

from cluster.foreign import shown
from games.skat.cards import (
    FIRST_BID,
    FIRST_GAME,
    FIRST_MODIFIER,
    HAND,
    HOLD,
    NULL,
    OUVERT,
    PASS,
    PICKUP,
    PLAIN,
    RANKS,
    SCHNEIDER,
    SCHWARZ,
    SUITS,
    card_id,
)
from games.skat.records.splitting import LONGEST
from games.skat.values import BIDS

_KEY_LETTERS = string.ascii_uppercase + string.digits
_CARDS = {suit + rank: card_id(suit + rank) for suit in SUITS for rank in RANKS}
GAME_LETTERS = "DHSCGN"
"""What the server calls ``games.skat.cards.GAMES``."""
_DECLARATION = re.compile(rf"([{GAME_LETTERS}])([OHSZ]*)((?:\.[A-Z0-9?]{{2}})*)")
_BID_TOKENS = {str(bid): FIRST_BID + place for place, bid in enumerate(BIDS)}


class FormatError(ValueError):
    """A line that is no record at all."""


@dataclass
class Record:
    """One deal as it was recorded."""

    id: str
    """The server's number of the deal, as a terminal can show it; unique for one server only."""
    hands: np.ndarray
    """``int64[3]``: the cards dealt to each seat, as sets."""
    seats: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    """Who did what, in the order of our rules: of the two discards the lower card first, then game and modifier."""
    resigned: set[int] = field(default_factory=set)
    """Seats that gave up; play goes on unless both defenders do."""
    gone: int = -1
    """Seat that left or ran out of time; the record ends there."""
    undecided: bool = False
    """Whether it ends between the declaration and the discards."""
    ratings: tuple[float, ...] = ()
    """One for each of the three players; empty where one has none."""
    names: tuple[str, ...] = ()
    """One for each of the three players."""
    day: str = ""
    """When it was played, the first ten letters of its date: ``YYYY-MM-DD`` on the server."""
    unreadable: str = ""
    """The first move that means nothing where it stands, if there is one; what follows it is left out."""
    result: dict[str, str] = field(default_factory=dict)
    """The items of the result by name; ``end`` is ``passed``, ``win``, ``loss`` or ``penalty``."""

    def add(self, seat: int, *tokens: int) -> None:
        """One seat acts."""
        self.seats += [seat] * len(tokens)
        self.tokens += tokens


def read(line: str) -> Record:
    """The record on a line; ``FormatError`` for anything else."""
    if len(line) >= LONGEST:
        raise FormatError(f"not a record: longer than {LONGEST} characters")
    keys = _values(line) if line.startswith("(;") and line.rstrip().endswith(";)") else {}
    if keys.get("GM") != "Skat":
        raise FormatError("not a record: a line reads (;GM[Skat]...MV[...]R[...];)")
    if "MV" not in keys or "R" not in keys:
        raise FormatError("not a record: the moves MV or the result R are missing")
    words = keys["MV"].split()
    if len(words) < 2 or len(words) % 2 != 0 or words[0] != "w":
        raise FormatError("not a record: the moves are not a deal and pairs of actor and move")
    cards = words[1].split(".")
    if len(cards) != 32 or set(cards) != _CARDS.keys():
        raise FormatError("not a record: the deal is not the 32 cards")
    ids = [_CARDS[card] for card in cards]
    record = Record(
        shown(keys.get("ID", "?")), np.array([sum(1 << card for card in ids[n : n + 10]) for n in (0, 10, 20)])
    )
    record.result = _result(keys["R"])
    record.ratings = _ratings([keys.get(f"R{seat}", "") for seat in range(3)])
    record.names = tuple(keys.get(f"P{seat}", "") for seat in range(3))
    record.day = keys.get("DT", "")[:10]
    _Moves(record, {ids[30], ids[31]}).take(list(zip(words[2::2], words[3::2], strict=True)))
    return record


def _values(text: str) -> dict[str, str]:
    """Key -> value, which goes on to the next closing bracket. Looks at every letter once: texts come from anywhere."""
    found, end = dict[str, str](), 0
    while (opened := text.find("[", end)) >= 0:
        before, end = text[end:opened], opened + 1
        if key := before[len(before.rstrip(_KEY_LETTERS)) :].lstrip(string.digits):
            if (closed := text.find("]", end)) < 0:
                break
            found[key], end = text[end:closed], closed + 1
    return found


def _result(text: str) -> dict[str, str]:
    items = {}
    for word in text.split():
        name, colon, value = word.partition(":")
        if colon:
            items[name] = value
        else:
            items["bid" if word in ("bidok", "overbid") else "end"] = word
    if items.get("end") != "passed" and not ("end" in items and re.fullmatch(r"-?\d+", items.get("d", ""))):
        raise FormatError("not a record: the result is neither 'passed' nor has a declarer and an end")
    return items


def _ratings(texts: list[str]) -> tuple[float, ...]:
    try:
        return tuple(float(text) for text in texts)
    except ValueError:  # empty, or "null"
        return ()


class _Moves:
    """Turns moves into actions, one after the other."""

    def __init__(self, record: Record, talon: set[int]) -> None:
        self.record, self.talon = record, talon
        self.picked_up = self.declared = False
        self.pending: tuple[int, ...] = ()  # declared, with the discards to come: tokens of game and modifier

    def take(self, moves: list[tuple[str, str]]) -> None:
        """All moves behind the deal."""
        for number, (actor, move) in enumerate(moves, start=1):
            try:
                known = self._of_the_world(move) if actor == "w" else self._of_a_seat("012".index(actor), move)
            except (ValueError, KeyError):  # no seat, no card, too many discards
                known = False
            if not known:
                self.record.unreadable = f"move {number}: {shown(actor)} {shown(move)} means nothing here"
            if not known or self.record.gone >= 0:
                break
        self.record.undecided = bool(self.pending)

    def _of_the_world(self, move: str) -> bool:
        """Who left or ran out of time, or the talon that was picked up."""
        if move[:3] in ("TI.", "LE."):
            self.record.gone = int(move[3:])
            return self.record.gone in (0, 1, 2)
        return self.picked_up and {_CARDS[card] for card in move.split(".")} == self.talon

    def _of_a_seat(self, seat: int, move: str) -> bool:
        add = self.record.add
        if move in _CARDS and self.declared and not self.pending:
            add(seat, _CARDS[move])
        elif move == "RE":
            self.record.resigned.add(seat)
        elif move == "SC" or move.startswith("SC.") or move == "??":
            pass  # shown cards change nothing; an unknown card comes before a player leaves
        elif self.pending:
            self._discard(seat, [_CARDS[card] for card in move.split(".")])
        elif move in ("p", "y"):
            add(seat, PASS if move == "p" else HOLD)
        elif move in _BID_TOKENS:  # once both others have passed, forehand has one bid in our rules, whatever it says
            add(seat, FIRST_BID if self.record.tokens == [PASS, PASS] else _BID_TOKENS[move])
        elif move == "s":
            self.picked_up = True
            add(seat, PICKUP)
        else:
            return not self.declared and self._declare(seat, move)
        return True

    def _declare(self, seat: int, move: str) -> bool:
        """Game, modifiers in any order, and the discards if they stand behind it; shown cards follow them."""
        parts = _DECLARATION.fullmatch(move)
        if parts is None:
            return False
        game, said = GAME_LETTERS.index(parts[1]), parts[2]
        cards = [_CARDS[card] for card in parts[3].split(".")[1:]]
        modifier = next(level for sign, level in _LEVELS if sign in said)
        if game == NULL and modifier not in (PLAIN, OUVERT):
            return False
        by_hand = "H" in said or (game != NULL and modifier == OUVERT)
        if by_hand == self.picked_up or (self.picked_up and game != NULL and modifier != PLAIN):
            return False
        self.declared = True
        tokens = [FIRST_GAME + game, FIRST_MODIFIER + modifier]
        if by_hand:
            self.record.add(seat, HAND, *tokens)
            return True
        self.pending = tuple(tokens if game == NULL else tokens[:1])
        if cards:
            self._discard(seat, cards[:2])
        return True

    def _discard(self, seat: int, cards: list[int]) -> None:
        low, high = sorted(cards)
        self.record.add(seat, low, high, *self.pending)
        self.pending = ()


_LEVELS = (("O", OUVERT), ("Z", SCHWARZ), ("S", SCHNEIDER), ("", PLAIN))
