"""Labels: what another player would have done at decisions of sequences (DAgger, Ross et al., arXiv 1011.0686).

A network that imitates a player errs, and its errors lead to states that the player's own games never show. So the
player says in games of the network's own what it would have done there, and the network learns that in place of what
was played (``learner.label_weight``).

Letters: ``N`` sequences, ``L`` token positions.
"""

import numpy as np

from games.game import Game
from games.rng import derive, derive_many, keyed_hash, mix
from games.shards import Sequences
from search.config import SearchConfig
from search.players.choices import choice_places
from search.players.player import Player, Turns
from search.players.table import answers
from search.roster.registry import Entrant, resolve


def labeller(name: str, key: str, game: Game, search: SearchConfig) -> Entrant:
    """The player ``name``, given as ``key``; ``ValueError`` where it cannot label, as it sees hidden cards, say."""
    (entrant,) = resolve([name], game, search, given=())
    if getattr(entrant.settings, "cheat", False):
        raise ValueError(f"{key}={name}: it sees hidden cards; sequences hold what their seat has seen")
    return entrant


def label(game: Game, sequences: Sequences, player: Player, share: float, seed: int) -> np.ndarray:
    """``[N, L]`` in the vocabulary's dtype: at the place of an action of the sequence's seat the action of ``player``,
    ``eos`` elsewhere. A row depends on its sequence and its number alone.

    Args:
        share: probability that a decision is labelled, among those that leave a choice.
        seed: of what is drawn and of the player's decisions.
    """
    eos, tokens = game.vocabulary.eos, sequences.tokens
    wanted = choice_places(game, tokens, (tokens == eos).argmax(axis=1))
    if share < 1.0:
        draws = derive_many(derive(seed, "places"), len(wanted))[:, None]
        wanted &= mix(draws, np.arange(wanted.shape[1], dtype=np.uint64)) / 2.0**64 < share
    labels, secret = np.full_like(tokens, eos), derive(seed, "decisions")
    player.start(game, len(sequences))
    while len(rows := np.flatnonzero(wanted.any(axis=1))):  # all first decisions, then all second ones
        places = wanted[rows].argmax(axis=1)
        wanted[rows, places] = False
        seen = np.where(np.arange(tokens.shape[1]) < places[:, None], tokens[rows], eos).astype(tokens.dtype)
        seats, legal = sequences.seat[rows].astype(np.int64), game.view_legal(game.views(seen, places))
        draws = keyed_hash(secret, sequences.deal_seed[rows], seats, places)
        turns = Turns(rows, seats, seen, places.astype(np.int32), legal, draws)
        labels[rows, places] = answers(player, turns, np.arange(len(rows)))
    player.forget(np.arange(len(sequences)))
    return labels
