"""What Q-networks learn from: deals replayed from shards, targets by hand, and a training that can be killed."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cluster.errors import UserError
from games.branches import Branches
from games.config import GameConfig
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.shards import Sequences, write_shard
from learner.bits import packed, unpacked
from learner.config import QNetworkConfig
from learner.network_kind import TrainingSetup
from learner.q_network.data import load_decisions, targets
from learner.q_network.decisions import NONE, decisions_of, returns
from learner.q_network.kind import KIND
from learner.q_network.kind import KIND as Q_KIND
from learner.q_network.objective import QObjective
from learner.task import TrainingTask, run_task
from learner.training.parallel import Group
from tests.learner.material import CPU, NO_PASS, branched_shard, changed, random_games, tiny_q_net, train
from tests.learner.test_resume import Q_LEARNER as LEARNER
from tests.learner.test_resume import Q

GAME = HeartsGame(**NO_PASS)

TRICKS = """
0: 2H AH QH 4H, 1: AS QD 4S JS, 1: AC 2C TC 7C, 1: 3S QC KS 2S, 3: KD AD 4D TD, 0: JD 6S 7D 9D, 0: 4C KC JC 8C,
1: KH 6H 8H TH, 1: JH 3H QS 7H, 1: 7S 6C 8S 9S, 0: 6D TS 2D 8D, 3: 5S 5C 9H 5H, 3: 3D 5D 9C 3C
"""
"""The deal of seed 3: who leads to each trick, and the four cards."""


def take(sequences: Sequences, rows: np.ndarray) -> Sequences:
    columns = ("tokens", "outcome", "seat", "player", "deal_seed", "game")
    return Sequences(**{name: getattr(sequences, name)[rows] for name in columns})


def one_deal() -> tuple[Sequences, list[tuple[int, str]]]:
    """``TRICKS`` as all four seats saw them, and who played what."""
    plays = []
    for trick in TRICKS.replace("\n", " ").split(","):
        leader, cards = trick.split(":")
        plays += [((int(leader) + nth) % 4, card) for nth, card in enumerate(cards.split())]
    states = GAME.deal(np.array([3], np.uint64))
    for seat, card in plays:
        assert GAME.to_move(states)[0] == seat
        GAME.play(states, np.array([GAME.vocabulary.names.index(card)]))
    tokens = np.concatenate([GAME.histories(states, np.array([seat]))[0] for seat in range(4)])
    players = np.full(4, "random", object)
    return Sequences(tokens, GAME.outcome(states)[0], range(4), players, np.full(4, 3), np.zeros(4)), plays


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> list[str]:
    """Two of ten deals, the later of iteration 1."""
    paths = [str(tmp_path_factory.mktemp("q") / f"{number}.parquet") for number in range(2)]
    for number, path in enumerate(paths):
        write_shard(path, random_games(GAME, 10, number), GAME, {"iteration": str(number)})
    return paths


# ---- decisions and targets


def test_rewards_and_targets_of_one_deal_by_hand(tmp_path) -> None:
    sequences, plays = one_deal()
    decisions = decisions_of(GAME, sequences, "deal")
    names = [GAME.vocabulary.names[action] for action in decisions.action]
    assert [(int(seat), name) for seat, name in zip(decisions.seat, names, strict=True)] == plays
    at = {name: row for row, name in enumerate(names)}
    # Seat 1 takes four hearts with the ace, four with the king, three and the queen of spades with the jack; seat 3
    # takes two with the five of spades. Nobody takes anything else.
    taken = {"AH": -4, "KH": -4, "JH": -16, "5S": -2}
    assert {name: reward for name, reward in zip(names, decisions.reward, strict=True) if reward} == taken
    assert names[decisions.following[at["AH"]]] == "AS" and names[decisions.following[at["JH"]]] == "7S"
    assert [name for name in names if decisions.following[at[name]] == NONE] == ["3D", "5D", "9C", "3C"]
    discounted = returns(decisions, 0.5)
    assert discounted[at["KH"]] == -4 + 0.5 * -16 and discounted[at["TS"]] == 0
    assert discounted[at["8H"]] == 0.5**4 * -2  # QS, 8S, 8D, 5S

    write_shard(tmp_path / "deal.parquet", sequences, GAME, {})
    data = load_decisions(GAME, [str(tmp_path / "deal.parquet")], LEARNER, 0.99, CPU)
    values = -torch.arange(61.0).expand(52, 61)  # of every next decision: the card of the lowest number is best
    found = targets(data, torch.arange(52), values, 0.99)
    number = GAME.vocabulary.names.index
    by_hand = {
        "AH": -4 - 0.99 * number("3S"),  # seat 1 leads next, its lowest card is the three of spades
        "2H": -0.99 * number("2S"),  # seat 0 follows to spades next, with two, nine or jack
        "JH": -16 - 0.99 * number("7S"),
        "5S": -2 - 0.99 * number("3D"),  # its last card
        "3D": 0.0,
        "3C": 0.0,
    }
    for name, target in by_hand.items():
        assert found[at[name]].item() == pytest.approx(target), name


def test_branches_of_one_deal_by_hand(tmp_path) -> None:
    sequences, plays = one_deal()
    number, label = GAME.vocabulary.names.index, {int(row[0]): at for at, row in enumerate(GAME.outcomes.points)}
    # A seat sees its own cards twice, when they are dealt and when it plays them.
    places = [np.flatnonzero(sequences.tokens[seat] == number(card))[-1] for seat, card in ((1, "JH"), (2, "3H"))]
    # Seat 1 has made 8 points when it leads the jack of hearts; with the seven of spades it would have ended with 9.
    # Seat 2 has none when it follows with the three of hearts, which it must.
    branches = Branches.of_rows(
        4,
        row=np.array([1, 1, 2]),
        place=np.array([places[0], places[0], places[1]]),
        token=np.array([number("JH"), number("7S"), number("3H")]),
        outcome=np.array([label[24], label[9], label[2]]),
    )
    write_shard(tmp_path / "deal.parquet", replace(sequences, branches=branches), GAME, {})
    config = changed(LEARNER, branch_weight=0.5)
    data = load_decisions(GAME, [str(tmp_path / "deal.parquet")], config, 0.99, CPU)
    at = {card: row for row, (_, card) in enumerate(plays)}
    goals = data.branches.float()
    assert goals[at["JH"], number("JH")] == -16 and goals[at["JH"], number("7S")] == -1
    assert goals[at["3H"], number("3H")] == -2
    assert (~goals.isnan()).sum() == 3

    net = tiny_q_net(GAME, 1, width=Q.width)
    objective = QObjective(TrainingSetup(KIND, GAME, Q, config, [str(tmp_path / "deal.parquet")]))
    objective.begin(net)
    rows = torch.tensor([at["JH"], at["AS"], at["3H"]])
    losses, values = objective.errors(rows)
    q = net(data.states(rows))
    q = q.detach()
    errors = [q[0, number("JH")] + 16, q[0, number("7S")] + 1, q[2, number("3H")] + 2]
    # The paper's rewards are shares of 26 points, and its Huber loss is linear from 1. In points it is 26**2 as large.
    shares = [float(error) / 26 for error in errors]
    huber = [26**2 * (0.5 * e**2 if abs(e) <= 1 else abs(e) - 0.5) for e in shares]
    assert losses["branch_loss"].item() == pytest.approx(sum(huber) / 3, rel=1e-5)
    goal = targets(data, rows, net(data.states(data.following[rows])), 0.99)
    plain = 26**2 * torch.nn.functional.huber_loss(values / 26, goal / 26)
    assert losses["loss"].item() == pytest.approx(plain.item() + 0.5 * losses["branch_loss"].item(), rel=1e-5)


def test_an_action_with_several_outcomes_has_the_mean_of_their_points() -> None:
    sequences, _ = one_deal()
    number, label = GAME.vocabulary.names.index, {int(row[0]): at for at, row in enumerate(GAME.outcomes.points)}
    place = np.flatnonzero(sequences.tokens[1] == number("JH"))[-1]  # seat 1 has made 8 points
    tokens, ends = [number("JH"), number("7S"), number("7S"), number("7S")], [24, 9, 10, 14]
    branches = Branches.of_rows(4, np.ones(4, int), np.full(4, place), tokens, [label[end] for end in ends])
    goals = decisions_of(GAME, replace(sequences, branches=branches), "deal", branches=True).branches
    assert goals[~np.isnan(goals)].tolist() == [-3.0, -16.0] and number("7S") < number("JH")  # 8 - 11, 8 - 24


def test_branches_that_are_no_decisions_of_their_deal_are_refused() -> None:
    sequences, _ = one_deal()
    branches = Branches.of_rows(4, *(np.array([value]) for value in (1, 3, 10, 0)))  # nobody decides so early
    with pytest.raises(ValueError, match=r"bad\.parquet: the histories of deal 0 are not those"):
        decisions_of(GAME, replace(sequences, branches=branches), "bad.parquet", branches=True)


@pytest.mark.parametrize("options", [NO_PASS, {}, {"jd_bonus": True, "moon": "shooter_minus_26"}])
def test_rewards_add_up_to_minus_the_points_of_every_deal(options) -> None:
    game = HeartsGame(**options)
    sequences = random_games(game, 2000, 5)
    points = game.outcomes.points[sequences.outcome, 0]
    assert (abs(points) == 26).sum() >= 4  # there is a moon among them
    decisions = decisions_of(game, sequences, "shard")
    seeds, deal = np.unique(decisions.deal_seed, return_inverse=True)
    sums = np.zeros((len(seeds), 4))
    np.add.at(sums, (deal, decisions.seat), decisions.reward)
    np.testing.assert_array_equal(sums[np.searchsorted(seeds, sequences.deal_seed), sequences.seat], -points)
    first = np.unique(4 * deal + decisions.seat, return_index=True)[1]
    np.testing.assert_allclose(returns(decisions, 1.0)[first], sums.reshape(-1), atol=1e-4)


def test_a_decision_is_what_the_seat_reads_rules_of_its_state_and_what_it_could_do(shards) -> None:
    data, row = load_decisions(GAME, shards, LEARNER, 0.99, CPU), 0
    for number in range(2):
        states, before = GAME.deal(derive_many(number, 10)), np.full((10, 4), NONE)
        for _ in range(52):
            rows, seats = torch.arange(row, row + 10), GAME.to_move(states)
            np.testing.assert_array_equal(data.states(rows), GAME.state_features.encode(states, seats))
            np.testing.assert_array_equal(data.choices(rows), GAME.legal(states))
            earlier = before[np.arange(10), seats]
            np.testing.assert_array_equal(data.following[earlier[earlier != NONE]], rows[earlier != NONE])
            before[np.arange(10), seats] = rows
            GAME.play(states, data.action[rows].numpy())
            row += 10
        assert (data.following[before] == NONE).all() and (GAME.to_move(states) < 0).all()
    assert len(data.action) == row


@pytest.mark.parametrize(("weight", "bound"), [(0.0, 6000), (1.0, 12000)])
def test_a_million_deals_fit_24_gib(tmp_path: Path, weight: float, bound: int) -> None:
    """Bytes a deal, which are all that grows: held in the end, and at most while shards are read."""
    paths = [branched_shard(GAME, tmp_path, 100, number) for number in range(8)]

    def peak_of(count: int) -> int:
        tracemalloc.start()
        data = load_decisions(GAME, paths[:count], changed(LEARNER, branch_weight=weight), 0.99, CPU)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert sum(column.nbytes for column in vars(data).values() if hasattr(column, "nbytes")) < 100 * count * bound
        return peak

    assert peak_of(8) - peak_of(2) < 600 * bound


def test_states_that_are_told_in_more_than_bits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"numbers up to 3; StateFeatures\.encode gives 0 or 1 alone"):
        packed(np.array([[0, 3]], np.uint8))


def test_deals_that_are_not_whole_or_not_of_their_seeds_are_refused() -> None:
    sequences = random_games(GAME, 3, 1)
    missing = take(sequences, np.flatnonzero((sequences.game != 1) | (sequences.seat != 2)))
    with pytest.raises(ValueError, match=r"a\.parquet: of deal 1 it holds seats \[0, 1, 3\], .* from all 4; keep"):
        decisions_of(GAME, missing, "a.parquet")
    moved = replace(sequences, deal_seed=sequences.deal_seed + np.uint64(1))
    with pytest.raises(ValueError, match=r"a\.parquet: the histories of deal \d are not those of the cards"):
        decisions_of(GAME, moved, "a.parquet")
    tokens = sequences.tokens.copy()
    row = np.flatnonzero((sequences.game == 2) & (sequences.seat == 3))[0]
    tokens[row, 1:3] = tokens[row, 2:0:-1]  # two cards dealt in another order: nobody plays otherwise
    with pytest.raises(ValueError, match=r"a\.parquet: the histories of deal 2 are not those of the cards"):
        decisions_of(GAME, replace(sequences, tokens=tokens), "a.parquet")


# ---- training


def test_the_target_network_follows_only_now_and_then(shards, tmp_path) -> None:
    weights = {}
    for every in (0, 5, 100):  # in 14 steps 100 is never too
        train(GAME, replace(Q, target_every_steps=every), LEARNER, shards, tmp_path / str(every))
        weights[every] = Q_KIND.load(tmp_path / str(every), GAME).head.weight
    assert torch.equal(weights[0], weights[100]) and not torch.equal(weights[0], weights[5])


def test_one_step_for_every_four_decisions_of_the_newest_iteration(shards, tmp_path) -> None:
    whole = replace(LEARNER, max_steps=0, batch_size=105, checkpoint_every_steps=0)
    metrics = train(GAME, Q, whole, shards, tmp_path / "one")
    assert metrics["step"] == 10 * 52 // 4 and metrics["decisions"] == 20 * 52 and "validation_loss" not in metrics
    seldom, twice = replace(Q, states_per_step=52), replace(whole, num_epochs=2)
    assert train(GAME, seldom, twice, shards, tmp_path / "two")["step"] == 2 * 10


@pytest.mark.slow
def test_training_learns_what_the_last_cards_cost(tmp_path) -> None:
    """With one card left q has nothing to guess, and with two the maximum behind it is over one card."""
    sequences = random_games(GAME, 20, 5)
    write_shard(tmp_path / "games.parquet", sequences, GAME, {})
    learner = replace(LEARNER, max_steps=500, batch_size=128, learning_rate=3e-3, schedule="linear", log_every_steps=50)
    config = QNetworkConfig(width=64, target_every_steps=50, states_per_step=1)
    train(GAME, config, learner, [str(tmp_path / "games.parquet")], tmp_path / "out")
    decisions, net = decisions_of(GAME, sequences, "games"), Q_KIND.load(tmp_path / "out", GAME)
    numbers = unpacked(torch.from_numpy(decisions.features), GAME.state_features.size)
    with torch.no_grad():
        values = net(numbers).numpy()[np.arange(len(decisions)), decisions.action]
    made, left = returns(decisions, config.discount), numbers[:, :52].numpy().sum(axis=1)
    assert made[left <= 2].min() < -10
    assert np.abs(values - made)[left == 1].max() < 0.5
    assert np.abs(values - made)[left == 2].max() < 1.0


def test_a_task_names_the_network_and_what_cannot_be_is_refused(shards, tmp_path) -> None:
    learner = replace(LEARNER, max_steps=1)
    task = TrainingTask(GameConfig("hearts", NO_PASS), Q, learner, tuple(shards), str(tmp_path / "out"), None, 0)
    assert run_task(task, lambda metrics: None)["step"] == 1
    assert Q_KIND.load(tmp_path / "out", GAME).arch.width == 16
    again = replace(task, out=str(tmp_path / "more"))
    with pytest.raises(UserError, match=r"cluster\.learners=2: a Q-network is trained by one learner"):
        run_task(again, lambda metrics: None, Group("127.0.0.1", 2))
    for wrong, message in (
        (
            {"learner": changed(learner, branch_weight=1.0)},
            r"learner\.loss\.branch_weight=1\.0: shards .* hold no branches",
        ),
        ({"game": GameConfig("skat")}, "model.kind=q_network: skat is won by points, and q counts them as lost"),
        ({"shards": (str(tmp_path / "none.parquet"),)}, r"none\.parquet: no such file"),
    ):
        with pytest.raises(UserError, match=message):
            run_task(replace(again, **wrong), lambda metrics: None)
    assert not (tmp_path / "more").exists()
