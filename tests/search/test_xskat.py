"""The player that is the program XSkat."""

import numpy as np
import pytest

from games.registry import make_game
from games.skat.xskat import program
from search.config import SearchConfig
from search.players.table import play_table
from search.roster.registry import make_players
from tests.games.skat.test_xskat import needs_display

SEATINGS = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]]


@needs_display
def test_it_plays_every_seating_and_the_table_size_changes_nothing() -> None:
    game = make_game("skat")
    seeds = np.repeat(np.arange(5, dtype=np.uint64), 6)
    seating, players = np.tile(SEATINGS, (5, 1)), make_players(["random", "xskat"], game, SearchConfig())
    results = [play_table(game, players, seating, seeds, size, secret=1) for size in (0, 7)]
    assert np.array_equal(results[0].points, results[1].points)
    assert np.array_equal(results[0].states["tokens"], results[1].states["tokens"])
    assert (results[0].decisions > 0).all()


def test_without_the_program_it_is_refused_in_one_line(monkeypatch) -> None:
    monkeypatch.setattr(program.shutil, "which", lambda *_, **__: None)
    with pytest.raises(ValueError, match=r"^xskat is not installed; apt-get install xskat$"):
        make_players(["xskat"], make_game("skat"), SearchConfig())
