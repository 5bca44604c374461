"""What lies on the table of a Skat deal as one seat sees it, read from its history alone.

Seats are relative to the observer: 0 itself, 1 the next clockwise, 2 the one behind it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from games.skat.cards import ALL_CARDS, GRAND, HAND_SIZE, NUM_CARDS, RANKS, STRENGTH, SUIT_OF, TRUMP, points_of
from games.skat.game import SkatGame
from games.skat.rules import OVER, result
from games.skat.values import BIDS
from games.skat.view import CALLED, LAID, PLAYED, SHOWN, TALON, TURNED, played, stage_of, twelve_seen
from games.tricks import Trick, in_tricks, turns_of

UTILITY_POINTS = 100
"""Points that a utility of 1 stands for, in every utility of ``games.skat.outcomes``."""
SUITS_IN_HAND = (TRUMP, 3, 1, 2, 0)
"""How people sort a hand: trumps, then clubs, hearts, spades and diamonds, so that the colours alternate."""
_SIGNS = "♦♥♠♣"


@dataclass(frozen=True)
class Result:
    """How the soloist's game ended."""

    won: bool
    value: int
    """Value of the game as scored."""
    overbid: bool
    points: int | None
    """Card points of the soloist, those laid aside included; None where the rules ended the game before the last card,
    and what was laid aside is not known to all."""


@dataclass(frozen=True)
class Table:
    """What the observer knows of the deal, as far as people look at it."""

    place: int
    """The observer's own: 0 forehand, 1 middlehand, 2 rearhand."""
    phase: int
    """One of ``games.skat.rules``'s."""
    turn: int
    """Seat to act, -1 when the deal is over."""
    calls: tuple[tuple[int, int], ...]
    """Seat and token of every call."""
    bid: int
    """Highest value so far, 0 without any."""
    soloist: int
    """-1 where there is none, or not yet."""
    picked_up: bool
    game: int
    """Index of ``games.skat.cards.GAMES``, -1 before the declaration."""
    modifier: int
    """Index of ``games.skat.cards.MODIFIERS``."""
    hand: tuple[int, ...]
    """Cards the observer holds, sorted as people do, like all cards below."""
    talon: tuple[int, ...]
    """Cards it has picked up."""
    laid: tuple[int, ...]
    """Cards it has discarded."""
    open: tuple[int, ...]
    """Cards a soloist who plays open still holds."""
    turned: tuple[int, ...]
    """The soloist's cards and the talon, turned over at the end of a game cut short."""
    tricks: tuple[Trick, ...]
    """All tricks so far; the last may be under way."""
    points: tuple[int, ...]
    """Card points that each seat has won in tricks."""
    result: Result | None
    """None before the end, and where all passed."""


def table_of(game: SkatGame, tokens: np.ndarray) -> Table:
    """The table of a history (token ids ``[T]``, complete or not) that begins with the observer's place; tokens after
    one of a wrong kind are left out."""
    views = game.prefixes(np.asarray(tokens)[None])[0]
    view, public = views[-1], views[-1]["public"]
    own, index = int(view["seat"]), int(public["game"])
    shown = sum(int(cards) for cards in public["shown"])
    return Table(
        place=own,
        phase=int(public["phase"]),
        turn=_relative(public["turn"], own),
        calls=tuple((_relative(seat, own), token) for seat, token, _ in _done(views, tokens, CALLED)),
        bid=int(BIDS[public["bid"]]) if public["bid"] >= 0 else 0,
        soloist=_relative(public["soloist"], own),
        picked_up=bool(public["picked_up"]),
        game=index,
        modifier=int(public["modifier"]),
        hand=_sorted(int(view["hand"]), index),
        talon=_sorted(int(view["talon"]), index),
        laid=_sorted(int(view["laid"]), index),
        open=_sorted(int(view["open"]) & ~shown, index),
        turned=_sorted(int(view["turned"]), index),
        tricks=in_tricks(_done(views, tokens, PLAYED), 3, own),
        points=tuple(int(points_of(public["taken"][(own + seat) % 3])) for seat in range(3)),
        result=_result(view),
    )


def stops(game: SkatGame, tokens: np.ndarray) -> list[int]:
    """Lengths of a history's beginnings (token ids ``[T]``) that are worth a look: the cards dealt, then whatever a
    seat has said or done, with all cards that arrive by it."""
    views = game.prefixes(np.asarray(tokens)[None])[0]
    lengths = range(HAND_SIZE + 1, len(views))
    return [length for length in lengths if _stands(views[length], length)] or [len(tokens)]


def in_hand_order(cards: Iterable[int], game: int = -1) -> tuple[int, ...]:
    """Cards as people hold them, the highest of a suit first; before the declaration as in grand."""
    row = GRAND if game < 0 else game
    return tuple(sorted(cards, key=lambda card: (SUITS_IN_HAND.index(SUIT_OF[row, card]), -STRENGTH[row, card])))


def card_text(card: int) -> str:
    """A card as it is printed on its face, such as ``10♥``."""
    rank = RANKS[card & 7]
    return f"{'10' if rank == 'T' else rank}{_SIGNS[card >> 3]}"


def is_red(card: int) -> bool:
    """Whether hearts or diamonds."""
    return card >> 3 < 2


def group_of(card: int, game: int) -> int:
    """What a card counts as, by which a hand is sorted."""
    return int(SUIT_OF[GRAND if game < 0 else game, card])


def _relative(seat: int, own: int) -> int:
    return int(seat - own) % 3 if seat >= 0 else -1


def _sorted(cards: int, game: int) -> tuple[int, ...]:
    return in_hand_order((card for card in range(NUM_CARDS) if cards >> card & 1), game)


def _stands(view: np.void, length: int) -> bool:
    """Whether all cards that arrive at once have arrived."""
    stage = stage_of(view)
    return int(view["length"]) == length and stage not in (TALON, SHOWN, TURNED) and (stage != LAID or view["due"] == 2)


def _done(views: np.ndarray, tokens: np.ndarray, stage: int) -> list[tuple[int, int, np.void]]:
    return turns_of(views, tokens, lambda view: stage_of(view) == stage)


def _result(view: np.void) -> Result | None:
    public = view["public"]
    if public["phase"] != OVER or public["soloist"] < 0 or view["due"] > 0:
        return None
    left = ALL_CARDS & ~played(view)
    won, value, overbid, _, points = result(public, twelve_seen(view), left)
    return Result(bool(won), int(value), bool(overbid), int(points) if int(left).bit_count() == 2 else None)
