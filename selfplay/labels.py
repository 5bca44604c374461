"""Labels: what another player would have done at decisions of sequences (DAgger, Ross et al., arXiv 1011.0686).

A network that imitates a player errs, and its errors lead to states that the player's own games never show. So the
player says in games of the network's own what it would have done there, and the network learns that in place of what
was played (``learner.policy.kind=labels``). DAgger learns from the labels of all iterations, as
``selfplay.replay_games`` does.

Letters: ``N`` sequences, ``L`` token positions.
"""

import numpy as np

from games.game import Game
from games.rng import derive, keyed_hash
from games.shards import Sequences
from learner.config import EngineConfig
from search.config import SearchConfig
from search.players.choices import choice_places, place_bits, turns_before
from search.players.player import Player
from search.players.table import answers
from search.roster.engines import Engines
from search.roster.registry import Entrant, resolve, seat_players


def labeller(name: str, key: str, game: Game, search: SearchConfig) -> Entrant:
    """The player ``name``, given as ``key``; ``ValueError`` for one that cannot label."""
    (entrant,) = resolve([name], game, search, given=())
    sees_hidden = getattr(entrant.settings, "cheat", False)
    if not entrant.checkpoint:
        (player,) = seat_players([entrant], [name], game, Engines(game, EngineConfig()))
        sees_hidden = player.sees_hidden
    if sees_hidden:
        raise ValueError(f"{key}={name}: it sees hidden cards, which sequences do not hold; name another player")
    return entrant


def labels_by(entrant: Entrant, engines: Engines) -> str:
    """What shards call a player that labels: its name, with the id of its network in place of a path."""
    name = entrant.name.partition("@")[0]
    return f"{name}@{engines.checkpoint_id(entrant.checkpoint)}" if entrant.checkpoint else name


def label(game: Game, sequences: Sequences, player: Player, share: float, seed: int, at_once: int) -> np.ndarray:
    """``[N, L]`` in the vocabulary's dtype: at the place of an action of the sequence's seat the action of ``player``,
    ``eos`` elsewhere. A row depends on its sequence and its number alone.

    Args:
        share: probability that a decision is labelled, among those that leave a choice.
        seed: of what is drawn and of the player's decisions.
        at_once: most sequences labelled side by side, of which a network keeps the keys and values.
    """
    eos, tokens = game.vocabulary.eos, sequences.tokens
    wanted = choice_places(game, tokens, (tokens == eos).argmax(axis=1))
    if share < 1.0:
        wanted &= place_bits(seed, *wanted.shape) / 2.0**64 < share
    labels, secret = np.full_like(tokens, eos), derive(seed, "decisions")
    for first in range(0, len(tokens), at_once):
        part = slice(first, first + at_once)
        labels[part] = _labelled(game, sequences, part, player, wanted[part], secret)
    return labels


def _labelled(
    game: Game, sequences: Sequences, part: slice, player: Player, wanted: np.ndarray, secret: int
) -> np.ndarray:
    """Labels of the sequences ``part`` at the places ``wanted`` (``bool[., L]``): all first decisions of them, then all
    second ones."""
    tokens = sequences.tokens[part]
    labels = np.full_like(tokens, game.vocabulary.eos)
    player.start(game, len(tokens))
    while len(rows := np.flatnonzero(wanted.any(axis=1))):
        places = wanted[rows].argmax(axis=1)
        wanted[rows, places] = False
        seats = sequences.seat[part][rows].astype(np.int64)
        draws = keyed_hash(secret, sequences.deal_seed[part][rows], seats, places)
        turns = turns_before(game, tokens[rows], places, rows, seats, draws)
        labels[rows, places] = answers(player, turns, np.arange(len(rows)))
    player.forget(np.arange(len(tokens)))
    return labels
