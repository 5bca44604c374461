"""A file of records of the International Skat Server as sequences, with the names of those who played."""

from collections import Counter
from pathlib import Path

import numpy as np

from games.game import Game
from games.recorded_deals import RecordedDeals
from games.registry import make_game
from games.shards import Sequences
from games.skat.records.agreement import differences
from games.skat.records.iss import FormatError, Record, read
from games.skat.replay import before_deal
from search.scripted.skat.records.files import records_of

_PASSED_OVER = "no record of a deal", "not by our rules", "nobody has acted"


def read_records(path: Path, most: int = 0) -> RecordedDeals:
    """The deals of a file, three sequences each; those that break off are kept up to there.

    Args:
        most: deals to read; 0 for all.

    Raises:
        ValueError: it has no deal that agrees with our rules.
        OSError: it cannot be read.
    """
    game, states, titles, names = make_game("skat"), [], [], []
    skipped = Counter[str]()
    numbers = list[int]()
    for number, text in records_of(path):
        state = before_deal()
        found = _replayed(text, state[0])
        if isinstance(found, str):
            skipped[found] += 1
            continue
        states.append(state)
        titles.append(f"record {found.id}, line {number}")
        names.append([name or f"seat {seat}" for seat, name in enumerate(found.names)])
        numbers.append(number)
        if len(states) == most:
            break
    counted = [
        f"{number} line{'s' * (number > 1)} left out: {reason}"
        for reason in _PASSED_OVER
        if (number := skipped[reason])
    ]
    if not states:
        raise ValueError(f"{path}: has no deal to review{': ' if counted else ''}{'; '.join(counted)}")
    played = np.concatenate(states)
    sequences = sequences_of(game, played, np.array(numbers, np.uint64), np.array(names, object))
    return RecordedDeals(game, sequences, tuple(titles), tuple(counted))


def _replayed(text: str, state: np.void) -> Record | str:
    """The record of a line, replayed in ``state``; or why it is left out."""
    try:
        record = read(text)
    except FormatError:
        return _PASSED_OVER[0]
    if differences(record, state):
        return _PASSED_OVER[1]
    return record if record.tokens else _PASSED_OVER[2]


def sequences_of(game: Game, states: np.ndarray, numbers: np.ndarray, names: np.ndarray | str) -> Sequences:
    """Three of every deal, whose seeds are ``numbers``. Those that break off have outcome label 0, which means nothing.

    Args:
        names: ``object[G, 3]`` of the players, or the name of all.
    """
    deal, seat = np.repeat(np.arange(len(states)), game.num_players), np.tile(np.arange(game.num_players), len(states))
    over = states["public"]["turn"] < 0
    labels = np.zeros((len(states), game.num_players), np.int32)
    labels[over] = game.outcome(states[over])
    tokens, players = game.histories(states[deal], seat)[0], np.broadcast_to(np.asarray(names, object), labels.shape)
    return Sequences(tokens, labels.reshape(-1), seat, players.reshape(-1), numbers[deal], deal)
