"""Counterfactual branches: every legal action at some decisions of played deals, each played out to an outcome.

A sequence shows a network the outcome of one action per decision. Branches show the outcomes of all legal actions with
the same hidden cards and random numbers, so that their differences have little noise. The hidden cards are the deal's
own: one sample from the seat's beliefs, as in any played hand.

Where a network plays, a playout may stop at a later turn of the seat. Its outcomes are then draws of what the network
expects there: less noise and fewer moves, and the network's errors.

Letters: ``G`` deals, ``P`` seats, ``L`` token positions, ``N`` sequences, ``D`` decisions at one moment of the deals,
``R`` playouts side by side, ``K`` outcome labels, ``S`` draws of each, ``Z`` branches.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from games.branches import Branches
from games.game import Game
from games.rng import derive, derive_many, mix
from games.shards import Sequences
from learner.observation_model import EMPTY
from search.players.beginnings import Beginnings
from search.players.choices import choice_places, place_bits
from search.players.histories import tokens_since
from search.players.player import Player
from search.players.playouts import play_out

_OUTCOMES = np.uint64(derive(0, "outcomes"))
"""Separates the random number that draws a decision's outcomes from those of its playouts."""
DRAWS = 8
"""Outcomes drawn where a playout stops; those of an action weigh together as one."""


@dataclass(frozen=True)
class Moment:
    """Decisions in different deals after equally many actions."""

    states: np.ndarray
    """``[D]``, before the decision."""
    deal: np.ndarray
    """``int64[D]``: index of each among the deals that are replayed."""
    row: np.ndarray
    """``int64[D]``: the sequence of the seat to act."""
    place: np.ndarray
    """``int64[D]``: tokens the seat has seen."""


@dataclass(frozen=True)
class ByNetwork:
    """How branches are played out where their player has a network."""

    at_once: int
    """Deals, and playouts, side by side: the model holds keys and values of no more histories than those of so many
    deals at a table, because playouts continue those of the deals."""
    model: Beginnings | None
    """The player's model; None for a network that reads true states."""
    steps: int = 0
    """n > 0: a playout stops at the branched seat's n-th turn after the action; 0: at the end."""


def branch(
    game: Game,
    ended: np.ndarray,
    sequences: Sequences,
    player: Player | None,
    count: int,
    seed: int,
    types: Collection[str] = (),
    network: ByNetwork | None = None,
) -> Branches:
    """Branches of sequences, independent of the other sequences in the call.

    Args:
        ended: ``[G]``, final states of the deals; ``sequences.game`` counts them.
        player: plays every seat after the action; None for uniformly random actions.
        count: decisions of each sequence, drawn among those with at least two legal actions; all where there are fewer.
        seed: of the draws and the playouts.
        types: of token (``Game.token_types``) that the decisions are; empty for all.
        network: for a player with a network.
    """
    drawn, deals = draw_places(game, sequences, count, seed, types), np.unique(sequences.game)
    seeds, model = derive_many(derive(seed, "playouts"), len(sequences)), network.model if network else None
    at_once, found = network.at_once if network else max(len(deals), 1), [np.zeros((4, 0), np.int64)]
    for first in range(0, len(deals), at_once):
        part = deals[first : first + at_once]
        if model:
            model.start(game, len(part))
        for moment in replay(game, ended, sequences, drawn, part):
            if model:
                model.hold(moment.deal, moment.states)
            own = sequences.seat[moment.row].astype(np.int64)
            found += _ends(game, moment, own, mix(seeds[moment.row], moment.place), player, network)
        if model:
            model.start(game, 0)
    return Branches.of_rows(len(sequences), *np.concatenate(found, axis=1))


def _ends(
    game: Game, moment: Moment, own: np.ndarray, seeds: np.ndarray, player: Player | None, network: ByNetwork | None
) -> Iterator[np.ndarray]:
    """Play all branches of a moment; ``int64[4, Z]``, their rows, places, tokens and outcomes, in parts.

    Args:
        own: ``int64[D]``, the seat of each decision.
        seeds: ``uint64[D]``, for all playouts of a decision.
    """
    decision, token = np.nonzero(game.legal(moment.states))
    states, actions = moment.states[decision], np.stack([moment.row[decision], moment.place[decision], token])
    game.play(states, token)
    at_once = network.at_once if network else len(states)
    for first in range(0, len(states), at_once):
        part = slice(first, first + at_once)
        played, seats, bits = states[part], own[decision[part]], seeds[decision[part]]
        if network and network.steps:
            play_out(game, player, played, bits, until=seats, nth=network.steps)
        else:
            play_out(game, player, played, bits)
        over = game.to_move(played) < 0
        outcome = game.outcome(played[over])[np.arange(np.count_nonzero(over)), seats[over]]
        yield np.concatenate([actions[:, part][:, over], outcome[None]])
        if network and not over.all():
            drawn = _expected(game, played[~over], seats[~over], bits[~over], network)
            branches = np.repeat(actions[:, part][:, ~over], DRAWS, axis=1)
            yield np.concatenate([branches, drawn.reshape(1, -1)])


