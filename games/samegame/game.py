"""SameGame as a ``Game``: one seat, nothing hidden, a score for a result."""

from collections.abc import Mapping

import numpy as np

from games.batches import Loops
from games.compiled import CompiledGame, check_options
from games.samegame import board, scores, state, view
from games.samegame.describe import LETTERS, cell_name, describe
from games.vocabulary import Vocabulary

BOARDS = ("random", "balanced", "dominant")
PENALTIES = ("stated", "excess")
DEFAULTS: dict[str, int | str] = {
    "rows": 10,
    "columns": 10,
    "colours": 5,
    "boards": BOARDS[0],
    "dominant_tiles": 51,
    "penalty": PENALTIES[0],
}


class SameGame(CompiledGame):
    """SameGame (paper 003): who takes a block of n tiles of one colour gets (n - 2) squared, an empty board pays 1,000.

    A history: the colour of each cell, column by column from below; the cell of each block taken; ``eos``. A block's
    one legal cell is the topmost in its leftmost column. Nothing follows a move, as the board can be worked out.

    Args:
        rows, columns: of the board; two rows and columns at least.
        colours: 2 to 9.
        boards: ``random``, every tile of any colour; ``balanced``, as many of every colour; ``dominant``,
            ``dominant_tiles`` of one colour.
        penalty: of each colour of which tiles are left, ``stated`` (left - 2) squared, or ``excess`` max(0, left - 2)
            squared, which would explain the odd totals of the paper.
    """

    name = "samegame"
    rules_version = 1
    num_players = 1
    cooperative = True
    token_types = ("colour", "own move", "end")
    loops = Loops(
        deal=state.deal,
        legal=board.legal,
        mark=board.mark,
        holds=board.holds,
        act=state.act,
        play_out=state.play_out,
        next_of=view.next_of,
        own_legal=board.legal,
        advance=view.advance,
        possible=view.possible,
        consistent=view.is_consistent,
        can_stand=view.can_stand,
        determinize=view.determinize,
    )

    def __init__(self, **options: int | str) -> None:
        self.options = checked(options)
        rows, columns, colours = (int(self.options[name]) for name in ("rows", "columns", "colours"))
        boards, penalty, cells = self.options["boards"], self.options["penalty"], rows * columns
        names = {"Colours": LETTERS[:colours], "Cells": [cell_name(cell, rows) for cell in range(cells)]}
        self.vocabulary = Vocabulary(names)
        self.max_length = cells + cells // 2 + 1
        sizes = columns, rows, self.max_length, self.vocabulary.dtype
        self.state_type, self.view_type = state.state_type(*sizes), view.view_type(*sizes)
        self.outcomes = scores.build(cells)
        self.template = np.zeros(1, board.public_type(columns, rows))
        self.template["rows"], self.template["colours"] = rows, colours
        self.template["balanced"] = boards == "balanced"
        self.template["dominant"] = self.options.get("dominant_tiles", 0)
        self.template["excess"] = penalty == "excess"

    def outcome(self, states: np.ndarray) -> np.ndarray:
        over = self.to_move(states) < 0
        return np.where(over, self.outcomes.nearest(states["public"]["score"]), -1).astype(np.int32)[:, None]

    def points(self, states: np.ndarray) -> np.ndarray:
        """As ``Game.points``: the exact score."""
        if (self.to_move(states) >= 0).any():
            raise ValueError("points asked of a game before its end")
        return states["public"]["score"].astype(np.float32)[:, None]

    def points_so_far(self, states: np.ndarray) -> np.ndarray:
        return states["public"]["score"].astype(np.float32)[:, None]

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        public = views["public"]
        over = (public["turn"] < 0) & (views["ended"] == 0) & (views["length"] >= public["tiles"].shape[1])
        return np.where(over, self.outcomes.nearest(public["score"]), -1).astype(np.int32)

    def view_points(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_points``: the exact score."""
        return views["public"]["score"].astype(np.float32)[:, None]

    def describe(self, tokens: np.ndarray) -> str:
        tokens = np.asarray(tokens)
        tokens = tokens[tokens != self.vocabulary.eos]
        cells, rows = self.state_type["public"]["tiles"].shape[0], int(self.options["rows"])
        if len(tokens) < cells:
            return " ".join(self.vocabulary.name(token) for token in tokens) or "(nothing seen)"
        (left,) = self.views(tokens[None], np.array([len(tokens)]))
        moves = [self.vocabulary.name(token) for token in tokens[cells:]]
        return describe(tokens[:cells] + 1, moves, left["public"]["tiles"], rows)


def checked(given: Mapping[str, int | str]) -> dict[str, bool | int | str]:
    """All options with their values in force; ``ValueError`` for what SameGame does not know. ``dominant_tiles`` is
    there only where it counts."""
    check_options("samegame", given, {**dict.fromkeys(DEFAULTS, ()), "boards": BOARDS, "penalty": PENALTIES})
    options: dict[str, bool | int | str] = {**DEFAULTS, **given}
    for name, low, high in (("rows", 2, 30), ("columns", 2, 30), ("colours", 2, board.MAX_COLOURS)):
        _check_number(options, name, low, high)
    cells = int(options["rows"]) * int(options["columns"])
    _check_number(options, "dominant_tiles", 1, cells if options["boards"] == "dominant" else 900)
    if options["boards"] == "balanced" and cells % int(options["colours"]):
        raise ValueError(
            f"samegame option boards=balanced: {cells} cells do not divide into {options['colours']} colours"
        )
    if options["boards"] != "dominant":
        del options["dominant_tiles"]
    return options


def _check_number(options: Mapping[str, bool | int | str], name: str, low: int, high: int) -> None:
    value = options[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"samegame option {name}={value}: must be a whole number from {low} to {high}")
