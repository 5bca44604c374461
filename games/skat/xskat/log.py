"""What XSkat writes of the deals it has played: its log (``xskat -log FILE -unfmt``) and its list (``-list FILE``).

A deal of the log has a row for every trick, a column for every player: the winner's card in capitals, ``_`` behind the
suit that was led where another player won, no capitals where nothing was played any more; a lost null may have no more
rows. Then come the hands that were played, ``Skat is`` (the discards) and ``Skat was`` (the talon), the bid, the game
and the result. The log holds the last bid of the auction alone. The list has the value of every deal, doubled where it
was lost.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from games.skat.cards import (
    ALL_CARDS,
    FIRST_BID,
    FIRST_GAME,
    FIRST_MODIFIER,
    GAMES,
    HAND,
    HOLD,
    NULL,
    OUVERT,
    PASS,
    PICKUP,
    PLAIN,
    SCHNEIDER,
    SCHWARZ,
    card_id,
)
from games.skat.records.iss import FormatError
from games.skat.values import BIDS

_SUITS = {"diamond": "D", "heart": "H", "spade": "S", "club": "C"}
_CARD = re.compile(r"(Diamond|Heart|Spade|Club)([ _])(10|[AKQJ789])", re.IGNORECASE)
_PLAYED = re.compile(r"Computer([123]) played (Diamond|Heart|Spade|Club|Grand|Null)")
_RESULT = re.compile(r"(Won|Lost)(?: with: (\d+) points)?")
_MODIFIERS = {"ouvert": OUVERT, "schwarz": SCHWARZ, "schneider": SCHNEIDER}


@dataclass(frozen=True)
class Played:
    """One deal of a log; seats are forehand, middlehand, rearhand."""

    hands: np.ndarray
    """``int64[3]``: the cards dealt to each seat, as sets."""
    seats: list[int]
    tokens: list[int]
    """Seats and actions in the order of our rules. The log holds the auction's end alone; the shortest one is used."""
    soloist: int
    """-1 where all passed."""
    won: bool
    points: int
    """Card points of the soloist; -1 in null, where the log has none."""
    tricks: int
    """Tricks of the soloist."""


def split_log(text: str) -> Iterator[str]:
    """The deals of a log, each as its lines."""
    yield from (part for part in re.split(r"^=+\n", text, flags=re.MULTILINE) if part.strip())


def parse(deal: str) -> Played:
    """One deal of a log; ``FormatError`` for anything else."""
    tables = re.split(r"^-{4}.*\n", deal, flags=re.MULTILINE)
    if len(tables) != 4:
        raise FormatError("no deal of an XSkat log: tricks, hands and result are to stand between dashes")
    passes = re.search(r"^.*(?<!\S)_Pass_(?!\S).*$", tables[1], re.MULTILINE)
    rows = [_row(line) for line in tables[2 if passes else 1].splitlines()]
    asides: dict[str, str] = dict(re.findall(r"^Skat (is|was): (.*)$", tables[3], re.MULTILINE))
    discards = _aside(asides.get("is", ""))
    talon = _aside(asides["was"]) if "was" in asides else discards
    held = rows if len(rows) == 10 else [_row(line) for line in tables[2].splitlines()]
    columns = [sum(1 << row.cards[player] for row in held) for player in range(3)]
    everything = sum(columns) + sum(1 << card for card in discards)
    if not rows or len(held) != 10 or len(discards) != 2 or everything != ALL_CARDS:
        raise FormatError("no deal of an XSkat log: the ten rows and the skat are not the 32 cards")
    if passes:
        first = passes[0].split().index("_Pass_")
        hands = np.array([columns[(first + seat) % 3] for seat in range(3)], np.int64)
        return Played(hands, [1, 2, 0], [PASS] * 3, -1, False, 0, 0)
    played = _PLAYED.search(tables[3])
    if played is None:
        raise FormatError("no deal of an XSkat log: neither passed nor played")
    return _with_soloist(int(played[1]) - 1, played[2].lower(), rows, columns, talon, discards, tables[3])


