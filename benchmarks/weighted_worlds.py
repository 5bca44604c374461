"""What weights of a network tell of hidden cards: ``python -m benchmarks.weighted_worlds [--full]``.

Positions all over deals of Hearts by ``hearts_rules``; the network that ships with the package; 200 candidates of each
position. Ours are weighted worlds, theirs uniform ones of the same candidates:

* ``true deal``: -ln of its weight, where it is one candidate more. The weights are not tempered.
* ``true holders``: -ln p of who holds each card that the seat has not seen. p is a share of the candidates' tempered
  weights, which count as much as their effective size; one world more is shared evenly among the seats.
* ``true holders, 50 worlds``: the same by 50 worlds drawn, weighted or uniform, as ``pimc`` uses them.

These are nats for each unseen card, with the 95 % interval of the difference over positions. Effective sizes are
percentiles over positions, ours of the tempered weights, theirs of those that are not. ``weighing`` is a rate: theirs
weighs one candidate at a time.
"""

import argparse
import time
from statistics import median

import numpy as np

from benchmarks.report import Case, report
from benchmarks.worlds import positions, views_of
from games.hearts.cards import NUM_CARDS
from games.hearts.game import HeartsGame
from games.rng import mix
from learner.config import EngineConfig
from learner.observation_model import ObservationModel
from search.arena.tournament.statistics import mean_interval
from search.players.beliefs import by_network
from search.players.worlds import FLOOR, effective_size, log_likelihoods, resample, tempered
from search.roster.engines import Engines
from search.scripted.hearts.rules import HeartsRules

GAME = HeartsGame()
CANDIDATES, WORLDS = 200, 50


def nats(hands: np.ndarray, weights: np.ndarray, true: np.ndarray) -> float:
    """-ln p that each card is where it is, by worlds with hands ``int64[W, 4]`` and ``weights`` (``float64[W]``) that
    add up to what they are worth in worlds. ``true``: ``int64[4]``; the observer comes first in both."""
    places = np.arange(NUM_CARDS)
    held = hands[:, 1:, None] >> places & 1
    chances = (np.tensordot(weights, held, 1) + 1 / 3) / (weights.sum() + 1)
    return float(-np.log(chances[(true[1:, None] >> places & 1).astype(np.bool_)]).sum())


def measured(model: ObservationModel, true: np.ndarray, row: int) -> list[list[float]]:
    """By weighted and by uniform worlds of one position (``true``: state ``[1]``): nats for each unseen card of the
    true deal, of its holders by all candidates, and by drawn worlds; effective size of the weights, tempered or not."""
    seat = GAME.to_move(true)
    seeds = mix(np.uint64(row), np.arange(CANDIDATES))
    states, seats = GAME.determinize(np.repeat(views_of(GAME, true), CANDIDATES), seeds)
    among = np.concatenate([states, true])[None], np.concatenate([seats, seat])[None]
    logs = log_likelihoods(GAME, by_network(model), *among)
    hidden, hands = np.roll(true["hands"][0], -int(seat[0])), states["hands"]
    weights, uniform = tempered(logs[:, :-1], FLOOR)[0], np.full((1, CANDIDATES), 1 / CANDIDATES)
    deals = np.logaddexp.reduce(logs[0]) - logs[0, -1], np.log(CANDIDATES + 1)
    effective = effective_size(weights)[0], effective_size(tempered(logs[:, :-1], 1)[0])[0]
    unseen, sides = sum(int(cards).bit_count() for cards in hidden[1:]), []
    for deal, shares, size in zip(deals, (weights, uniform), effective, strict=True):
        drawn = resample(shares, WORLDS, seeds[:1])[0]
        by_all = nats(hands, shares[0] * effective_size(shares), hidden)
        by_drawn = nats(hands[drawn], np.ones(WORLDS), hidden)
        sides.append([deal / unseen, by_all / unseen, by_drawn / unseen, size])
    return sides


def weighed(model: ObservationModel, true: np.ndarray, count: int) -> float:
    """Candidates of a position weighed in a second of processor time, ``count`` at a time."""
    states, seats = GAME.determinize(np.repeat(views_of(GAME, true), count), np.arange(count, dtype=np.uint64))
    began = time.process_time()
    log_likelihoods(GAME, by_network(model), states[None], seats[None])
    return count / (time.process_time() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="400 positions instead of 60")
    count = 400 if parser.parse_args().full else 60
    model = Engines(GAME, EngineConfig(device="cpu", precision="auto")).get("kibitz:hearts")
    trues = positions(GAME, HeartsRules(), count, seed=5)
    pairs = np.array([measured(model, trues[row : row + 1], row) for row in range(count)])
    cases = []
    for place, name in enumerate(("true deal", "true holders", f"true holders, {WORLDS} worlds")):
        mine, theirs = pairs[:, 0, place], pairs[:, 1, place]
        spread = mean_interval(mine - theirs)
        assert spread is not None
        means = float(mine.mean()), float(theirs.mean())
        cases.append(Case("weighted_worlds", name, *means, "nats/card", True, (float(spread[0]), float(spread[1]))))
    for share in (10, 50):
        sizes = np.percentile(pairs[:, :, 3], share, axis=0).tolist()
        cases.append(Case("weighted_worlds", f"effective size, {share} % below", sizes[0], sizes[1], "candidates"))
    rates = [[weighed(model, trues[row : row + 1], size) for row in range(0, count, 5)] for size in (CANDIDATES, 1)]
    report([*cases, Case("weighted_worlds", "weighing", median(rates[0]), median(rates[1]), "candidates/s")])


if __name__ == "__main__":
    main()