def _expected(game: Game, states: np.ndarray, seats: np.ndarray, seeds: np.ndarray, network: ByNetwork) -> np.ndarray:
    """``int64[R, S]``: outcomes drawn of what the network expects behind the histories of one seat of each state."""
    assert network.model is not None
    tokens, lengths = game.histories(states, seats)
    new = tokens_since(tokens, np.zeros_like(lengths), lengths)
    chances = network.model.outcomes(np.full(len(states), EMPTY), *new)
    # A network that masks no outcome gives impossible ones a chance, and to one that does they would be an infinite
    # loss. Where it takes all that is possible for impossible, any of it may come.
    possible = game.view_outcomes(game.views(tokens, lengths))
    chances = np.where(possible, np.maximum(chances, np.finfo(np.float32).tiny), 0.0)
    uniform = (mix(seeds, _OUTCOMES) >> np.uint64(11)) * 2.0**-53
    return stratified(game.outcomes.points[:, 0], chances, uniform, DRAWS)


def stratified(points: np.ndarray, chances: np.ndarray, uniform: np.ndarray, samples: int) -> np.ndarray:
    """``int64[R, S]``: outcome labels of each row, in the order of the seat's points (``float[K]``): where the
    cumulative chances (``float[R, K]``, of any sum) reach (i + u) / S, with one u (``float[R]``, 0 <= u < 1) a row.

    The share of a label is its chance on average over u, and never off by more than 1 / S.
    """
    order = np.argsort(points, kind="stable")
    cumulative = np.cumsum(chances[:, order], axis=1, dtype=np.float64)
    marks = (np.arange(samples) + uniform[:, None]) / samples * cumulative[:, -1:]
    found = [np.searchsorted(row, mark, side="right") for row, mark in zip(cumulative, marks, strict=True)]
    last = (cumulative < cumulative[:, -1:]).sum(axis=1)  # a mark may be rounded up to the sum
    return order[np.minimum(np.reshape(found, marks.shape).astype(np.int64), last[:, None])]


def draw_places(game: Game, sequences: Sequences, count: int, seed: int, types: Collection[str] = ()) -> np.ndarray:
    """``bool[N, L]``: ``count`` decisions of each sequence, by the tokens the seat has seen; drawn uniformly among
    decisions with a choice, of these types if any are given, all of them where there are fewer."""
    lengths = (sequences.tokens == game.vocabulary.eos).argmax(axis=1)
    choices = choice_places(game, sequences.tokens, lengths, types)
    bits = place_bits(seed, *choices.shape)
    rank = np.where(choices, bits >> np.uint64(1), np.iinfo(np.uint64).max).argsort(axis=1).argsort(axis=1)
    return choices & (rank < count)


def replay(
    game: Game, ended: np.ndarray, sequences: Sequences, wanted: np.ndarray, deals: np.ndarray
) -> Iterator[Moment]:
    """Replay deals, and stop at decisions of sequences.

    A seat's action is the token of its final history at the index where its history ended before (actions are tokens).

    Args:
        ended: ``[G]``, final states.
        wanted: ``bool[N, L]``: the decisions to stop at, by the tokens the seat had seen.
        deals: ``int64[...]``: which deals; each has a sequence.
    """
    finals = ended[deals]
    histories = np.stack([game.histories(finals, np.full(len(deals), seat))[0] for seat in range(game.num_players)], 1)
    row_of, seeds = np.full((len(ended), game.num_players), -1), np.zeros(len(ended), np.uint64)
    row_of[sequences.game, sequences.seat] = np.arange(len(sequences))
    seeds[sequences.game] = sequences.deal_seed
    states, under_way = game.deal(seeds[deals]), np.arange(len(deals))
    while len(under_way):
        seats = game.to_move(states).astype(np.int64)
        going = seats >= 0
        states, under_way, seats = states[going], under_way[going], seats[going]
        if not len(under_way):
            return
        places = game.histories(states, seats)[1].astype(np.int64)
        rows = row_of[deals[under_way], seats]
        at = np.flatnonzero((rows >= 0) & wanted[rows, places])
        if len(at):
            yield Moment(states[at], under_way[at], rows[at], places[at])
        game.play(states, histories[under_way, seats, places])