@dataclass(frozen=True)
class _Row:
    cards: list[int]
    leader: int
    """-1 where nothing was played any more."""
    winner: int


def _row(line: str) -> _Row:
    cards = _CARD.findall(line)
    if len(cards) != 3:
        raise FormatError(f"no deal of an XSkat log: {line.strip()!r} is no row of three cards")
    winner = next((player for player, (suit, _, _) in enumerate(cards) if suit.isupper()), -1)
    leader = next((player for player, (_, mark, _) in enumerate(cards) if mark == "_"), winner)
    return _Row([_card(suit, rank) for suit, _, rank in cards], leader if winner >= 0 else -1, winner)


def _card(suit: str, rank: str) -> int:
    return card_id(_SUITS[suit.lower()] + rank.replace("10", "T"))


def _aside(text: str) -> list[int]:
    return sorted(_card(suit, rank) for suit, _, rank in _CARD.findall(text))


def _with_soloist(
    player: int,
    game: str,
    rows: list[_Row],
    columns: list[int],
    talon: list[int],
    discards: list[int],
    text: str,
) -> Played:
    first = rows[0].leader
    bid, result = re.search(r"^Last bid: (\d+)", text, re.MULTILINE), _RESULT.search(text)
    if first < 0 or bid is None or result is None or int(bid[1]) not in BIDS:
        raise FormatError("no deal of an XSkat log: the first trick, the last bid or the result is missing")
    soloist = (player - first) % 3
    announced = next((line for line in text.splitlines() if line.startswith("Played ")), "")
    columns[player] |= sum(1 << card for card in discards)
    if any(columns[player] >> card & 1 == 0 for card in talon):
        raise FormatError("no deal of an XSkat log: the talon is not among the soloist's twelve cards")
    columns[player] &= ~sum(1 << card for card in talon)
    seats, tokens = _auction(soloist, FIRST_BID + int(np.searchsorted(BIDS, int(bid[1]))))
    declared = _declaration(game if game in GAMES else game + "s", announced, discards)
    seats += [soloist] * len(declared)
    tokens += declared
    tricks = 0
    for row in rows:
        if row.winner < 0:
            break
        tricks += row.winner == player
        for place in range(3):
            seats.append((row.leader + place - first) % 3)
            tokens.append(row.cards[(row.leader + place) % 3])
    hands = np.array([columns[(first + seat) % 3] for seat in range(3)], np.int64)
    points = int(result[2]) if result[2] else -1
    return Played(hands, seats, tokens, soloist, result[1] == "Won", points, tricks)


def _auction(soloist: int, bid: int) -> tuple[list[int], list[int]]:
    """The shortest auction that a seat wins at a bid."""
    if soloist == 0:
        if bid == FIRST_BID:
            return [1, 2, 0], [PASS, PASS, bid]
        return [1, 0, 1, 2], [bid, HOLD, PASS, PASS]
    return ([1, 0, 2], [bid, PASS, PASS]) if soloist == 1 else ([1, 2, 0], [PASS, bid, PASS])


def _declaration(game: str, announced: str, discards: list[int]) -> list[int]:
    """Actions from the choice to the modifier; ``announced`` is the line of hand and announcements."""
    number = GAMES.index(game)
    by_hand = "Hand" in announced or ("ouvert" in announced and number != NULL)
    modifier = next((level for word, level in _MODIFIERS.items() if word in announced.lower()), PLAIN)
    named = [FIRST_GAME + number, *([FIRST_MODIFIER + modifier] if by_hand or number == NULL else [])]
    return [HAND, *named] if by_hand else [PICKUP, *discards, *named]


def discards_of(deal: str) -> list[int]:
    """The two cards that lay aside when a deal of the log was played, the lower first."""
    line = re.search(r"^Skat is: (.*)$", deal, re.MULTILINE)
    if line is None:
        raise FormatError("no deal of an XSkat log: the skat is missing")
    return _aside(line[1])
