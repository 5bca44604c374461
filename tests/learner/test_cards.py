"""The networks that ship load, fit their size, and play as their cards say: ``make cards``."""

import json
from dataclasses import dataclass

import pytest

from games.registry import make_game
from learner.config import EngineConfig
from learner.model.checkpoint import NETWORKS, installed
from search.arena.tournament.seatings import ALL
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.roster.engines import Engines
from search.roster.registry import make_players

pytestmark = pytest.mark.cards
LARGEST_MB, DEALS, SEED = 8, 50, 1


@dataclass(frozen=True)
class Figure:
    """What a card says of 50 deals, in float32 on a CPU."""

    players: tuple[str, str]
    ahead: float
    """Points a hand, or share of successes, by which the first player is ahead, to two decimals."""
    seating: str = ALL


FIGURES = {
    "hearts": Figure(("argmax_val", "hearts_rules"), 3.43),
    "skat": Figure(("argmax_val", "skat_rules"), 20.05),
    "crew": Figure(("argmax_val", "crew_rules"), 0.12),
}


def test_every_network_that_people_meet_has_a_figure() -> None:
    """Those with a game's name, which ``kibitz play`` takes."""
    assert set(FIGURES) == set(installed()) & {"hearts", "skat", "crew"}


@pytest.mark.parametrize("name", FIGURES)
def test_a_network_is_what_its_card_says(name: str) -> None:
    figure, directory = FIGURES[name], NETWORKS / name
    assert sum(path.stat().st_size for path in directory.iterdir()) < LARGEST_MB * 2**20
    config = json.loads((directory / "config.json").read_text())
    game = make_game(config["game"], config["game_options"])
    engines = Engines(game, EngineConfig(device="cpu"))
    players = make_players(list(figure.players), game, SearchConfig(), f"kibitz:{name}", engines=engines)
    result = run_tournament(game, players, DEALS, SEED, seating=figure.seating)
    assert result.advantage == pytest.approx(figure.ahead, abs=0.005)
    said = f"{DEALS} ({SEED}) | {figure.ahead:+.2f} |"
    assert said in (directory / "README.md").read_text(), f"the card of kibitz:{name} does not say: {said}"
