"""SameGame as a ``Game``: one seat, nothing hidden, a score for a result."""

import numpy as np

from games.batches import Loops
from games.compiled import CompiledGame
from games.samegame import board, scores, state, view
from games.samegame.describe import LETTERS, cell_name, describe
from games.vocabulary import Vocabulary

BOARDS = ("random", "balanced", "dominant")
PENALTIES = ("stated", "excess")
_MOST_CELLS = 900


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
            squared, which also fits the paper's figures.
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

    def __init__(
        self,
        rows: int = 10,
        columns: int = 10,
        colours: int = 5,
        boards: str = "random",
        dominant_tiles: int = 51,
        penalty: str = "stated",
    ) -> None:
        _check(rows, columns, colours, boards, dominant_tiles, penalty)
        cells = rows * columns
        self.options = {"rows": rows, "columns": columns, "colours": colours, "boards": boards, "penalty": penalty}
        if boards == "dominant":
            self.options["dominant_tiles"] = dominant_tiles
        names = {"Colours": LETTERS[:colours], "Cells": [cell_name(cell, rows) for cell in range(cells)]}
        self.vocabulary = Vocabulary(names)
        self.max_length = cells + cells // 2 + 1
        sizes = columns, rows, self.max_length, self.vocabulary.dtype
        self.state_type, self.view_type = state.state_type(*sizes), view.view_type(*sizes)
        self.outcomes = scores.build(cells)
        self.template = np.zeros(1, board.public_type(columns, rows))
        self.template["rows"], self.template["colours"] = rows, colours
        self.template["balanced"] = boards == "balanced"
        self.template["dominant"] = dominant_tiles if boards == "dominant" else 0
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
        over = (public["turn"] < 0) & (views["refuted"] == 0) & (views["length"] >= public["tiles"].shape[1])
        return np.where(over, self.outcomes.nearest(public["score"]), -1).astype(np.int32)

    def describe(self, tokens: np.ndarray) -> str:
        tokens = np.asarray(tokens)
        tokens = tokens[tokens != self.vocabulary.eos]
        cells, rows = self.state_type["public"]["tiles"].shape[0], int(self.options["rows"])
        if len(tokens) < cells:
            return " ".join(self.vocabulary.name(token) for token in tokens) or "(nothing seen)"
        (left,) = self.views(tokens[None], np.array([len(tokens)]))
        moves = [self.vocabulary.name(token) for token in tokens[cells:]]
        return describe(tokens[:cells] + 1, moves, left["public"]["tiles"], rows)


def _check(rows: int, columns: int, colours: int, boards: str, dominant_tiles: int, penalty: str) -> None:
    """``ValueError`` for an option out of its range."""
    cells = rows * columns
    for name, value, low, high in (
        ("rows", rows, 2, _MOST_CELLS // 2),
        ("columns", columns, 2, _MOST_CELLS // max(rows, 1)),
        ("colours", colours, 2, board.MAX_COLOURS),
        ("dominant_tiles", dominant_tiles, 1, cells if boards == "dominant" else _MOST_CELLS),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"samegame option {name}={value}: must be a number from {low} to {high}")
    for name, text, known in (("boards", boards, BOARDS), ("penalty", penalty, PENALTIES)):
        if text not in known:
            raise ValueError(f"samegame option {name}={text}: choose one of {', '.join(known)}")
    if boards == "balanced" and cells % colours:
        raise ValueError(f"samegame option boards=balanced: {cells} cells do not divide into {colours} colours")
