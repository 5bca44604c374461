"""Networks that read a board by convolutions: against the transformers model, and by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from games.branches import Branches
from games.hearts.game import HeartsGame
from games.rng import derive_many
from games.samegame.game import SameGame
from games.shards import write_shard
from learner import conformance
from learner.config import EngineConfig, LearnerConfig, PolicyConfig
from learner.inference.engine import QueryEngine
from learner.model.architecture import architecture
from learner.model.board import BoardEmbedding
from learner.model.checkpoint import load_weights, save_weights
from learner.model.rule_inputs import RuleInputs, Rules
from learner.network_kind import TrainingSetup
from learner.observation_model import EMPTY
from learner.training.batches import Recipe, make_batch
from learner.training.data import TrainingData, load_data
from learner.training.loss import losses
from learner.training.policies.policy import PLAYED
from learner.training.policies.values import Values
from learner.transformer import KIND
from tests.games.material import histories_of
from tests.games.samegame import plain
from tests.learner.material import BOARD, ON_BLOCKS, ON_BOARD, TINY, inputs, tiny_net, train, transformers_model

GAME, FIRST = BOARD, 19
CPU = EngineConfig(device="cpu")
UTILITY = GAME.outcomes.utility()


def games(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    return histories_of(GAME, count, seed)


def test_a_board_by_hand() -> None:
    """2 x 3 cells, colours 0 and 1, columns 0 0 / 0 1 / 1 1: two blocks of three, of six tiles; then one is taken."""
    game = SameGame(rows=2, columns=3, colours=2)
    tokens = np.array([[0, 0, 0, 1, 1, 1, 2 + 1]])
    for length, numbers in (
        (5, np.zeros((2, 3, 3))),
        (6, [[[128, 0, 0], [128, 0, 0], [0, 128, 0]], [[128, 0, 0], [0, 128, 0], [0, 128, 0]]]),
        (7, [[[0, 255, 0], [0, 255, 0], [0, 0, 25]], [[0, 0, 25], [0, 255, 0], [0, 0, 25]]]),
    ):
        views = game.views(tokens, np.array([length]))
        assert game.features["board"].encode(views)[0].tolist() == np.array(numbers).tolist(), length


def test_blocks_are_what_plain_python_finds() -> None:
    tokens, lengths = games(60, seed=5)
    at = np.minimum(lengths - 1, 20 + np.arange(60) % 6)
    numbers, seen = GAME.features["blocks"].encode(GAME.views(tokens, at)), 0
    for row, length in enumerate(at):
        board = plain.board_of(tokens[row, :20] + 1, 5)
        for token in tokens[row, 20:length]:
            board = plain.removed(board, {3 + plain.cell(mask): mask for mask in plain.blocks(board)}[int(token)])
        assert np.count_nonzero(numbers[row].any(-1)) == len(plain.blocks(board))
        most = max(int((board == colour).sum()) for colour in (1, 2, 3))
        for mask in plain.blocks(board):
            after, colour = plain.removed(board, mask), int(board[mask][0])
            sizes = [(int(after[block][0]) == colour, int(block.sum())) for block in plain.blocks(after)]
            assert numbers[row, 3 + plain.cell(mask)].tolist() == [
                mask.sum(),
                (after == colour).sum(),
                (board == colour).sum() == most,
                len(sizes),
                (after > 0).sum() - sum(size for _, size in sizes),
                max([size for own, size in sizes if own], default=0),
                max([size for own, size in sizes if not own], default=0),
                not sizes,
                not after.any(),
            ]
            seen += 1
    assert seen > 100


def test_convolutions_by_hand() -> None:
    """One filter that adds up a 3 x 3 window of the only plane, 255 counting as 10; ELU of a negative sum."""
    board = BoardEmbedding({"rows": 3, "columns": 4, "planes": 1, "channels": [1]}, 2)
    with torch.no_grad():
        board.convolutions[0].weight.fill_(1.0)
        board.convolutions[0].bias.fill_(-25.0)
        board.out.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        board.out.bias.fill_(0.5)
    numbers = torch.zeros(2, 12, dtype=torch.uint8)
    numbers[0, [0, 1, 5]] = 255  # the first window sees all three, the second two of them
    found = board(numbers, torch.float32)
    assert found[0].tolist() == pytest.approx([5.5, 0.5 + np.expm1(-5.0)])
    assert found[1].tolist() == [0.0, 0.0], "there is no board yet"


@pytest.mark.parametrize("trunk", ["auto", "torch"])
def test_without_history_every_position_stands_alone(trunk) -> None:
    net, (tokens, lengths) = tiny_net(GAME, config=ON_BOARD), games(1)
    history, length = tokens[0], int(lengths[0]) - 1
    alone = QueryEngine(net, UTILITY, replace(CPU, trunk=trunk, history=False), GAME)
    found = alone.query(np.array([EMPTY]), history[:length], np.array([length])).next_token[0]
    views = GAME.views(history[None], np.array([length]))
    inputs = Rules(GAME, net.arch).encode(views)
    with torch.no_grad():
        ids, place = torch.tensor([[int(history[length - 1])]]), torch.tensor([[length - FIRST - 1]])
        hidden = net.hidden(ids, inputs=RuleInputs(features=torch.from_numpy(inputs)[None]), positions_BT=place)
        wanted = net.next_token_logits(hidden[0]).softmax(-1)[0]
    assert found == pytest.approx(wanted.numpy(), abs=1e-5)
    whole = QueryEngine(net, UTILITY, replace(CPU, trunk=trunk), GAME)
    assert not np.allclose(whole.query(np.array([EMPTY]), history[:length], np.array([length])).next_token[0], found)


@pytest.mark.parametrize("config", [ON_BOARD, ON_BLOCKS], ids=["board", "blocks"])
def test_training_learns_the_moves_and_shared_scores(tmp_path, config) -> None:
    """Cross-entropy of every move from the transformers model's logits; of the score, shared by two supports."""
    net, path = tiny_net(GAME, config=config), tmp_path / "games.parquet"
    sequences = conformance.random_games(GAME, 30, 4)
    write_shard(path, sequences, GAME, {})
    data = load_data(GAME, [str(path)], PLAYED, first=net.arch.first)
    rows = data.training[:9]
    found = losses(net, make_batch(data, rows, Recipe(Rules(GAME, net.arch), actions_only=True)))
    observation, outcome, count = 0.0, 0.0, 0
    model, supports = transformers_model(net).eval(), GAME.outcomes.points[:, 0]
    for row in rows:
        history = sequences.tokens[row, : int(data.lengths[row]) + FIRST]
        with torch.no_grad():
            said = model(**inputs(net, GAME, history.tolist()))
        moves = len(history) - FIRST - 2  # the last move and eos are followed by no decision
        policy, logs = said.logits[0].log_softmax(-1), said.outcome_logits[0].log_softmax(-1)
        above = int(np.searchsorted(supports, sequences.points[row]))
        share = (sequences.points[row] - supports[above - 1]) / (supports[above] - supports[above - 1])
        for place in range(moves):
            observation -= float(policy[place, int(history[FIRST + 1 + place])])
            outcome -= float(share * logs[place, above] + (1 - share) * logs[place, above - 1])
        count += moves
    assert float(found.observation.detach()) == pytest.approx(observation / count, rel=1e-4)
    assert float(found.outcome.detach()) == pytest.approx(outcome / count, rel=1e-4)


