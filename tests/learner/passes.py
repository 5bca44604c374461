"""Ragged passes that the tests of trunks share."""

import numpy as np

from learner.inference.packing import pack
from learner.inference.prefix_tree import PrefixTree
from learner.model.architecture import Architecture
from learner.model.network import PolicyValueNet, initialise
from learner.observation_model import EMPTY

SLOTS, LENGTH, TOKENS = 4000, 30, 9
UTILITY = np.linspace(-1.0, 1.0, 7, dtype=np.float32)


def network(heads, size=24):
    """A network with fresh weights whose heads are ``size / heads`` wide."""
    net = PolicyValueNet(
        Architecture(
            vocab_size=TOKENS,
            num_outcomes=len(UTILITY),
            n_positions=LENGTH + 1,
            n_layer=2,
            n_head=heads,
            n_embd=size,
            n_inner=3 * size,
            embd_pdrop=0.0,
            resid_pdrop=0.0,
            initializer_range=0.2,
            outcome_init="normal",
            layer_norm_epsilon=1e-5,
        )
    )
    initialise(net, 1)
    return net.requires_grad_(False)


def a_pass(rng, rows, longest_chunk, share_of_candidates, *trunks):
    """A pass over histories of which all but the last tokens are there, in the caches of all ``trunks``."""
    tree = PrefixTree(SLOTS)
    tokens = [rng.integers(0, TOKENS, length) for length in rng.integers(1, LENGTH, rows)]
    lengths = np.array([len(history) for history in tokens])
    new = np.minimum(rng.integers(0, longest_chunk + 1, rows), lengths)  # 0: the last token is computed again
    held = lengths - new
    handles = np.full(rows, EMPTY)
    begun = np.flatnonzero(held)
    if len(begun):
        first = pack(
            tree,
            handles[begun],
            np.concatenate([tokens[row][: held[row]] for row in begun]),
            held[begun],
            np.zeros((len(begun), TOKENS), bool),
        )
        handles[begun] = first.slot[first.answered]
        for trunk in trunks:
            trunk(first, np.zeros(0, np.int64), False)
    rest = np.concatenate([tokens[row][held[row] :] for row in range(rows)])
    return pack(tree, handles, rest, new, rng.random((rows, TOKENS)) < share_of_candidates)
