"""Laws of hidden information: worlds that look the same to a seat."""

from collections.abc import Callable, Sequence

import numpy as np

from games.conformance.playing import random_actions, random_play
from games.game import Game
from games.rng import derive, derive_many, mix

Decide = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(states ``[B]``, seeds ``uint64[B]``) -> tokens ``[B]``: what a player does for the seat to move in every row."""


def check_no_leak(game: Game, num_deals: int, seed: int, players: Sequence[Decide] = ()) -> None:
    """What a seat cannot see changes neither its history, nor its legal moves, nor what a player decides for it: other
    worlds behind the same view, for games that determinize. Worlds can be played on to their end, and every seat's
    history in them could have happened."""
    if not game.can_determinize:
        return
    worlds = list[np.ndarray]()
    for step, states in enumerate(random_play(game, num_deals, seed)):
        rows = np.flatnonzero(game.to_move(states) >= 0)
        if not rows.size:
            continue
        states = states[rows]
        tokens, lengths = game.histories(states, game.to_move(states))
        decision_seeds = mix(derive_many(seed, len(states)), step)
        decided = [decide(states, decision_seeds) for decide in players]
        for world in range(3):
            others, seats = game.determinize(game.views(tokens, lengths), mix(decision_seeds, world))
            same_tokens, same_lengths = game.histories(others, seats)
            assert (same_tokens == tokens).all() and (same_lengths == lengths).all(), f"step {step}: another history"
            assert (game.to_move(others) == seats).all(), f"step {step}: another seat to move"
            assert (game.legal(others) == game.legal(states)).all(), f"step {step}: other legal moves"
            for number, (decide, before) in enumerate(zip(players, decided, strict=True)):
                same = decide(others, decision_seeds) == before
                assert same.all(), f"step {step}: player {number} decides by what it cannot see"
        worlds.append(others)
    check_worlds(game, np.concatenate(worlds), seed)


def check_worlds(game: Game, worlds: np.ndarray, seed: int) -> None:
    """Play worlds that ``determinize`` has dealt on to their end."""
    seeds = derive_many(derive(seed, "worlds"), len(worlds))
    for step in range(game.num_players * game.max_length):
        seats, legal = game.to_move(worlds), game.legal(worlds)
        stuck = (seats >= 0) & ~legal.any(axis=1)
        seat = seats[np.argmax(stuck)]
        assert not stuck.any(), f"a world of determinize, {step} actions on: seat {seat} has none, as if a card lacked"
        if (seats < 0).all():
            break
        game.play(worlds, random_actions(legal, mix(seeds, step)))
    for seat in range(game.num_players):
        views = game.views(*game.histories(worlds, np.full(len(worlds), seat)))
        said = f"a world of determinize, played to its end: seat {seat}"
        assert game.consistent(views).all(), f"{said} saw what cannot have happened, as if a card were there twice"
        assert (game.view_outcome(views) == game.outcome(worlds)[:, seat]).all(), f"{said} has another outcome"
