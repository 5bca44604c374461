"""A run that learns by a policy gradient: who sits where, what its shards hold, its magnets, what a kill changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cluster.errors import UserError
from games.hearts.game import HeartsGame
from games.shards import read_shard
from learner.config import LearnerConfig
from learner.training import loop as training
from selfplay.checks import check
from selfplay.config import SelfplayConfig, TrainConfig
from selfplay.plan import Network, Seating, ShardPlan, num_kept, plan_shards, seats
from tests.learner.material import changed
from tests.learner.test_train import KilledError
from tests.selfplay.material import run, tiny_config

GAME = HeartsGame()


def gradient_config(directory: str, **selfplay: object) -> TrainConfig:
    """Four iterations of a few deals; magnets stay for two of them."""
    config = tiny_config(directory)
    first = {"policy": {"kind": "played"}, "loss": {"outcome_positions": 4}}
    config.learner = changed(
        config.learner, kind="gradient", outcome_positions=0, magnet_weight=0.2, magnet_iterations=2
    )
    games = {"newest_player": "imitation", "probabilities": True, "population": False, "past_share": 0.25}
    config.selfplay = replace(config.selfplay, iterations=4, **(games | selfplay))
    return replace(config, initial_learner=first)


def plans(iteration: int, share: float = 0.25) -> list[ShardPlan]:
    config = SelfplayConfig(initial_games=40, games_per_iteration=4000, population=False, past_share=share)
    return plan_shards(config, iteration, 7, cooperative=False, checkpoint_of=lambda i: f"net{i}")


def test_earlier_networks_take_their_share_of_the_seats_and_the_newest_has_one_at_least() -> None:
    (plan,) = plans(3)
    assert plan.seating is Seating.MIXED and [network.name for network in plan.networks] == ["000", "001", "002"]
    seating, keep = seats(plan, plan.seat_bits(4))
    assert (keep == (seating == 0)).all() and keep.any(axis=1).all() and num_kept(plan, 4) == keep.sum()
    counts = np.bincount(seating.ravel(), minlength=4) / seating.size
    # A seat in four is the newest network's in any case, of the others a quarter are the two earlier ones'.
    np.testing.assert_allclose(counts, [1 - 0.25 * 0.75, 0.75 * 0.125, 0.75 * 0.125, 0.0], atol=0.01)


def test_with_one_network_it_plays_every_seat() -> None:
    (plan,) = plans(1)
    assert plan.networks == (Network("000", "net0"),)
    assert (seats(plan, plan.seat_bits(4))[0] == 0).all()


def test_a_run_goes_from_imitation_to_its_own_games(tmp_path: Path) -> None:
    config = gradient_config(str(tmp_path / "run"))
    check(config)
    workers = run(config)
    for iteration in range(5):
        for path in sorted((tmp_path / f"run/iterations/{iteration:03d}/shards").glob("*.parquet")):
            shard = read_shard(path, GAME)
            assert (shard.probabilities is None) == (iteration == 0)
            if iteration > 1:
                assert set(shard.player) == {f"imitation@{iteration - 1:03d}"}
    magnets = [task.learner.policy.magnet[-len("000/checkpoint") :] for task in workers.trained]
    assert magnets == ["", "000/checkpoint", "000/checkpoint", "002/checkpoint", "002/checkpoint"]


def test_a_killed_training_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calm, killed = (gradient_config(str(tmp_path / name)) for name in ("calm", "killed"))
    for config in (calm, killed):
        config.learner = replace(config.learner, checkpoint_every_steps=1)
    run(calm)
    saves, save = list[str](), training.save_partial

    def killing(out: str, kept: object) -> None:
        save(out, kept)
        saves.append(out)
        if len(saves) == 12:
            raise KilledError

    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr(training, "save_partial", killing)
        run(killed)
    assert saves[-1].endswith("002/checkpoint")
    run(killed)
    for path in sorted((tmp_path / "calm").glob("iterations/*/*/*")):
        if path.suffix in (".safetensors", ".parquet"):
            assert path.read_bytes() == (tmp_path / "killed" / path.relative_to(tmp_path / "calm")).read_bytes(), path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probabilities": False}, "learner.policy.kind=gradient: selfplay.probabilities=False makes none; give it"),
        ({"newest_player": "argmax_val"}, "selfplay.newest_player=argmax_val: it does not draw from the policy"),
        (
            {"newest_player": "imitation:greedy=true"},
            "selfplay.newest_player=imitation:greedy=true: it does not draw from the policy",
        ),
        (
            {"newest_player": "imitation:temperature=2"},
            "selfplay.newest_player=imitation:temperature=2: it does not draw from the policy",
        ),
        (
            {"newest_player": "imitation:explore=0.1"},
            "selfplay.newest_player=imitation:explore=0.1: it does not draw from the policy",
        ),
        ({"population": True}, "selfplay.past_share=0.25: must be 0 with selfplay.population=true"),
        ({"past_share": 1.0}, "selfplay.past_share=1.0: must be"),
    ],
)
def test_settings_that_cannot_be(change: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, UserError), match=message):
        check(gradient_config(str(tmp_path / "run"), **change))
    assert not (tmp_path / "run").exists()


def test_probabilities_that_nobody_reads_are_refused(tmp_path: Path) -> None:
    config = gradient_config(str(tmp_path / "run"))
    config.learner, config.initial_learner = LearnerConfig(), {}
    with pytest.raises(UserError, match=r"selfplay\.probabilities=True: no network learns from them"):
        check(config)


def test_a_temperature_in_points_is_refused(tmp_path: Path) -> None:
    config = gradient_config(str(tmp_path / "run"))
    config.learner.policy.temperature = 30.0
    with pytest.raises(UserError, match=r"learner\.policy\.temperature=30\.0: must be at most"):
        check(config)


def test_the_first_network_cannot_learn_by_a_gradient(tmp_path: Path) -> None:
    config = gradient_config(str(tmp_path / "run"))
    config.initial_learner = {}
    with pytest.raises(UserError, match=r"initial_learner\.policy\.kind=gradient: the players of iteration 0"):
        check(config)
