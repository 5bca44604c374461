"""What the benchmarks compare with: queries, ArgmaxVal* and GO-MCTS written plainly on transformers' GPT2Model.

One query at a time, the whole history each time, float32, as the authors of paper 001 did it. GO-MCTS is the reference
implementation of the tests (``search/go_mcts/plain.py``), which the fast one must equal tree by tree.
"""

import numpy as np
import torch
import torch.nn.functional as F

from games.game import Game
from games.hearts.game import HeartsGame
from games.rng import derive_many
from learner.config import TransformerConfig
from learner.model.architecture import architecture
from learner.model.network import PolicyValueNet, initialise
from learner.model.pretrained import pretrained_model
from search.players.player import Turns

PAPER = TransformerConfig(n_layer=8, n_head=8, n_embd=256, n_inner=1024)
"""Table 4: 6.4 million parameters in the trunk and the next-token head, 7.1 with Hearts' outcome head."""
History = tuple[int, ...]


def network(game: Game, config: TransformerConfig) -> PolicyValueNet:
    """Fresh weights: what a query costs does not depend on what was learned."""
    net = PolicyValueNet(architecture(game, config))
    initialise(net, 1)
    return net.eval()


class PlainModel:
    """History -> (next-token distribution, value); heads at the last position only."""

    def __init__(self, net: PolicyValueNet, utility: np.ndarray) -> None:
        self._model = pretrained_model(net).eval()
        self._utility = torch.tensor(utility, dtype=torch.float32)
        self.queries = 0

    @torch.inference_mode()
    def __call__(self, history: History) -> tuple[np.ndarray, float]:
        self.queries += 1
        model = self._model
        hidden = model.transformer(torch.tensor([history]), use_cache=False).last_hidden_state[0, -1]
        logits = model.lm_head(F.gelu(model.lm_hidden(hidden)))
        outcomes = torch.softmax(model.val_head(F.gelu(model.val_hidden(hidden))), dim=-1)
        return torch.softmax(logits, dim=-1).numpy(), float(outcomes @ self._utility)


def plain_argmax_val(model: PlainModel, history: History, legal: np.ndarray, threshold: float) -> int:
    """Equations 2 and 3 for one decision; ``legal`` are its actions, in order."""
    probabilities = model(history)[0][legal]
    policy = probabilities / probabilities.sum()
    likely = [int(a) for a, p in zip(legal, policy, strict=True) if p >= threshold] or [int(legal[policy.argmax()])]
    values = [model((*history, action))[1] for action in likely]
    return likely[int(np.argmax(values))]


def hearts_turns(count: int, seed: int) -> Turns:
    """Decisions with a choice, all over random hands of Hearts: decision ``i`` from a hand of its own."""
    game = HeartsGame()
    states = game.deal(derive_many(seed, count))
    wanted = np.arange(count) * 40 // count  # moves made before, the passed cards included
    found: list[Turns] = []
    ready = np.zeros(count, bool)
    for ply in range(60):
        legal, seats = game.legal(states), game.to_move(states).astype(np.int64)
        now = ~ready & (ply >= wanted) & (legal.sum(1) > 1)
        rows = np.flatnonzero(now)
        if len(rows):
            tokens, lengths = game.histories(states[rows], seats[rows])
            found.append(Turns(rows, seats[rows], tokens, lengths, legal[rows], derive_many(seed + 1, count)[rows]))
        ready |= now
        picks = derive_many(seed + 2 + ply, count)
        game.play(states, np.array([_some(options, pick) for options, pick in zip(legal, picks, strict=True)]))
    if not ready.all():
        raise RuntimeError(f"{np.count_nonzero(~ready)} of {count} hands gave no decision with a choice")
    order = np.argsort(np.concatenate([turns.game for turns in found]))
    columns = {
        name: np.concatenate([getattr(turns, name) for turns in found])[order]
        for name in ("seat", "tokens", "lengths", "legal", "seeds")
    }
    return Turns(game=np.arange(len(order)), **columns)


def _some(options: np.ndarray, pick: np.uint64) -> int:
    legal = np.flatnonzero(options)
    return int(legal[int(pick) % len(legal)]) if len(legal) else 0


def history_of(turns: Turns, row: int) -> History:
    """The history of one turn as plain numbers."""
    return tuple(int(token) for token in turns.tokens[row, : turns.lengths[row]])