def test_networks_are_for_boards_of_their_size_and_play_whatever_boards_come(tmp_path) -> None:
    net = tiny_net(GAME, config=ON_BOARD)
    save_weights(tmp_path / "net", net, GAME)
    load_weights(tmp_path / "net", SameGame(rows=5, columns=4, colours=3, boards="dominant", dominant_tiles=9))
    for other in ({"rows": 4, "columns": 5}, {"rows": 5, "columns": 4, "penalty": "excess"}):
        with pytest.raises(ValueError, match="game_options is"):
            load_weights(tmp_path / "net", SameGame(**{"colours": 3} | other))


def test_settings_that_do_not_fit_a_board_are_refused() -> None:
    for names in (["blocks", "board"], ["board", "nothing"]):
        with pytest.raises(ValueError, match=r"model\.features: "):
            architecture(GAME, replace(ON_BOARD, features=names))
    with pytest.raises(ValueError, match=r"model\.n_positions=9: samegame has histories of 12 tokens"):
        architecture(GAME, replace(ON_BOARD, n_positions=9))
    net = tiny_net(GAME, config=ON_BOARD)
    engine, (tokens, _) = QueryEngine(net, UTILITY, CPU, GAME), games(1)
    with pytest.raises(ValueError, match="row 0: its history has 7 tokens, the network reads from 19 on"):
        engine.query(np.array([EMPTY]), tokens[0, :7], np.array([7]))


