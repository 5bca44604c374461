"""Shards of complete deals as records of the International Skat Server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from games.game import Game
from games.registry import recorded_game
from games.shards import Sequences, ShardError, find_shards, read_shard, shard_info
from games.skat.cards import EOS, FIRST_SEAT, HAND_SIZE, NUM_CARDS
from games.skat.records.unfinished import unfinished
from games.skat.records.writing import record_line
from games.skat.replay import new_state, retraced


def export(directory: Path, out: Path) -> tuple[int, int]:
    """Write every deal of the shards in a directory to a file, a record per line; returns how many there are, and how
    many were left out because the shards do not have all three sequences of them. Holds a shard at a time.

    Raises:
        ShardError: no shards, another game, or rows that are not one deal of it; names the file and the deal.
    """
    written = left_out = 0
    with unfinished(out) as file:
        for path in find_shards(directory):
            game, filled = _game(path)
            sequences = read_shard(path, game)
            for number, rows in _deals(sequences):
                if len(rows) < 3:
                    left_out += 1
                    continue
                written += 1
                file.write(_record(path, sequences, number, rows, written, filled) + "\n")
    return written, left_out


def _game(path: str) -> tuple[Game, bool]:
    """The game of a shard, and whether its auctions are filled in."""
    info = shard_info(path)
    if info.game != "skat":
        raise ShardError(f"{path}: holds sequences of {info.game}; records are of skat")
    if info.provenance.get("partial") == "true":
        raise ShardError(f"{path}: holds games that end early; only complete ones can be exported")
    return recorded_game(path, "skat", info.options), info.provenance.get("auction") == "filled"


def _deals(sequences: Sequences) -> Iterator[tuple[int, np.ndarray]]:
    """Every deal's number in the shard, and its rows in the order of the seats."""
    order = np.lexsort((sequences.seat, sequences.game))
    numbers, starts = np.unique(sequences.game[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)


def _record(path: str, sequences: Sequences, number: int, rows: np.ndarray, record: int, filled: bool) -> str:
    deal = _deal(sequences.tokens[rows])
    if sequences.seat[rows].tolist() != [0, 1, 2] or deal is None:
        raise ShardError(f"{path}: game {number}: its sequences do not belong to one deal")
    actions, seats, state = deal
    names = [str(name) for name in sequences.player[rows]]
    return record_line(record, "Kibitz", names, state, actions, seats, filled=filled)


def _deal(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.void] | None:
    """What ``retraced`` returns for the finished deal of three histories (``[3, L]``), None if they are not of one."""
    recorded = new_state()
    for seat in range(3):
        cards = tokens[seat, 1 : 1 + HAND_SIZE]
        if tokens[seat, 0] != FIRST_SEAT + seat or cards.max() >= NUM_CARDS or len(set(cards.tolist())) < HAND_SIZE:
            return None
        recorded["dealt"][seat] = sum(1 << int(card) for card in cards)
        recorded["tokens"][seat, : tokens.shape[1]] = tokens[seat]
        recorded["lengths"][seat] = int(np.argmax(np.append(tokens[seat], EOS) == EOS)) + 1
    dealt = recorded["dealt"]
    if sum(int(hand).bit_count() for hand in dealt) != int(np.bitwise_or.reduce(dealt)).bit_count():
        return None
    actions, seats, state = retraced(recorded)
    over = state["public"]["turn"] < 0
    return (actions, seats, state) if over and np.array_equal(state["tokens"], recorded["tokens"]) else None
