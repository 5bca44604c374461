"""What leaving out games that end early does to the rest, measured on games whose end is known.

``cut`` ends some of the games of a file at a drawn card, as people do: a soloist that lost gives up, the defenders of
one that won do. What it prints compares all games with those that a conversion keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from games.rng import derive
from games.skat.cards import GRAND, NULL, PLAIN, points_of
from games.skat.records.agreement import differences
from games.skat.records.files import records_of
from games.skat.records.iss import FormatError, Record, read
from games.skat.records.unfinished import unfinished
from games.skat.records.writing import record_line
from games.skat.replay import new_state, replay
from games.skat.state import aside_of

_KINDS = ("suit", "grand", "null", "passed")


@dataclass(frozen=True)
class _Game:
    kind: str
    won: bool
    cards: int
    """Played in the whole game."""
    kept: int
    """Played before it was cut."""


def cut(path: Path, out: Path, seed: int, share: float, decided: bool) -> list[str]:
    """Write the records of a file with a share of the games cut short; returns the lines of a table.

    Args:
        decided: cut no earlier than one side has the card points to win; nothing else is cut but null. Games with
            announcements, which need more than 61 points, are left whole.

    Raises ``FormatError`` for a line that is no record, and for one that is not of a whole game.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"--share {share}: give a share of 0 to 1")
    if out.exists() and path.exists() and out.samefile(path):
        raise ValueError(f"--out {out}: is the file to read; name another")
    drawn = np.random.default_rng(derive(seed, "cut"))
    games = list[_Game]()
    with unfinished(out) as written:
        for number, text in records_of(path):
            try:
                record = read(text)
                state, game = _whole(record)
                chance, place = drawn.random(2)
                first = _decided(record) if decided else 1
                if chance < share and game.kind != "passed" and first < game.cards:
                    game = _Game(game.kind, game.won, game.cards, first + int(place * (game.cards - first)))
                    written.write(_cut(record, state, game, len(games) + 1) + "\n")
                else:
                    written.write(text + "\n")
            except FormatError as error:
                raise FormatError(f"{path}: line {number}: {error}") from None
            games.append(game)
        if not games:
            raise FormatError(f"{path}: there is no record in this file")
    return _table(games)


def _whole(record: Record) -> tuple[np.void, _Game]:
    state = new_state()
    if faults := differences(record, state):
        raise FormatError(f"record {record.id}: {faults[0]}; cut takes records that agree with our rules")
    public = state["public"]
    if public["turn"] >= 0:
        raise FormatError(f"record {record.id}: ends early; cut takes whole games")
    kind = "passed" if public["soloist"] < 0 else ("suit", "grand", "null")[max(int(public["game"]) - GRAND + 1, 0)]
    cards = int(public["num_played"])
    return state, _Game(kind, record.result["end"] == "win", cards, cards)


def _after(record: Record, cards: int, of: int) -> np.void:
    """The state when so many cards are played, ``of`` in the whole game."""
    state, number = new_state(), len(record.tokens) - of + cards
    replay(state, record.hands, np.array(record.seats[:number]), np.array(record.tokens[:number]))
    return state


def _decided(record: Record) -> int:
    """Cards after which a side has the card points that it needs; all of them where that is never or more is announced,
    1 in null."""
    end, _ = _whole(record)
    cards, soloist = int(end["public"]["num_played"]), int(end["public"]["soloist"])
    if soloist < 0 or end["public"]["game"] == NULL:
        return 1
    if end["public"]["modifier"] != PLAIN:
        return cards
    for number in range(3, cards, 3):
        state = _after(record, number, cards)
        taken = state["public"]["taken"]
        won = points_of(taken[soloist] | aside_of(state))
        if won >= 61 or points_of(np.bitwise_or.reduce(np.delete(taken, soloist))) >= 60:
            return number
    return cards


def _cut(record: Record, whole: np.void, game: _Game, number: int) -> str:
    soloist = int(whole["public"]["soloist"])
    loser = [seat for seat in range(3) if (seat == soloist) != game.won]
    state, length = _after(record, game.kept, game.cards), len(record.tokens) - game.cards + game.kept
    tokens, seats = record.tokens[:length], record.seats[:length]
    return record_line(number, "Kibitz", record.names, state, tokens, seats, loser, record.filled)


def _table(games: Sequence[_Game]) -> list[str]:
    """All games as they were, those not cut, and all up to the cut."""
    whole = [game for game in games if game.kept == game.cards]
    rows = (
        ("all, to their end", games, [game.cards for game in games]),
        ("whole ones alone", whole, [game.cards for game in whole]),
        ("with cut ones", games, [game.kept for game in games]),
    )
    head = f"{'':18} {'games':>7} {'won':>6} {''.join(f'{kind:>8}' for kind in _KINDS)} {'cards':>6} {'place':>6}"
    return [head, *(_row(name, some, cards) for name, some, cards in rows)]


def _row(name: str, games: Sequence[_Game], cards: Sequence[int]) -> str:
    """Share won by soloists, of games by kind, cards of a played game, mean place of a played card (from 1)."""
    played = [game for game in games if game.kind != "passed"]
    won = sum(game.won for game in played) / max(len(played), 1)
    kinds = [sum(game.kind == kind for game in games) / max(len(games), 1) for kind in _KINDS]
    total = sum(cards)
    place = sum(number * (number + 1) / 2 for number in cards) / max(total, 1)
    shares = "".join(f"{100 * kind:7.1f}%" for kind in kinds)
    return f"{name:18} {len(games):7} {100 * won:5.1f}% {shares} {total / max(len(played), 1):6.2f} {place:6.2f}"
