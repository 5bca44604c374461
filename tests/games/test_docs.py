"""The generated pages say what the code says."""

from pathlib import Path

import pytest
import yaml

from games.docs import DIRECTORY, PAGES, page
from games.registry import make_game

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_what_the_code_gives(name: str) -> None:
    game = make_game(PAGES[name])
    committed = (DIRECTORY / f"{name}.md").read_text(encoding="utf-8")
    assert committed == page(game), "run python -m games.docs"


def test_every_token_is_on_the_page_of_hearts() -> None:
    text = page(make_game("hearts"))
    assert all(f"`{name}`" in text for name in make_game("hearts").vocabulary.names)


@pytest.mark.parametrize("name", PAGES)
def test_the_config_of_the_game_gives_the_game_of_the_page(name: str) -> None:
    config = yaml.safe_load((ROOT / "conf" / "game" / f"{name}.yaml").read_text(encoding="utf-8"))
    game, documented = make_game(config["name"], config["options"]), make_game(PAGES[name])
    assert (game.name, game.options) == (documented.name, documented.options)


def test_the_table_of_sizes_says_what_the_games_say() -> None:
    lines = (DIRECTORY.parent / "games.md").read_text(encoding="utf-8").splitlines()
    ours = {line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ")[1::2] for line in lines if "|" in line}
    games = [make_game(name) for name in ("hearts", "skat", "crew")]
    assert ours["vocabulary, `eos` included"] == [str(game.vocabulary.size) for game in games]
    assert ours["longest history, `n_positions` in the paper"] == [str(game.max_length) for game in games]
    assert ours["outcome labels"] == [f"{game.outcomes.num_labels:,}" for game in games]
