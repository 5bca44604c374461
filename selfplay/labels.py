"""Labels: what another player would have done at decisions of kept sequences (DAgger, Ross et al., arXiv 1011.0686).

A network that imitates a player errs, and its errors lead to states that the player's own games never show. So the
player says in games of the network's own what it would have done there, and the network learns that in place of what
was played (``learner.label_weight``).

Letters: ``G`` deals, ``N`` sequences, ``L`` token positions.
"""

import numpy as np

from games.game import Game
from games.rng import derive, derive_many, mix
from games.shards import Sequences
from search.players.choices import choice_places
from search.players.player import Player
from search.players.table import answers, turns_at
from selfplay.branches import replay


def label(game: Game, ended: np.ndarray, sequences: Sequences, player: Player, share: float, seed: int) -> np.ndarray:
    """``[N, L]`` in the vocabulary's dtype: at the place of an action of the sequence's seat the action of ``player``,
    ``eos`` where it was not asked.

    Args:
        ended: ``[G]``, final states of the deals; ``sequences.game`` counts them.
        share: probability that a decision is labelled, among those that leave a choice.
        seed: of what is drawn and of the player's decisions.
    """
    eos = game.vocabulary.eos
    lengths = (sequences.tokens == eos).argmax(axis=1)
    wanted = choice_places(game, sequences.tokens, lengths)
    if share < 1.0:
        places = np.arange(wanted.shape[1], dtype=np.uint64)
        bits = mix(derive_many(derive(seed, "places"), len(wanted))[:, None], places[None])
        wanted &= bits / 2.0**64 < share
    labels = np.full_like(sequences.tokens, eos)
    player.start(game, len(sequences))
    for moment in replay(game, ended, sequences, wanted):
        seats = sequences.seat[moment.row].astype(np.int64)
        seeds, secret = sequences.deal_seed[moment.row], derive(seed, "decisions")
        turns = turns_at(game, moment.states, moment.row, seats, seeds, secret)
        labels[moment.row, moment.place] = answers(player, turns, np.arange(len(seats)), moment.states)
    player.forget(np.arange(len(sequences)))
    return labels
