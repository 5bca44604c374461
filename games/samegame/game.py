"""SameGame as a ``Game``: one seat, nothing hidden, a score for a result."""

from collections.abc import Mapping

import numpy as np

from games import batches
from games.batches import Loops
from games.compiled import CompiledGame, check_options
from games.rng import mix
from games.samegame import board, files, scores, state, view
from games.samegame.describe import LETTERS, cell_name, describe
from games.samegame.features import feature_sets
from games.samegame.files import BOARDS
from games.vocabulary import Vocabulary

PENALTIES = ("stated", "excess")
_DIGEST = "boards_digest"
DEFAULTS: dict[str, int | str] = {
    "rows": 10,
    "columns": 10,
    "colours": 5,
    "boards": BOARDS[0],
    "dominant_tiles": 51,
    "penalty": PENALTIES[0],
}

lay_rows = batches.rows(state.lay)


class SameGame(CompiledGame):
    """SameGame (paper 003): who takes a block of n tiles of one colour gets (n - 2) squared, an empty board pays 1,000.

    A history: the colour of each cell, column by column from below; the cell of each block taken; ``eos``. A block's
    one legal cell is the topmost in its leftmost column. Nothing follows a move, as the board can be worked out.

    Args:
        rows, columns: of the board; two rows and columns at least.
        colours: 2 to 9.
        boards: ``random``, every tile of any colour; ``balanced``, as many of every colour; ``dominant``,
            ``dominant_tiles`` of one colour; ``standard_20``, the 20 boards of 15 x 15 that papers play; or the path of
            a text file (``games.samegame.files``), whose ``boards_digest`` is an option too.
        penalty: of each colour of which tiles are left, ``stated`` (left - 2) squared, or ``excess`` max(0, left - 2)
            squared, which would explain the odd totals of the paper.
    """

    name = "samegame"
    title = "SameGame"
    rules_version = 1
    num_players = 1
    cooperative = True
    dealing_options = ("boards", "boards_digest", "dominant_tiles")
    token_types = ("colour", "own move", "end")
    loops = Loops(
        deal=state.deal,
        legal=board.legal,
        act=state.act,
        next_of=view.next_of,
        own_legal=board.legal,
        advance=view.advance,
        possible=view.possible,
        consistent=view.is_consistent,
        can_stand=view.can_stand,
        determinize=view.determinize,
        actions=board.BLOCKS,
    )

    def __init__(self, **options: int | str) -> None:
        self.options, self._listed = checked(options)
        self.num_deals = len(self._listed)
        rows, columns, colours = (int(self.options[name]) for name in ("rows", "columns", "colours"))
        boards, penalty, cells = self.options["boards"], self.options["penalty"], rows * columns
        names = {"Colours": LETTERS[:colours], "Cells": [cell_name(cell, rows) for cell in range(cells)]}
        self.vocabulary = Vocabulary(names)
        self.max_length = cells + cells // 2 + 1
        sizes = columns, rows, self.max_length, self.vocabulary.dtype
        self.state_type, self.view_type = state.state_type(*sizes), view.view_type(*sizes)
        self.outcomes = scores.build(cells)
        self.features = feature_sets(rows, columns, colours)
        self.template = np.zeros(1, board.public_type(columns, rows))
        self.template["rows"], self.template["colours"] = rows, colours
        self.template["balanced"] = boards == "balanced"
        self.template["dominant"] = self.options.get("dominant_tiles", 0)
        self.template["excess"] = penalty == "excess"

    def deal(self, seeds: np.ndarray) -> np.ndarray:
        if not self.num_deals:
            return super().deal(seeds)
        states = self._blank(self.state_type, len(seeds))
        lay_rows(states, self._listed[np.asarray(seeds, np.uint64) % np.uint64(self.num_deals)])
        return states

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

    def indicators(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """As ``Game.indicators``, those of paper 003, section 4.2: ``net`` is the score without the ``final`` reward.
        ``net_a_move`` is called the average reward there: said to be the score by the moves less one, but the paper's
        figures are nearer to this."""
        public, cells = states["public"], states["public"]["tiles"].shape[1]
        left, moves = public["left"].sum(axis=1), states["lengths"][:, 0] - cells - 1
        final = np.empty(len(states), np.int64)
        board.last_rewards(states, final)
        net = public["score"] - final
        shown = {
            "net": net,
            "final": final,
            "removed": cells - left,
            "moves": moves,
            "cleared": left == 0,
            "net_a_move": net / np.maximum(moves, 1),
        }
        return {name: values.astype(np.float32)[:, None] for name, values in shown.items()}

    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        public = views["public"]
        over = (public["turn"] < 0) & (views["ended"] == 0) & (views["length"] >= public["tiles"].shape[1])
        return np.where(over, self.outcomes.nearest(public["score"]), -1).astype(np.int32)

    def view_points(self, views: np.ndarray) -> np.ndarray:
        """As ``Game.view_points``: the exact score."""
        return views["public"]["score"].astype(np.float32)[:, None]

    def merged(self, positions: np.ndarray, legal: np.ndarray, next_token: np.ndarray) -> np.ndarray:
        """As ``Game.merged``: a block gets the sum of its tiles' (paper 003, section 3.5)."""
        merged = np.zeros_like(next_token)
        board.add_blocks(positions, next_token, merged)
        return merged

    def renamed(self, tokens: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """As ``Game.renamed``: with the colours permuted."""
        cells, colours = self.state_type["public"]["tiles"].shape[0], int(self.options["colours"])
        order = mix(seeds[:, None], np.arange(colours, dtype=np.uint64)[None]).argsort(axis=1)
        changed = tokens.copy()
        changed[:, :cells] = np.take_along_axis(order, tokens[:, :cells].astype(np.int64), axis=1)
        return changed

    def describe(self, tokens: np.ndarray) -> str:
        tokens = np.asarray(tokens)
        tokens = tokens[tokens != self.vocabulary.eos]
        cells, rows = self.state_type["public"]["tiles"].shape[0], int(self.options["rows"])
        if len(tokens) < cells or (tokens[:cells] >= int(self.options["colours"])).any():  # no board
            return " ".join(self.vocabulary.name(token) for token in tokens) or "(nothing seen)"
        (left,) = self.views(tokens[None], np.array([len(tokens)]))
        moves = [self.vocabulary.name(token) for token in tokens[cells:]]
        return describe(tokens[:cells] + 1, moves, left["public"]["tiles"], rows)


def checked(given: Mapping[str, int | str]) -> tuple[dict[str, bool | int | str], np.ndarray]:
    """All options with their values in force, and the boards of a list, ``int8[D, N]``, none without; ``ValueError``
    for what SameGame does not know. ``dominant_tiles`` and ``boards_digest`` are there only where they count."""
    check_options("samegame", given, {**dict.fromkeys([*DEFAULTS, _DIGEST], ()), "penalty": PENALTIES})
    options: dict[str, bool | int | str] = {**DEFAULTS, **given}
    for name, low, high in (("rows", 2, 30), ("columns", 2, 30), ("colours", 2, board.MAX_COLOURS)):
        _check_number(options, name, low, high)
    rows, columns, colours = (int(options[name]) for name in ("rows", "columns", "colours"))
    boards, cells = str(options["boards"]), rows * columns
    _check_number(options, "dominant_tiles", 1, cells if boards == "dominant" else 900)
    if boards == "balanced" and cells % colours:
        raise ValueError(f"samegame option boards=balanced: {cells} cells do not divide into {colours} colours")
    if boards != "dominant":
        if options["dominant_tiles"] != DEFAULTS["dominant_tiles"]:
            raise ValueError(
                f"samegame option dominant_tiles={options['dominant_tiles']}: counts with boards=dominant alone"
            )
        del options["dominant_tiles"]
    if boards in BOARDS:
        options.pop(_DIGEST, None)
        return options, np.zeros((0, cells), np.int8)
    path = files.find(boards)
    if options.setdefault(_DIGEST, files.digest(path)) != files.digest(path):
        raise ValueError(f"{path}: has changed since boards_digest={options[_DIGEST]} was noted; take that file again")
    return options, files.read(path, rows, columns, colours)


def _check_number(options: Mapping[str, bool | int | str], name: str, low: int, high: int) -> None:
    value = options[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"samegame option {name}={value}: must be a whole number from {low} to {high}")
