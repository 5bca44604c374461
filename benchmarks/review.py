"""Whether reviews rank players by their strength: ``python -m benchmarks.review [--game NAME] [--player SPEC]``.

Six copies of a player, which play 0 to 20 % of their actions at random, sit together at random in made games. The
review judges every decision of theirs. Its order is compared with that of the points that each makes in other games,
twenty times as many, and with the share of random actions, which is known. ``--field SPEC...`` seats other players
instead. Of each player it says too how many decisions the review calls good, doubtful, mistakes and blunders.
"""

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.stats import kendalltau, pearsonr

from benchmarks.report import machine
from games.game import Game
from games.recorded_deals import RecordedDeals
from games.registry import make_game
from games.rng import derive, derive_many
from games.shards import Sequences
from learner.config import EngineConfig
from search.apps.play.layouts import layout_of
from search.apps.review.decisions import Judged, judge_deals
from search.apps.review.figures import MARKS, Figure, figures, mark_of
from search.arena.judges import load_judge
from search.config import SearchConfig
from search.players.player import Player
from search.players.table import play_table
from search.roster.engines import Engines
from search.roster.registry import make_players

NOISE = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2)
"""Shares of random actions."""
MORE = 20
"""Times as many games tell the true strength."""


def played(game: Game, players: Sequence[Player], deals: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States and deals' seeds of games in which different players sit together, ``[D]``; who sat where, ``[D, P]``."""
    lots = derive_many(derive(seed, "seats"), len(players) * deals).reshape(deals, len(players))
    seating = np.array([np.argsort(row)[: game.num_players] for row in lots])
    seeds = derive_many(derive(seed, "deals"), deals)
    return play_table(game, players, seating, seeds, 512, secret=derive(seed, "secret")).states, seeds, seating


def strengths(game: Game, states: np.ndarray, seating: np.ndarray, players: int) -> np.ndarray:
    """``float[players, 2]``: mean points a game of each player, and their standard deviation; less than 0 where few are
    good."""
    points = game.points(states) * (-1 if game.outcomes.lower_is_better else 1)
    each = [points[seating == player] for player in range(players)]
    return np.array([(own.mean(), own.std()) for own in each])


def shares(judged: Judged, player: str) -> str:
    """How many of a player's decisions the review calls what, in per cent."""
    cost = judged.decisions.cost[judged.deals.sequences.player[judged.decisions.row] == player]
    per_utility = layout_of(judged.deals.game, [""] * (judged.deals.game.num_players - 1)).points_per_utility or 1.0
    marks = [mark_of(one, per_utility) for one in cost[np.isfinite(cost)]]
    return ", ".join(f"{name} {100 * marks.count(name) / len(marks):.1f}" for name in reversed(MARKS.values()))


def games_to_tell(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Games of each of two players after which half of all 95 % intervals of their difference are clear of 0, given
    mean and standard deviation of a game."""
    return float((1.96 * np.hypot(first[1], second[1]) / (second[0] - first[0])) ** 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="skat")
    parser.add_argument("--player", default="", help="whose copies play, GAME_rules if left out")
    parser.add_argument("--field", nargs="+", default=[], help="players in place of copies, as many as seats or more")
    parser.add_argument("--judge", default="", help="as kibitz review --player")
    parser.add_argument("--deals", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.deals < 100:
        parser.error("--deals must be 100 or more")
    player = options.player or f"{options.game}_rules"
    base, at, network = player.partition("@")
    copies = [f"{base}:explore={share:g}{at}{network}" if share else player for share in NOISE]
    names, game = options.field or copies, make_game(options.game)
    players = make_players(names, game, SearchConfig(), engines=Engines(game, EngineConfig(precision="auto")))
    states, seeds, seating = played(game, players, options.deals, derive(options.seed, "reviewed") % 2**63)
    sequences = Sequences.of_deals(game, states, seeds, np.array(names, object)[seating])
    deals = RecordedDeals(game, sequences, tuple(map(str, range(options.deals))))
    setup = load_judge(options.judge, game)
    judged = judge_deals(deals, np.arange(len(sequences)), setup.judge, setup.scale, options.seed)
    found = {figure.name: figure for figure in figures(judged)["player"]}
    made = strengths(game, states, seating, len(names))
    for name, here in zip(names, made[:, 0], strict=True):
        one = found[name]
        lost = f"{one.cost:.4f} ({one.low:.4f}..{one.high:.4f}) lost a decision in {one.deals} games"
        print(f"{name}: {lost}; {here:+.2f} points a game; {shares(judged, name)}")
    if not options.field:
        more = played(game, players, MORE * options.deals, derive(options.seed, "truth") % 2**63)
        told = compared([found[name] for name in names], made[:, 0], strengths(game, *more[::2], len(names)))
        print(json.dumps([{"benchmark": "review", **each, "player": player, "machine": machine()} for each in told]))


def compared(found: Sequence[Figure], made: np.ndarray, strong: np.ndarray) -> list[dict[str, object]]:
    """How the order by cost agrees with that by strength and by noise, and the games that it takes to tell two apart;
    ``made`` (``float[6]``): points in the reviewed games, ``strong``: see ``strengths``."""
    cost, truth = np.array([one.cost or 0.0 for one in found]), strong[:, 0]
    for share, points in zip(NOISE, truth, strict=True):
        print(f"{100 * share:3.0f} % random: {points:+.2f} points a game in {MORE} times as many")
    told = {
        "cost and strength, Pearson": pearsonr(cost, -truth)[0],
        "cost and strength, Kendall": kendalltau(cost, -truth)[0],
        "cost and noise, Kendall": kendalltau(cost, NOISE)[0],
        "points of these games and strength, Pearson": pearsonr(made, truth)[0],
        "points of these games and strength, Kendall": kendalltau(made, truth)[0],
    }
    for name, value in told.items():
        print(f"{name}: {value:.3f}")
    records: list[dict[str, object]] = [{"case": name, "correlation": float(value)} for name, value in told.items()]
    spread = [((one.high or 0.0) - (one.low or 0.0)) / (2 * 1.96) * one.deals**0.5 for one in found]
    for before, now in pairwise(range(len(NOISE))):
        by_cost = games_to_tell((cost[before], spread[before]), (cost[now], spread[now]))
        by_points = games_to_tell(tuple(strong[before]), tuple(strong[now]))
        pair = f"{100 * NOISE[now]:g} % from {100 * NOISE[before]:g} %"
        print(f"{pair}: told by cost after {by_cost:.0f} games each, by points after {by_points:.0f}")
        records.append({"case": f"games to tell {pair}", "ours": by_cost, "theirs": by_points})
    return records


if __name__ == "__main__":
    main()
