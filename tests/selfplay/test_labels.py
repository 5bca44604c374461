"""Labels of played deals against a player that is asked by hand, and what a generator writes of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster.errors import UserError
from games.config import GameConfig
from games.crew.game import CrewGame
from games.game import Game
from games.hearts.game import HeartsGame
from games.shards import Sequences, find_shards, read_shard
from learner.model.checkpoint import save_weights
from search.config import SearchConfig
from search.players.kinds import PlayerKind
from search.players.player import RulesPlayer, Turns
from search.roster import kinds
from search.roster.engines import Engines
from search.roster.kinds import support_of
from search.roster.registry import seat_players
from selfplay.config import LabelConfig
from selfplay.label import main
from selfplay.labels import label, labeller, labels_by
from tests.learner.material import tiny_net
from tests.selfplay.material import TINY_RUN, generated, initial, random_deals

HEARTS, CREW = HeartsGame(), CrewGame()


def labelled(game, count, share=1.0, keep=None) -> tuple[Sequences, np.ndarray]:
    _, sequences = random_deals(game, count, keep)
    return sequences, label(game, sequences, support_of(game).scripted(game), share, seed=3, at_once=50)


def asked_by_hand(game: Game, history: np.ndarray, place: int) -> int | None:
    """What the scripted player does after ``place`` tokens of a history; None where its seat has no choice there."""
    tokens = np.full((1, game.max_length), game.vocabulary.eos, game.vocabulary.dtype)
    tokens[0, :place] = history[:place]
    legal, nothing = game.view_legal(game.views(tokens, np.array([place]))), np.zeros(1, np.int64)
    if legal.sum() < 2:
        return None
    player = support_of(game).scripted(game)
    player.start(game, 1)
    return int(player.act(Turns(nothing, nothing, tokens, np.array([place]), legal, nothing.astype(np.uint64)))[0])


@pytest.mark.parametrize("game", [HEARTS, CREW], ids=lambda game: game.name)
def test_labels_are_what_the_player_says_at_every_choice_and_eos_elsewhere(game: Game) -> None:
    sequences, labels = labelled(game, 2)
    assert labels.shape == sequences.tokens.shape and labels.dtype == sequences.tokens.dtype
    for tokens, found in zip(sequences.tokens, labels, strict=True):
        for place in range(game.max_length):
            ended = (tokens[:place] == game.vocabulary.eos).any()
            said = None if ended else asked_by_hand(game, tokens, place)
            assert found[place] == (game.vocabulary.eos if said is None else said)
    differ = (labels != game.vocabulary.eos) & (labels != sequences.tokens)
    assert differ.sum() > 10  # a random player does something else


def test_a_share_of_the_decisions_is_labelled_as_all_of_them_would_be() -> None:
    (sequences, every), (_, some) = labelled(HEARTS, 30), labelled(HEARTS, 30, share=0.25)
    eos = HEARTS.vocabulary.eos
    there = some != eos
    assert (some[there] == every[there]).all() and len(sequences) == 120
    assert 0.2 < there.sum() / (every != eos).sum() < 0.3


def test_a_sequence_has_the_same_labels_whichever_others_are_kept() -> None:
    keep = np.zeros((6, 4), bool)
    keep[[0, 2, 5], [1, 3, 0]] = True
    sequences, labels = labelled(HEARTS, 6, keep=keep)
    whole, every = labelled(HEARTS, 6)
    for row in range(3):
        there = (whole.game == sequences.game[row]) & (whole.seat == sequences.seat[row])
        assert np.array_equal(labels[row], every[there][0])


# ---- players that label


class Sees(RulesPlayer):
    """A player without settings that sees hidden cards, as the program XSkat does."""

    name, sees_hidden = "sees", True


def test_a_player_without_settings_that_sees_hidden_cards_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = PlayerKind(name="sees", summary="Sees.", factory=lambda game, model, settings: Sees())
    monkeypatch.setattr(kinds, "BUILT_IN", (*kinds.BUILT_IN, kind))
    with pytest.raises(ValueError, match="player=sees: it sees hidden cards"):
        labeller("sees", "player", HEARTS, SearchConfig())


def test_a_network_labels_in_parts_that_its_cache_holds(tmp_path: Path) -> None:
    net = str(tmp_path / "net")
    save_weights(net, tiny_net(HEARTS), HEARTS)
    tight = replace(TINY_RUN.engine, cache_mb=1)
    _, sequences = random_deals(HEARTS, 400)
    entrant = labeller(f"argmax_val@{net}", "player", HEARTS, SearchConfig())
    engines = Engines(HEARTS, tight)
    (player,) = seat_players([entrant], ["argmax_val"], HEARTS, engines)
    with pytest.raises(ValueError, match="cache of keys and values is full"):
        label(HEARTS, sequences, player, 1.0, seed=1, at_once=1600)
    (player,) = seat_players([entrant], ["argmax_val"], HEARTS, Engines(HEARTS, tight))
    labels = label(HEARTS, sequences, player, 1.0, seed=1, at_once=16)
    assert (labels != HEARTS.vocabulary.eos).sum() > 1600 * 5
    assert labels_by(entrant, engines) == f"argmax_val@{engines.checkpoint_id(net)}"


# ---- shards that exist


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of random play."""
    root = tmp_path_factory.mktemp("shards")
    for number in range(2):
        one = initial(["random"], shard=number)
        generated(one, root / one.name)
    return root


def command(shards: Path, out: Path, **changes: Any) -> LabelConfig:
    given = {"player": "hearts_rules", **changes}
    return LabelConfig(game=GameConfig("hearts"), data=str(shards), out=str(out), **given)


def test_shards_that_exist_are_labelled_as_a_generator_would_and_stay_as_they_are(shards: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in shards.iterdir()}
    main(command(shards, tmp_path / "out"))
    assert {path.name: path.read_bytes() for path in shards.iterdir()} == before
    for path in find_shards(shards):
        old, new = read_shard(path, HEARTS), read_shard(tmp_path / "out" / Path(path).name, HEARTS)
        expected = label(HEARTS, old, support_of(HEARTS).scripted(HEARTS), 1.0, seed=0, at_once=9)  # draws no numbers
        assert np.array_equal(new.labels, expected)
        assert np.array_equal(new.tokens, old.tokens) and np.array_equal(new.outcome, old.outcome)


def test_the_same_command_labels_what_is_missing_with_the_same_bytes_and_another_is_refused(shards, tmp_path, capsys):
    config = command(shards, tmp_path / "out", player="random", share=0.5)
    main(config)
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    next((tmp_path / "out").iterdir()).unlink()
    main(config)
    assert "2 shards labelled by random, 1 of them now" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == written
    for changes, message in (
        ({"player": "hearts_simple", "share": 0.5}, r"its labels is 'random', and this command's 'hearts_simple'"),
        ({"player": "random"}, r"its label_share is '0.5', and this command's '1.0'; take another out"),
    ):
        with pytest.raises(UserError, match=message):
            main(command(shards, tmp_path / "out", **changes))


def test_players_that_cannot_label_are_refused_and_shards_are_not_written_over(shards: Path, tmp_path: Path) -> None:
    for player, message in (
        ("pimc:cheat=true:worlds=1", "it sees hidden cards"),
        ("imitation", "needs a network: give"),
    ):
        with pytest.raises(UserError, match=message):
            main(command(shards, tmp_path / "out", player=player))
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="holds the shards to label; name another directory"):
        main(command(shards, shards))
