"""A network to give away has the same weights in half the space, and is found by name once it is installed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from games.hearts.game import HeartsGame
from games.registry import make_game
from learner.config import EngineConfig
from learner.export import main
from learner.model import checkpoint
from learner.model.checkpoint import checkpoint_id, find, load_weights, save_weights
from learner.q_network.kind import KIND as Q_KIND
from search.arena.tournament.tournament import run_tournament
from search.config import SearchConfig
from search.roster.registry import make_players
from tests.learner.material import NO_PASS, TINY, tiny_net, tiny_q_net

GAME = HeartsGame(moon="shooter_minus_26")


def test_its_weights_are_rounded_to_bfloat16_and_it_plays_the_same_game(tmp_path: Path) -> None:
    net = tiny_net(GAME)
    save_weights(tmp_path / "net", net, GAME)
    assert main([str(tmp_path / "net"), str(tmp_path / "out")]) == 0
    found = load_weights(tmp_path / "out", GAME).state_dict()
    for name, tensor in net.state_dict().items():
        assert found[name].dtype == torch.float32
        assert torch.equal(found[name], tensor.bfloat16().float()), name
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("net", "out")]
    assert sizes[1] < 0.55 * sizes[0]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"config.json", "digests.json", "model.safetensors"}


def test_of_several_the_mean_of_their_weights_is_given_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nets = [tiny_net(GAME, seed=seed) for seed in (1, 2, 3)]
    names = [str(tmp_path / name) for name in "abc"]
    for net, name in zip(nets, names, strict=True):
        save_weights(name, net, GAME)
    assert main([*names, str(tmp_path / "out")]) == 0
    found = load_weights(tmp_path / "out", GAME).state_dict()
    for key, part in found.items():
        expected = torch.stack([net.state_dict()[key] for net in nets]).mean(0).bfloat16().float()
        torch.testing.assert_close(part, expected, msg=key)
    assert main([names[0], names[0], str(tmp_path / "none")]) == 2
    assert "a: given twice" in capsys.readouterr().err
    save_weights(tmp_path / "wide", tiny_net(GAME, config=replace(TINY, n_embd=2 * TINY.n_embd)), GAME)
    assert main([names[0], str(tmp_path / "wide"), str(tmp_path / "none")]) == 2
    assert "wide: is of another shape than" in capsys.readouterr().err and not (tmp_path / "none").exists()


def test_a_q_network_can_be_given_away_too(tmp_path: Path) -> None:
    net = tiny_q_net(GAME)
    save_weights(tmp_path / "net", net, GAME)
    assert main([str(tmp_path / "net"), str(tmp_path / "out")]) == 0
    found = Q_KIND.load(tmp_path / "out", GAME)
    assert torch.equal(found.head.weight, net.head.weight.bfloat16().float())


def test_what_cannot_be_given_away_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere"), str(tmp_path / "out")]) == 2
    assert "nowhere: no such directory" in capsys.readouterr().err
    save_weights(tmp_path / "net", tiny_net(GAME), GAME)
    assert main([str(tmp_path / "net"), str(tmp_path / "net")]) == 2
    assert "net: exists already" in capsys.readouterr().err


def test_a_network_of_the_package_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "NETWORKS", tmp_path)
    with pytest.raises(ValueError, match=r"kibitz:own: no such network comes with Kibitz; there is none"):
        load_weights("kibitz:own", GAME)
    save_weights(tmp_path / "own", tiny_net(GAME), GAME)
    assert find("kibitz:own") == tmp_path / "own"
    assert checkpoint_id("kibitz:own") == checkpoint_id(tmp_path / "own")
    own = re.escape("kibitz:heart: no such network comes with Kibitz; there is own (hearts with moon=shooter_minus_26)")
    with pytest.raises(ValueError, match=f"^{own}$"):
        find("kibitz:heart")


@pytest.mark.parametrize(
    ("load", "name", "game", "message"),
    [
        (load_weights, "hearts", "skat", "game is 'hearts', the game in use has 'skat'; u"),
        (Q_KIND.load, "alphahearts", "hearts", "game_options is {'pass_cards': False, "),
        (load_weights, "alphahearts", "hearts", "model_type is 'kibitz_q_network'"),
        (Q_KIND.load, "hearts", "hearts", "model_type is 'kibitz_policy_value'"),
    ],
)
def test_a_network_of_the_package_that_does_not_fit_is_called_by_its_name(load, name, game, message) -> None:
    with pytest.raises(ValueError, match=rf"^kibitz:{name}/config\.json: {message}"):
        load(f"kibitz:{name}", make_game(game))


def test_every_network_of_the_package_has_a_card_and_is_small() -> None:
    names = sorted(path.parent.name for path in checkpoint.NETWORKS.glob("*/config.json"))
    assert {"hearts", "skat", "crew", "alphahearts"} <= set(names)
    for name in names:
        files = {path.name: path.stat().st_size for path in find(f"kibitz:{name}").iterdir()}
        assert files.keys() - {"players.json"} == {"README.md", "config.json", "digests.json", "model.safetensors"}
        assert files["model.safetensors"] < 8_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "players", "deals", "seating"),
    [
        ({}, ["argmax_val@kibitz:hearts", "hearts_rules"], 40, "all"),
        (
            NO_PASS,
            [
                "alphahearts:cheat=true:iterations=20@kibitz:alphahearts",
                "pimc:worlds=1:runs=20:cheat=true:exploration=1:utility=own",
            ],
            60,
            "pairs",
        ),
    ],
    ids=["hearts", "alphahearts"],
)
def test_a_network_of_the_package_plays_better_than_without_it(options, players, deals, seating):
    """The rules of thumb, and the same search with random rollouts; ``make cards`` measures what cards say."""
    game = HeartsGame(**options)
    made = make_players(players, game, SearchConfig(), engine=EngineConfig(device="cpu"))
    result = run_tournament(game, made, deals, 11, 120, seating=seating)
    assert result.columns[0].comparisons[0].advantage > 0.2
