"""Shards of complete deals as records of the International Skat Server."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from games.game import Game
from games.registry import recorded_game
from games.shards import Sequences, ShardError, find_shards, read_shard, shard_info
from games.skat.cards import (
    EOS,
    FIRST_BID,
    FIRST_SEAT,
    HAND_SIZE,
    HOLD,
    NULL,
    NUM_CARDS,
    NUM_PLAYS,
    OUVERT,
    PASS,
    PICKUP,
    SCHNEIDER,
    SCHWARZ,
    VOCABULARY,
)
from games.skat.records.iss import GAME_LETTERS
from games.skat.replay import new_state, retraced
from games.skat.state import result_of
from games.skat.values import BIDS

_ANNOUNCED = {SCHNEIDER: "S", SCHWARZ: "Z"}


def export(directory: Path, out: Path) -> tuple[int, int]:
    """Write every deal of the shards in a directory to a file, a record per line; returns how many there are, and how
    many were left out because the shards do not have all three sequences of them.

    Raises:
        ShardError: no shards, another game, or rows that are not one deal of it; names the file and the deal.
    """
    written = left_out = 0
    unfinished = out.with_name(out.name + ".tmp")
    with unfinished.open("w", encoding="utf-8") as file:
        for path in find_shards(directory):
            game = _game(path)
            sequences = read_shard(path, game)
            for number, rows in _deals(sequences):
                if len(rows) < 3:
                    left_out += 1
                    continue
                line = _record(path, game, sequences, number, rows, written + 1)
                file.write(line + "\n")
                written += 1
    unfinished.replace(out)
    return written, left_out


def _game(path: str) -> Game:
    info = shard_info(path)
    if info.game != "skat":
        raise ShardError(f"{path}: holds sequences of {info.game}; records are of skat")
    return recorded_game(path, "skat", info.options)


def _deals(sequences: Sequences) -> Iterator[tuple[int, np.ndarray]]:
    """Every deal's number in the shard, and its rows in the order of the seats."""
    order = np.lexsort((sequences.seat, sequences.game))
    numbers, starts = np.unique(sequences.game[order], return_index=True)
    yield from zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)


def _record(path: str, game: Game, sequences: Sequences, number: int, rows: np.ndarray, record: int) -> str:
    deal = _deal(sequences.tokens[rows])
    if sequences.seat[rows].tolist() != [0, 1, 2] or deal is None:
        raise ShardError(f"{path}: game {number}: its sequences do not belong to one deal")
    actions, seats, state = deal
    names = [str(name).replace("]", "").replace("[", "") for name in sequences.player[rows]]
    people = "".join(f"P{seat}[{name}]" for seat, name in enumerate(names))
    moves = " ".join(_moves(actions, seats, state))
    return f"(;GM[Skat]PC[Kibitz]CO[]ID[{record}]{people}MV[{moves} ]R[{_result(state)}] ;)"


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


def _moves(actions: np.ndarray, seats: np.ndarray, state: np.void) -> Iterator[str]:
    """Pairs of actor and move; the discards stand behind the game, as the server writes them."""
    talon = _names(int(state["talon"]))
    yield f"w {'.'.join(card for hand in state['dealt'] for card in _names(int(hand)))}.{'.'.join(talon)}"
    num_cards = int(state["public"]["num_played"])
    before = len(actions) - num_cards
    for seat, token in zip(seats[:before].tolist(), actions[:before].tolist(), strict=True):
        if token in (PASS, HOLD):
            yield f"{seat} {'p' if token == PASS else 'y'}"
        elif FIRST_BID <= token < PICKUP:
            yield f"{seat} {BIDS[token - FIRST_BID]}"
        elif token == PICKUP:
            yield f"{seat} s w {'.'.join(talon)}"
    if state["public"]["soloist"] >= 0:
        yield f"{state['public']['soloist']} {_declaration(state)}"
    for seat, card in zip(seats[before:].tolist(), actions[before:].tolist(), strict=True):
        yield f"{seat} {VOCABULARY.name(card)}"


def _declaration(state: np.void) -> str:
    """Game, modifiers in the server's order, and the discards."""
    public = state["public"]
    game, modifier, by_hand = int(public["game"]), int(public["modifier"]), public["picked_up"] == 0
    if game != NULL and modifier == OUVERT:
        return f"{GAME_LETTERS[game]}O"  # the others are implied
    said = ("O" if modifier == OUVERT else "") + ("H" if by_hand else "") + _ANNOUNCED.get(modifier, "")
    return ".".join([GAME_LETTERS[game] + said, *([] if by_hand else _names(int(state["laid"])))])


def _result(state: np.void) -> str:
    """The result as the server writes it."""
    public = state["public"]
    soloist, game = int(public["soloist"]), int(public["game"])
    if soloist < 0:
        return "passed"
    won, value, overbid, matadors, points = result_of(state)
    tricks = int(public["tricks"][soloist])
    judged = game != NULL and public["num_played"] == NUM_PLAYS
    schneider, schwarz = judged and (points <= 30 or points >= 90), judged and tricks in (0, 10)
    return (
        f"d:{soloist} {'win' if won else 'loss'} v:{value if won else -2 * value} m:{matadors} "
        f"{'overbid' if overbid else 'bidok'} p:{points} t:{tricks} s:{int(schneider)} z:{int(schwarz)} "
        "p0:0 p1:0 p2:0 l:-1 to:-1 r:0"
    )


def _names(cards: int) -> list[str]:
    return [VOCABULARY.name(card) for card in range(NUM_CARDS) if cards >> card & 1]
