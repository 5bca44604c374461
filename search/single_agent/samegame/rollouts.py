"""Rollouts of SameGame that spare the commonest colour, TabuColorRandom of Schadd et al. 2008: large blocks of it grow
while the others go. Its blocks are taken where nothing else is left."""

import numpy as np

from games.compiling import kernel
from games.game import Game
from games.rng import below, next_state, output
from games.samegame.state import act


def tabu(game: Game, states: np.ndarray, seeds: np.ndarray) -> None:
    """Play SameGame's states ``[B]`` to the end in place; ``seeds``: ``uint64[B]``. The colour that is spared is the
    commonest where the rollout begins."""
    with np.errstate(over="ignore"):
        _play_out_rows(states, np.asarray(seeds, np.uint64))


@kernel
def _play_out_rows(states, seeds):
    for i in range(len(states)):
        _play_out(states[i], seeds[i])


@kernel
def _play_out(state, counter):
    public = state["public"]
    spared = commonest(public)
    while public["turn"] >= 0:
        counter = next_state(counter)
        act(state, np.int64(public["colours"]) + _any_other(public, spared, output(counter)))


@kernel
def commonest(public):
    """1 + the colour with most tiles, ties to the first."""
    most = 0
    for colour in range(public["colours"]):
        if public["left"][colour] > public["left"][most]:
            most = colour
    return most + 1


@kernel
def _any_other(public, spared, bits):
    """The cell of a block, each as likely, not of the colour ``spared`` if there is another."""
    tiles, size = public["tiles"], public["size"]
    others, every = 0, 0
    for cell in range(len(size)):
        if size[cell] > 0:
            every += 1
            others += int(tiles[cell] != spared)
    left = below(bits, others if others > 0 else every)
    for cell in range(len(size)):
        if size[cell] > 0 and (others == 0 or tiles[cell] != spared):
            if left == 0:
                return np.int64(cell)
            left -= 1
    return np.int64(-1)
