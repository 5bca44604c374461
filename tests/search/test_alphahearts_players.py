"""The players of paper 002: which deals they judge, what they make of the values, and which networks they take."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.game import Game
from learner.config import EngineConfig, QNetworkConfig, TransformerConfig
from learner.model.architecture import architecture
from learner.model.checkpoint import save_weights
from learner.model.network import PolicyValueNet
from learner.q_network.architecture import q_architecture
from learner.q_network.network import QNet
from search.alphahearts import player as alphahearts
from search.alphahearts.config import AlphaHeartsConfig, QValuesConfig
from search.alphahearts.player import AlphaHearts, QValues
from search.config import SearchConfig
from search.players.player import Turns
from search.roster.engines import check_cache
from search.roster.registry import check_networks, make_players, resolve, with_networks
from tests.search.state_models import NO_PASS, LinearStates
from tests.search.test_pimc import turns_of

SMALL = AlphaHeartsConfig(worlds=3, iterations=4)


def started(player: AlphaHearts | QValues, game: Game = NO_PASS) -> Any:
    player.start(game, 8)
    return player


def searched(config: AlphaHeartsConfig, turns: Turns, monkeypatch: pytest.MonkeyPatch, *answers: list[float]) -> tuple:
    """What the player does where the search of the n-th world says the n-th of ``answers`` of the first legal actions,
    and what it searched."""
    seen: list[tuple] = []

    class Answers:
        def __init__(self, worlds: int) -> None:
            legal = np.repeat(turns.legal, worlds // len(turns.game), axis=0)
            self.values = np.where(legal, 0.0, -np.inf)
            for row, answer in enumerate(answers):
                self.values[row, np.flatnonzero(legal[row])[: len(answer)]] = answer

        def root_values(self) -> np.ndarray:
            return self.values

    def search(
        game: Game, model: object, states: np.ndarray, seeds: np.ndarray, utility: np.ndarray, *rest: Any
    ) -> Any:
        seen.append((states, utility, *rest))
        return Answers(len(states))

    monkeypatch.setattr(alphahearts, "alphahearts", search)
    return started(AlphaHearts(LinearStates(NO_PASS), config)).act(turns), seen


def test_values_are_summed_over_the_worlds_and_the_highest_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = turns_of(NO_PASS, 2, 30).take(np.array([0]))
    first, second = np.flatnonzero(turns.legal[0])[:2]
    answers = [0.9, 0.8], [0.9, 0.8], [0.3, 0.6]  # sums of 2.1 and 2.2
    assert searched(SMALL, turns, monkeypatch, *answers)[0].tolist() == [second]
    answers = [0.9, 0.6], [0.9, 0.6], [0.6, 0.8]  # of 2.4 and 2
    assert searched(SMALL, turns, monkeypatch, *answers)[0].tolist() == [first]


def test_settings_reach_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = turns_of(NO_PASS, 4, 30)
    config = AlphaHeartsConfig(worlds=7, iterations=11, exploration=0.25, seconds=2.0)
    ((states, utility, *rest),) = searched(config, turns, monkeypatch)[1]
    count = len(turns.game)
    assert len(states) == 7 * count and rest[:2] == [11, 0.25]
    assert 0 < rest[2] <= 2.0 * count  # what drawing the worlds has left
    np.testing.assert_allclose(utility, (26 - NO_PASS.outcomes.points[:, 0]) / 26, atol=1e-7)
    assert AlphaHeartsConfig() == AlphaHeartsConfig(10, 200, 1.0, False, "own", 0.0)  # the paper's


def test_worlds_agree_with_what_the_seat_has_seen_and_the_cheat_searches_the_true_deal_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns = turns_of(NO_PASS, 4, 20)
    assert turns.hidden is not None
    ((states, *_),) = searched(SMALL, turns, monkeypatch)[1]
    tokens, _ = NO_PASS.histories(states, NO_PASS.to_move(states))
    np.testing.assert_array_equal(tokens, np.repeat(turns.tokens, 3, axis=0))
    assert len(np.unique(states["hands"], axis=0)) == len(states)
    cheat = replace(SMALL, cheat=True, worlds=1)
    ((states, *_),) = searched(cheat, turns, monkeypatch)[1]
    np.testing.assert_array_equal(states, turns.hidden)
    players = [AlphaHearts(LinearStates(NO_PASS), config) for config in (SMALL, cheat)]
    assert [player.sees_hidden for player in players] == [False, True]


def test_q_values_plays_the_highest_q_of_the_true_deal_or_the_highest_mean_over_worlds() -> None:
    turns, model = turns_of(NO_PASS, 6, 20), LinearStates(NO_PASS)
    assert turns.hidden is not None
    q = np.where(turns.legal, model.values(turns.hidden, turns.seat), -np.inf)
    cheat = started(QValues(model, QValuesConfig(cheat=True)))
    np.testing.assert_array_equal(cheat.act(turns), q.argmax(axis=1))
    judged: list[np.ndarray] = []

    class Recorded(LinearStates):
        def values(self, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
            judged.append(super().values(states, seats))
            return judged[-1]

    player = started(QValues(Recorded(NO_PASS), QValuesConfig(worlds=5)))
    actions = player.act(turns)
    means = judged[0].astype(float).reshape(len(turns.game), 5, -1).mean(axis=1)
    np.testing.assert_array_equal(actions, np.where(turns.legal, means, -np.inf).argmax(axis=1))
    assert len(judged) == 1 and cheat.sees_hidden and not player.sees_hidden


# ---- networks and names


@pytest.fixture
def networks(tmp_path: Path) -> dict[str, str]:
    """A Q-network and a transformer, small and fresh."""
    save_weights(tmp_path / "q", QNet(q_architecture(NO_PASS, QNetworkConfig(width=8))), NO_PASS)
    size = TransformerConfig(n_layer=1, n_head=2, n_embd=16)
    save_weights(tmp_path / "transformer", PolicyValueNet(architecture(NO_PASS, size)), NO_PASS)
    return {name: str(tmp_path / name) for name in ("q", "transformer")}


@pytest.mark.parametrize(
    ("name", "kind"), [("alphahearts", "transformer"), ("q_values", "transformer"), ("go_mcts", "q")]
)
def test_a_network_of_the_other_kind_is_refused_in_one_line(networks: dict[str, str], name: str, kind: str) -> None:
    for players, checkpoint in (([name, "random"], networks[kind]), ([f"{name}@{networks[kind]}"], "")):
        entrants = with_networks(resolve(players, NO_PASS), checkpoint)
        with pytest.raises(ValueError, match="model_type is"):
            check_networks(entrants, NO_PASS)
        with pytest.raises(ValueError, match="model_type is") as error:
            make_players(players, NO_PASS, SearchConfig(), checkpoint, EngineConfig(device="cpu"))
        assert "\n" not in str(error.value) and networks[kind] in str(error.value)


def test_a_q_network_takes_no_memory_for_histories(networks: dict[str, str]) -> None:
    entrants = with_networks(resolve(["alphahearts", "q_values"], NO_PASS), networks["q"])
    ((kind, arch),) = check_networks(entrants, NO_PASS)
    assert check_cache(kind, arch, EngineConfig(), 10**12, "games=1") == []
