"""Settings that a network brings, unless a name, a command or a preset says otherwise; and the page of settings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.cli import configured
from cluster.fields import flat
from games.hearts.game import HeartsGame
from games.registry import make_game
from learner.model.checkpoint import PLAYERS_FILE, installed, read_players, save_weights
from search.arena.tournament.config import TournamentConfig
from search.arena.tournament.report import footer
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.docs import NETWORKS, PAGE, networks_page, page
from search.players.config import ArgmaxValConfig
from search.roster.kinds import BUILT_IN
from search.roster.registry import checkpoint_record, make_players, resolve, with_networks
from tests.learner.material import tiny_net
from tests.test_repository import CONF

GAME = HeartsGame()
BROUGHT = {
    "argmax_val": {"threshold": 0.3, "policy_weight": 0.7},
    "go_mcts": {"policy_weight": 0.2, "exploration": 0},
}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("networks") / "tiny"
    save_weights(path, tiny_net(GAME), GAME, players=BROUGHT)
    return str(path)


def settings(name: str, network: str, search: SearchConfig) -> Any:
    """Of the player, whichever way it gets its network."""
    (own,) = resolve([f"{name}@{network}"], GAME, search)
    (lent,) = with_networks(resolve([name], GAME, search), network)
    assert own.settings == lent.settings and own.brought == lent.brought
    return own.settings


@pytest.mark.parametrize(
    ("name", "search", "threshold", "policy_weight"),
    [
        ("argmax_val", SearchConfig(), 0.3, 0.7),
        ("argmax_val:threshold=0.05", SearchConfig(), 0.05, 0.7),
        ("argmax_val", SearchConfig(argmax_val=ArgmaxValConfig(policy_weight=0.5)), 0.3, 0.5),
        ("argmax_val", SearchConfig(given=["argmax_val.threshold"]), 0.05, 0.7),
        ("argmax_val", SearchConfig(given=["go_mcts.threshold"]), 0.3, 0.7),
    ],
)
def test_a_network_brings_what_nobody_else_says(
    name: str, search: SearchConfig, threshold: float, policy_weight: float, network: str
) -> None:
    assert settings(name, network, search) == ArgmaxValConfig(threshold, policy_weight)


def test_the_record_and_the_table_of_a_tournament_say_them(network: str) -> None:
    record = checkpoint_record(with_networks(resolve(["argmax_val", "imitation"], GAME), network))
    assert record["argmax_val"]["settings"] == BROUGHT["argmax_val"] and "settings" not in record["imitation"]
    result = run_tournament(GAME, make_players(["random", "hearts_rules"], GAME, SearchConfig()), deals=1, seed=1)
    assert footer(replace(result, settings={"checkpoints": record}))[-1:] == [
        "settings of the networks: argmax_val threshold=0.3, policy_weight=0.7"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"argmax_val": 1}', "no settings by kind of player"),
        ('{"argmax_val": {"threshold": 7}}', r"argmax_val\.threshold=7\.0: must be between 0 and 1"),
        ('{"argmax_val": {"threshold": "high"}}', r"argmax_val\.threshold"),
        ('{"argmax_val": {"threshold": null}}', r"argmax_val\.threshold"),
        ('{"argmax_val": {"utility": "x"}}', r"argmax_val\.utility: a network brings threshold, policy_weight"),
        (" " * 70_000, "more than 65,536 bytes"),
    ],
)
def test_a_file_from_somebody_else_that_says_something_else_is_refused_in_a_line(
    text: str, message: str, tmp_path: Path
) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME)
    (tmp_path / "net" / PLAYERS_FILE).write_text(text)
    with pytest.raises(ValueError, match=rf"net/{PLAYERS_FILE}: .*{message}") as caught:
        resolve([f"argmax_val@{tmp_path}/net"], GAME)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["num_runs", "seconds", "lanes", "speculative", "utility"])
def test_a_network_decides_nothing_that_costs_time(key: str, tmp_path: Path) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME, players={"go_mcts": {key: 10**9}})
    with pytest.raises(ValueError, match=rf"go_mcts\.{key}: a network brings num_steps, "):
        resolve([f"go_mcts@{tmp_path}/net"], GAME)


def test_a_flipped_byte_is_noticed(tmp_path: Path) -> None:
    save_weights(tmp_path / "net", tiny_net(GAME), GAME, players=BROUGHT)
    file = tmp_path / "net" / PLAYERS_FILE
    file.write_text(file.read_text().replace("0.7", "0.6"))
    with pytest.raises(ValueError, match=f"net/{PLAYERS_FILE}: is damaged"):
        resolve([f"argmax_val@{tmp_path}/net"], GAME)


@pytest.mark.parametrize(
    ("overrides", "given"),
    [
        ([], []),
        (["search.argmax_val.threshold=0.05"], ["argmax_val.threshold"]),
        (["search={argmax_val: {threshold: 0.05}}"], ["argmax_val.threshold"]),
        (["search=skat", "search.pimc.worlds=3"], ["pimc.worlds"]),
    ],
)
def test_what_a_command_line_gives_is_known_also_where_it_is_the_default(
    overrides: list[str], given: list[str]
) -> None:
    fixed = ["game=hearts", "players=[random,random]", "deals=1", "out=x", *overrides]
    assert configured("tournament", TournamentConfig, fixed).search.given == given


def test_no_preset_gives_a_default() -> None:
    """A network's own setting would take its place: only what a command line gives is known by its name."""
    default = flat(SearchConfig().record())
    for path in CONF.glob("search/*.yaml"):
        given = {player: keys for player, keys in yaml.safe_load(path.read_text()).items() if player != "defaults"}
        assert [key for key, value in flat(given).items() if value == default[key]] == [], path


@pytest.mark.parametrize("name", installed())
def test_networks_that_ship_bring_settings_that_their_players_take(name: str) -> None:
    for kind, values in read_players(f"kibitz:{name}").items():
        (entrant,) = resolve([f"{kind}@kibitz:{name}"], make_game(name, {}))
        assert {key: getattr(entrant.settings, key) for key in values} == values


def test_the_committed_page_is_what_the_code_gives() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(BUILT_IN), "run python -m search.docs --write"
    assert NETWORKS.read_text(encoding="utf-8") == networks_page(), "run python -m search.docs --write"


def test_every_kind_and_every_setting_is_on_the_page_with_its_meaning() -> None:
    text = page(BUILT_IN)
    for kind in BUILT_IN:
        assert f"| `{kind.name}` |" in text
    assert "| `temperature` | float | `1.0` | The policy is raised to" in text
    assert "|  |" not in text, "a setting without a docstring"
