"""Counterfactual branches: every legal action at some decisions of played deals, each played out to an outcome.

A sequence shows a network the outcome of one action per decision. Branches show the outcomes of all legal actions with
the same hidden cards and random numbers, so that their differences have little noise. The hidden cards are the deal's
own: one sample from the seat's beliefs, as in any played hand.

Letters: ``G`` deals, ``P`` seats, ``L`` token positions, ``N`` sequences, ``D`` decisions at one moment of the deals,
``Z`` branches.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from games.branches import Branches
from games.game import Game
from games.rng import derive, derive_many, mix
from games.shards import Sequences
from search.players.choices import choice_places, place_bits
from search.players.player import Player
from search.players.playouts import play_out


@dataclass(frozen=True)
class Moment:
    """Decisions in different deals after equally many actions."""

    states: np.ndarray
    """``[D]``, before the decision."""
    row: np.ndarray
    """``int64[D]``: the sequence of the seat to act."""
    place: np.ndarray
    """``int64[D]``: tokens the seat has seen."""


def branch(
    game: Game, ended: np.ndarray, sequences: Sequences, player: Player | None, count: int, seed: int
) -> Branches:
    """Branches of sequences, independent of the other sequences in the call.

    Args:
        ended: ``[G]``, final states of the deals; ``sequences.game`` counts them.
        player: plays every seat after the action; None for uniformly random actions.
        count: decisions of each sequence, drawn among those with at least two legal actions; all where there are fewer.
        seed: of the draws and the playouts.
    """
    drawn = draw_places(game, sequences, count, seed)
    playout_seeds = derive_many(derive(seed, "playouts"), len(sequences))
    found = [np.zeros((4, 0), np.int64)]
    for moment in replay(game, ended, sequences, drawn):
        seats = sequences.seat[moment.row].astype(np.int64)
        decision, token = np.nonzero(game.legal(moment.states))
        states, row, place = moment.states[decision], moment.row[decision], moment.place[decision]
        game.play(states, token)
        play_out(game, player, states, mix(playout_seeds[row], place))
        outcome = game.outcome(states)[np.arange(len(states)), seats[decision]]
        found.append(np.stack([row, place, token, outcome]))
    return Branches.of_rows(len(sequences), *np.concatenate(found, axis=1))


def draw_places(game: Game, sequences: Sequences, count: int, seed: int) -> np.ndarray:
    """``bool[N, L]``: ``count`` decisions of each sequence, by the tokens the seat has seen; drawn uniformly among
    decisions with a choice, all of them where there are fewer."""
    lengths = (sequences.tokens == game.vocabulary.eos).argmax(axis=1)
    choices = choice_places(game, sequences.tokens, lengths)
    bits = place_bits(seed, *choices.shape)
    rank = np.where(choices, bits >> np.uint64(1), np.iinfo(np.uint64).max).argsort(axis=1).argsort(axis=1)
    return choices & (rank < count)


def replay(game: Game, ended: np.ndarray, sequences: Sequences, wanted: np.ndarray) -> Iterator[Moment]:
    """Replay deals, and stop at decisions of sequences.

    A seat's action is the token of its final history at the index where its history ended before (actions are tokens).

    Args:
        ended: ``[G]``, final states.
        wanted: ``bool[N, L]``: the decisions to stop at, by the tokens the seat had seen.
    """
    histories = np.stack([game.histories(ended, np.full(len(ended), seat))[0] for seat in range(game.num_players)], 1)
    row_of = np.full(histories.shape[:2], -1)
    row_of[sequences.game, sequences.seat] = np.arange(len(sequences))
    seeds = np.zeros(len(ended), np.uint64)
    seeds[sequences.game] = sequences.deal_seed
    deals = np.unique(sequences.game)
    states = game.deal(seeds[deals])
    while len(deals):
        seats = game.to_move(states).astype(np.int64)
        going = seats >= 0
        states, deals, seats = states[going], deals[going], seats[going]
        if not len(deals):
            return
        places = game.histories(states, seats)[1].astype(np.int64)
        rows = row_of[deals, seats]
        at = np.flatnonzero((rows >= 0) & wanted[rows, places])
        if len(at):
            yield Moment(states[at], rows[at], places[at])
        game.play(states, histories[deals, seats, places])