def test_renamed_games_are_the_same_games_in_other_colours() -> None:
    tokens, lengths = games(40)
    other = GAME.renamed(tokens, derive_many(9, 40))
    assert (other[:, 20:] == tokens[:, 20:]).all() and (other[:, :20] != tokens[:, :20]).any()
    pairs = [len(set(zip(a[:20].tolist(), b[:20].tolist(), strict=True))) for a, b in zip(tokens, other, strict=True)]
    assert pairs == [len(set(row[:20].tolist())) for row in tokens], "each colour has one other name"
    first, second = (GAME.view_points(GAME.views(each, lengths)) for each in (tokens, other))
    assert (first == second).all()
    orders = {tuple(row[:20].tolist()) for row in GAME.renamed(np.repeat(tokens[:1], 200, axis=0), derive_many(1, 200))}
    assert len(orders) == 6, "all orders of three colours come"


def test_augmentation_trains_on_renamed_games(tmp_path) -> None:
    path = tmp_path / "games.parquet"
    write_shard(path, conformance.random_games(GAME, 60, 4), GAME, {})
    learner = LearnerConfig(num_epochs=1, batch_size=8, targets="actions", device="cpu", learning_rate=1e-3)
    plain = train(GAME, ON_BOARD, learner, [str(path)], tmp_path / "plain")
    found = train(GAME, ON_BOARD, replace(learner, augment=True), [str(path)], tmp_path / "augmented")
    again = train(GAME, ON_BOARD, replace(learner, augment=True), [str(path)], tmp_path / "again")
    assert found["loss"] == again["loss"] != plain["loss"]
    with pytest.raises(ValueError, match=r"learner\.augment=true: hearts has no tokens to rename"):
        KIND.objective(TrainingSetup(KIND, HeartsGame(), TINY, replace(learner, augment=True, targets="all"), ()))


def test_answers_do_not_depend_on_the_slots_that_were_used_before() -> None:
    """Histories begin where freed slots are used again, beside others that are held."""
    net, (tokens, lengths) = tiny_net(GAME, config=ON_BOARD), games(40, seed=8)
    used, rng = QueryEngine(net, UTILITY, CPU, GAME), np.random.default_rng(2)
    held: dict[int, tuple[int, int]] = {}
    for _ in range(60):
        row = int(rng.integers(40))
        handle, length = held.pop(row, (EMPTY, 0))
        if handle != EMPTY and (rng.random() < 0.4 or length == lengths[row]):
            used.release(np.array([handle]))
            continue
        new = FIRST + 1 if handle == EMPTY else length + 1
        found = used.query(np.array([handle]), tokens[row, length:new], np.array([new - length]))
        used.release(np.array([handle]))
        held[row] = int(found.handles[0]), new
        fresh = QueryEngine(net, UTILITY, replace(CPU, cache_mb=1), GAME)
        wanted = fresh.query(np.array([EMPTY]), tokens[row, :new], np.array([new]))
        assert found.next_token == pytest.approx(wanted.next_token, abs=1e-5)


def test_a_batch_without_a_decision_has_a_loss() -> None:
    game = SameGame(rows=2, columns=2, colours=4)
    net, over = tiny_net(game, config=ON_BOARD), np.array([[0, 1, 2, 3, 8, 8, 8]], np.uint8)
    data = TrainingData(
        tokens=over, outcome=np.zeros(1, np.int64), lengths=np.array([2]), longest=2, training=np.arange(1),
        validation=np.arange(0), above=np.zeros(1, np.float32), first=3,
        policy_branches=Branches.none(1),
    )  # fmt: skip
    for policy, padded in product((PLAYED, Values(game, PolicyConfig(kind="values"))), (False, True)):
        recipe = Recipe(Rules(game, net.arch), policy, actions_only=True, padded=padded)
        found = losses(net, make_batch(data, np.arange(1), recipe), policy)
        assert float(found.observation.detach()) == float(found.outcome.detach()) == 0.0


def test_padding_of_renamed_games_is_that_of_the_whole_set() -> None:
    tokens = np.array([[0, 1, 2, 3, 8, 8], [0, 1, 2, 3, 4, 8]], np.uint8)
    data = TrainingData(
        tokens=tokens, outcome=np.zeros(2, np.int64), lengths=np.array([2, 3]), longest=3, training=np.arange(2),
        validation=np.arange(0), first=3,
    )  # fmt: skip
    assert data.longest == data.with_tokens(np.arange(1), tokens[:1]).longest == 3
