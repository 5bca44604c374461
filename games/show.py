"""Sequences of a shard as people write cards: ``python -m games.show SHARD.parquet --row N`` or ``--rows A:B``."""

import argparse
import sys

from cluster.foreign import printable
from cluster.reader import end_with_reader
from games.game import Game
from games.registry import recorded_game
from games.shards import Sequences, ShardInfo, read_shard, shard_info


def parse_rows(text: str, count: int) -> range:
    """Rows meant by ``"N"``, or by ``"A:B"`` (either end may be left out; B is not included), of ``count`` rows.

    Raises ``ValueError`` for anything else, and for rows the shard does not have.
    """
    first, colon, end = text.partition(":")
    try:
        start = int(first or 0) if colon else int(first)
        rows = range(start, int(end or count) if colon else start + 1)
    except ValueError:
        raise ValueError(f"--rows {text}: give A:B, for example 0:3, or one row") from None
    if not 0 <= rows.start < rows.stop <= count:
        raise ValueError(f"--rows {text}: the shard has rows 0 to {count - 1}")
    return rows


def header(info: ShardInfo) -> str:
    """What a shard says of itself, one entry per line."""
    entries = [
        ("file", info.path),
        ("sequences", str(info.num_sequences)),
        ("game", f"{info.game}, rules version {info.rules_version}"),
        ("options", ", ".join(f"{name}={value}" for name, value in sorted(info.options.items()))),
        *info.provenance.items(),
    ]
    return "\n".join(printable(f"{name:<14} {value}") for name, value in entries)


def sequence_text(game: Game, sequences: Sequences, row: int) -> str:
    """One of these sequences: who sat where, how it ended, and the history."""
    label = int(sequences.outcome[row])
    tokens = sequences.tokens[row : row + 1]
    views = game.views(tokens, (tokens != game.vocabulary.eos).sum(axis=1))
    points = "points " + " ".join(f"{value:g}" for value in game.view_points(views)[0])
    if game.view_outcome(views)[0] < 0:
        points = "broke off, no points"
    return (
        f"game {sequences.game[row]} (deal seed {sequences.deal_seed[row]}), seat {sequences.seat[row]}, "
        f"player {printable(sequences.player[row])}\n"
        f"{points} (own first, then clockwise; outcome {label})\n"
        f"{game.describe(sequences.tokens[row])}"
    )


def main(arguments: list[str] | None = None) -> int:
    """Entry point; 0 when printed, 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m games.show", description=__doc__)
    parser.add_argument("shard", help="a shard, local path or URI")
    parser.add_argument("--row", "--rows", dest="rows", default="0", help="row to print, or rows A to B - 1 as A:B")
    parser.add_argument("--game", default="", help="a game of your own that the shard is of, as module:attribute")
    given = parser.parse_args(arguments)
    try:
        info = shard_info(given.shard)
        game = recorded_game(given.shard, info.game, info.options, given.game)
        rows = parse_rows(given.rows, info.num_sequences)
        sequences = read_shard(given.shard, game, rows)
    except ValueError as error:
        print(printable(error), file=sys.stderr)
        return 2
    print(header(info))
    for row in range(len(rows)):
        print()
        print(f"row {rows[row]}: {sequence_text(game, sequences, row)}")
    return 0


if __name__ == "__main__":
    end_with_reader()
    sys.exit(main())
