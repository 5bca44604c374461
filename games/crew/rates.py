"""How often random play succeeds: ``python -m games.crew.rates --games 1000000`` prints a table by mission."""

import argparse
import math
import time
from collections.abc import Iterator

from cluster.reader import end_with_reader
from games.crew.game import CrewGame
from games.crew.missions import NUM_MISSIONS, parse_missions
from games.rng import derive, derive_many

_BATCH = 20_000


def successes(mission: int, games: int, seed: int) -> int:
    """Missions that succeed out of ``games`` random ones with default options, played from ``seed``."""
    game, number = CrewGame(missions=mission), 0
    for batch, first in enumerate(range(0, games, _BATCH)):
        states = game.deal(derive_many(derive(seed, "deal", mission, batch), min(_BATCH, games - first)))
        game.playout(states, derive_many(derive(seed, "playout", mission, batch), len(states)))
        number += int(game.outcome(states)[:, 0].sum())
    return number


def interval(number: int, games: int) -> tuple[float, float]:
    """The 95% interval of a rate of which ``number`` out of ``games`` were seen (Wilson 1927)."""
    z = 1.959964
    rate, scale = number / games, 1 + z * z / games
    middle = (rate + z * z / (2 * games)) / scale
    half = z * math.sqrt(rate * (1 - rate) / games + z * z / (4 * games * games)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def table(missions: tuple[int, ...], games: int, seed: int) -> Iterator[str]:
    """The lines of a Markdown table, each as soon as its mission has been played."""
    yield "| Mission | Successes | Rate | 95% interval |\n|---|---|---|---|"
    for mission in missions:
        number = successes(mission, games, seed)
        low, high = interval(number, games)
        yield f"| {mission} | {number:,} | {number / games:.3g} | {low:.3g} to {high:.3g} |"


def main(arguments: list[str] | None = None) -> None:
    """Entry point: prints the table, and how fast the games were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=100_000, help="games of every mission")
    parser.add_argument("--missions", default=f"1-{NUM_MISSIONS}", help="such as 1-50, 4 or 1-3,7")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    try:
        missions = parse_missions(given.missions)
    except ValueError as error:
        parser.error(str(error))
    if given.games < 1:
        parser.error(f"--games {given.games}: at least 1 is needed")
    successes(missions[0], 1, given.seed)  # compiles
    began = time.perf_counter()
    for line in table(missions, given.games, given.seed):
        print(line, flush=True)
    speed = given.games * len(missions) / (time.perf_counter() - began)
    print(f"\n{given.games:,} games of each, {speed:,.0f} a second on one core, histories written")


if __name__ == "__main__":
    end_with_reader()
    main()
