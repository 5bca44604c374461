"""A player of paper 004, and states for it to decide."""

import numpy as np

from games.skat.game import SkatGame
from learner.skat_policies.engine import SkatPoliciesEngine
from search.config import SearchConfig
from search.players.player import Turns
from search.players.table import play_table
from search.roster.registry import make_players
from search.scripted.skat.support import SUPPORT
from search.skat_policies.config import SkatPoliciesPlayerConfig
from search.skat_policies.player import SkatPolicies as SkatPoliciesPlayer

GAME = SkatGame()


def player(engine: SkatPoliciesEngine, **settings: object) -> SkatPoliciesPlayer:
    made = SkatPoliciesPlayer(engine, SkatPoliciesPlayerConfig(**settings), SUPPORT)  # type: ignore[arg-type]
    made.start(GAME, 1000)
    return made


def turns_of(states: np.ndarray, seeds: np.ndarray | None = None) -> Turns:
    seats = GAME.to_move(states)
    tokens, lengths = GAME.histories(states, seats)
    drawn = np.arange(len(states), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) if seeds is None else seeds
    return Turns(np.arange(len(states)), seats.astype(np.int64), tokens, lengths, GAME.legal(states), drawn)


def at_phase(phase: int, count: int, players: str = "skat_rules:aggression=0.9:noise=2") -> np.ndarray:
    """States of deals that have come to a phase for the first time."""
    (rules,) = make_players([players], GAME, SearchConfig())
    rules.start(GAME, 4 * count)
    states = GAME.deal(np.arange(4 * count, dtype=np.uint64))
    there = []
    for _ in range(60):
        now = states["public"]["phase"]
        there.append(states[now == phase])
        states = states[(now < phase) & (GAME.to_move(states) >= 0)]
        if not len(states):
            break
        GAME.play(states, rules.act(turns_of(states)))
    found = np.concatenate(there)
    assert len(found) >= count
    return found[:count]


def finished(count: int) -> np.ndarray:
    """Deals that are over."""
    players = make_players(["skat_rules:aggression=0.9:noise=2"], GAME, SearchConfig())
    return play_table(GAME, players, np.zeros((count, 3), np.int64), np.arange(count, dtype=np.uint64), secret=4).states
