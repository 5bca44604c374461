"""Whether reviews rank players by their strength: ``python -m benchmarks.review [--player SPEC]``.

Six copies of a player, which play 0 to 20 % of their actions at random, sit together at random in made games of Skat.
The review judges every decision of theirs. Its order is compared with that of the points that each makes in other
games, twenty times as many, and with the share of random actions, which is known.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import kendalltau, pearsonr

from benchmarks.report import machine
from games.recorded_deals import RecordedDeals
from games.registry import make_game
from games.rng import derive, derive_many
from games.shards import Sequences
from learner.config import EngineConfig
from search.apps.review.decisions import judge_deals
from search.apps.review.figures import figures
from search.arena.judges import load_judge
from search.config import SearchConfig
from search.players.player import Player
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import make_players

GAME = make_game("skat")
NOISE = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2)
"""Shares of random actions."""
MORE = 20
"""Times as many games tell the true strength."""


def played(players: Sequence[Player], deals: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States and deals' seeds of games in which three different players sit together, ``[D]``; who sat where,
    ``[D, 3]``."""
    order = np.array([np.argsort(row) for row in derive_many(derive(seed, "seats"), 6 * deals).reshape(deals, 6)])
    seating, seeds = order[:, : GAME.num_players], derive_many(derive(seed, "deals"), deals)
    return play_table(GAME, players, seating, seeds, 512, secret=derive(seed, "secret")).states, seeds, seating


def strengths(states: np.ndarray, seating: np.ndarray) -> np.ndarray:
    """``float[6, 2]``: mean points a game of each player, and their standard deviation."""
    points = GAME.points(states)
    each = [points[seating == player] for player in range(len(NOISE))]
    return np.array([(own.mean(), own.std()) for own in each])


def games_to_tell(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Games of each of two players after which half of all 95 % intervals of their difference are clear of 0, given
    mean and standard deviation of a game."""
    return float((1.96 * np.hypot(first[1], second[1]) / (second[0] - first[0])) ** 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--player", default="skat_rules", help="whose copies play, without a network of its own given")
    parser.add_argument("--judge", default="", help="as kibitz review --player")
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.deals < 100:
        parser.error("--deals must be 100 or more")
    base, at, network = options.player.partition("@")
    names = [f"{base}:explore={share:g}{at}{network}" if share else options.player for share in NOISE]
    engines = Engines(GAME, EngineConfig(precision="auto"))
    players = make_players(names, GAME, SearchConfig(), engines=engines)
    strong = strengths(*played(players, MORE * options.deals, derive(options.seed, "truth") % 2**63)[::2])
    states, seeds, seating = played(players, options.deals, derive(options.seed, "reviewed") % 2**63)
    sequences = Sequences.of_deals(GAME, states, seeds, np.array(names, object)[seating])
    deals = RecordedDeals(GAME, sequences, tuple(map(str, range(options.deals))))
    setup = load_judge(options.judge, GAME)
    judged = judge_deals(deals, np.arange(len(sequences)), setup.judge, setup.scale, options.seed)
    found = {figure.name: figure for figure in figures(judged)["player"]}
    truth, made = strong[:, 0], strengths(states, seating)[:, 0]
    for name, share, points, here in zip(names, NOISE, truth, made, strict=True):
        one = found[name]
        lost = f"{one.cost:.3f} ({one.low:.3f}..{one.high:.3f}) lost a decision in {one.deals} games"
        print(f"{100 * share:3.0f} % random: {lost}; {points:+.2f} points a game, in the reviewed ones {here:+.2f}")
    cost = np.array([found[name].cost or 0.0 for name in names])
    told = {
        "cost and strength, Pearson": pearsonr(cost, -truth)[0],
        "cost and strength, Kendall": kendalltau(cost, -truth)[0],
        "cost and noise, Kendall": kendalltau(cost, NOISE)[0],
        "points of these games and strength, Pearson": pearsonr(made, truth)[0],
        "points of these games and strength, Kendall": kendalltau(made, truth)[0],
    }
    for name, value in told.items():
        print(f"{name}: {value:.3f}")
    records = [{"benchmark": "review", "case": name, "correlation": float(value)} for name, value in told.items()]
    ends = [(found[name].low or 0.0, found[name].high or 0.0) for name in names]
    spread = [
        (high - low) / (2 * 1.96) * found[name].deals ** 0.5 for name, (low, high) in zip(names, ends, strict=True)
    ]
    for before, now in pairwise(range(len(NOISE))):
        by_cost = games_to_tell((cost[before], spread[before]), (cost[now], spread[now]))
        by_points = games_to_tell(tuple(strong[before]), tuple(strong[now]))
        pair = f"{100 * NOISE[now]:g} % from {100 * NOISE[before]:g} %"
        print(f"{pair}: told by cost after {by_cost:.0f} games each, by points after {by_points:.0f}")
        records.append({"benchmark": "review", "case": f"games to tell {pair}", "ours": by_cost, "theirs": by_points})
    print(json.dumps([{**each, "player": options.player, "machine": machine()} for each in records]))


if __name__ == "__main__":
    main()
