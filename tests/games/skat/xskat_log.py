"""A reader of what XSkat, a program of others, wrote of deals that it played against itself (``-log FILE -unfmt``).

A deal has a row for every trick, a column for every player: the winner's card in capitals, ``_`` behind the suit that
was led where another player won, no capitals where nothing was played any more; a lost null may have no more rows. Then
come the hands that were played, ``Skat is`` (the discards) and ``Skat was`` (the talon), the bid, the game and the
result. The log holds the last bid of the auction alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from games.skat.cards import (
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
    SEATS,
    VOCABULARY,
    card_id,
)  # fmt: skip
from games.skat.replay import new_state, replay
from games.skat.state import result_of
from games.skat.values import BIDS

_SUITS = {"diamond": "D", "heart": "H", "spade": "S", "club": "C"}
_CARD = re.compile(r"(Diamond|Heart|Spade|Club)([ _])(10|[AKQJ789])", re.IGNORECASE)
_MODIFIERS = {"ouvert": OUVERT, "schwarz": SCHWARZ, "schneider": SCHNEIDER}


@dataclass(frozen=True)
class Played:
    """One deal of a log; seats are forehand, middlehand, rearhand."""

    hands: np.ndarray
    """``int64[3]``: the cards dealt to each seat, as sets."""
    seats: list[int]
    tokens: list[int]
    """Seats and actions in the order of our rules, with the shortest auction that ends in the bid."""
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
    """One deal of a log."""
    _, first, second, end = re.split(r"^-{4}.*\n", deal, flags=re.MULTILINE)
    passes = re.search(r"^.*_Pass_.*$", first, re.MULTILINE)
    rows = [_row(line) for line in (second if passes else first).splitlines()]
    held = rows if len(rows) == 10 else [_row(line) for line in second.splitlines()]
    columns = [sum(1 << row.cards[player] for row in held) for player in range(3)]
    if passes:
        forehand = passes[0].split().index("_Pass_")
        hands = np.array([columns[(forehand + seat) % 3] for seat in range(3)], np.int64)
        return Played(hands, [1, 2, 0], [PASS] * 3, -1, False, 0, 0)
    return _with_soloist(rows, columns, end)


@dataclass(frozen=True)
class _Row:
    cards: list[int]
    leader: int
    """-1 where nothing was played any more."""
    winner: int


def _row(line: str) -> _Row:
    cards = _CARD.findall(line)
    assert len(cards) == 3, line
    winner = next((player for player, (suit, _, _) in enumerate(cards) if suit.isupper()), -1)
    leader = next((player for player, (_, mark, _) in enumerate(cards) if mark == "_"), winner)
    return _Row([_card(suit, rank) for suit, _, rank in cards], leader if winner >= 0 else -1, winner)


def _card(suit: str, rank: str) -> int:
    return card_id(_SUITS[suit.lower()] + rank.replace("10", "T"))


def _with_soloist(rows: list[_Row], columns: list[int], text: str) -> Played:
    number, game = re.findall(r"Computer([123]) played (\w+)", text)[0]
    asides = {
        name: sorted(_card(suit, rank) for suit, _, rank in _CARD.findall(cards))
        for name, cards in re.findall(r"^Skat (is|was): (.*)$", text, re.MULTILINE)
    }
    bid = int(re.findall(r"^Last bid: (\d+)", text, re.MULTILINE)[0])
    result, points = re.findall(r"(Won|Lost)(?: with: (\d+) points)?", text)[0]
    announced = next((line for line in text.splitlines() if line.startswith("Played ")), "")
    player, first = int(number) - 1, rows[0].leader
    soloist = (player - first) % 3
    columns[player] |= sum(1 << card for card in asides["is"])
    columns[player] &= ~sum(1 << card for card in asides.get("was", asides["is"]))
    seats, tokens = _auction(soloist, FIRST_BID + int(np.searchsorted(BIDS, bid)))
    game = game.lower() if game.lower() in GAMES else game.lower() + "s"
    declared = _declaration(game, announced, asides["is"])
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
    return Played(hands, seats, tokens, soloist, result == "Won", int(points or -1), tricks)


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


def differences(deal: Played, value: int) -> list[str]:
    """What XSkat and the replay of a deal by our rules disagree in; ``value`` is that of its list of games."""
    state = new_state()
    refused = replay(state, deal.hands, np.array(deal.seats, np.int64), np.array(deal.tokens, np.int64))
    if refused >= 0:
        what = f"{VOCABULARY.name(deal.tokens[refused])} by {SEATS[deal.seats[refused]]}"
        return [f"action {refused + 1}: {what} is not legal, or not its turn"]
    public = state["public"]
    if deal.soloist < 0:
        return [] if public["turn"] < 0 and not value else ["XSkat has all pass, the replay not"]
    if public["turn"] >= 0 and public["game"] != NULL:
        return [f"XSkat ends the deal after {public['num_played']} cards"]
    won, worth, _, _, points = result_of(state)
    pairs = [
        ("soloist", deal.soloist, int(public["soloist"])),
        ("won", deal.won, bool(won)),
        ("tricks", deal.tricks, int(public["tricks"][public["soloist"]])),
        ("value", value, int(worth if won else -2 * worth)),
    ]
    if deal.points >= 0:
        pairs.append(("card points", deal.points, int(points)))
    return [f"{what}: XSkat says {theirs}, the replay {ours}" for what, theirs, ours in pairs if theirs != ours]
