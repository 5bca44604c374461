"""Rate players by a round robin: ``python -m search.arena.rating game=hearts players=[hearts_rules,random] out=DIR``.

Every pair of players plays a tournament on the same deals, with its own file.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from cluster import cli
from cluster.errors import about, blaming_input
from cluster.files import storage, uris
from cluster.watching.progress import Progress
from search.arena.rating.config import RatingConfig
from search.arena.rating.ratings import rate
from search.arena.rating.report import heat_map, leads, render, strength
from search.arena.tournament.checks import checked
from search.arena.tournament.parts import Tournament, play_tournaments
from search.arena.tournament.report import wide_console
from search.arena.tournament.result import TournamentResult
from search.arena.tournament.workers import tournament_workers
from search.roster.registry import settled


def main(config: RatingConfig) -> None:
    """Play the missing pairs, print the table, write it and its pictures."""
    with blaming_input():
        config = settled(config)
    ratings = rate(play_round_robin(config), config.anchor)
    wide_console().print(render(ratings))
    out = config.out.rstrip("/")
    ratings.write(f"{out}/ratings.json")
    storage.write_bytes_atomic(f"{out}/ratings.png", heat_map(ratings))
    storage.write_bytes_atomic(f"{out}/strength.png", strength(ratings))
    storage.write_bytes_atomic(f"{out}/leads.png", leads(ratings, config.leads_of))
    print(f"ratings: {out}/ratings.json, ratings.png, strength.png, leads.png")


def pairs(players: Sequence[str]) -> list[tuple[str, str]]:
    """Every pair of players once, in an order independent of theirs."""
    return list(combinations(sorted(players), 2))


def play_round_robin(config: RatingConfig) -> list[TournamentResult]:
    """The results of ``pairs(config.players)``. Pairs without a file in ``config.out`` are played from one queue; each
    file is written after its last deal.

    Raises:
        UserError: bad input, or a file that holds another tournament; before anything is played.
        Exception: the error of the first failed pair, with its name; all other pairs have been played.
    """
    tournaments = {
        (path := _path(config.out, a, b)): checked(replace(config, players=[a, b], anchor="", leads_of="", out=path))
        for a, b in pairs(config.players)
    }
    results = {path: tournament.stored(path) for path, tournament in tournaments.items()}
    missing = {path: tournaments[path].with_parts(path) for path, result in results.items() if result is None}
    print(f"{config.out}: {len(missing)} of {len(results)} pairs to play", flush=True)
    if missing:
        results |= _played(config, missing)
    return [result for result in results.values() if result is not None]


def _played(config: RatingConfig, tournaments: dict[str, Tournament]) -> dict[str, TournamentResult]:
    """Play tournaments; file -> result."""
    paths, results, failed = list(tournaments), dict[str, TournamentResult](), list[Exception]()
    total = sum(one.deals.count for one in tournaments.values())
    done = sum(one.deals_played for one in tournaments.values())
    with tournament_workers(config.cluster) as evaluate, Progress("rating", total, "deals", done=done) as progress:
        for place, result in play_tournaments(list(tournaments.values()), evaluate, progress.update):
            path = paths[place]
            if isinstance(result, Exception):
                failed.append(about(" against ".join(tournaments[path].players), result))
            else:
                result.write(path)
                results[path] = result
    if failed:
        raise failed[0]
    return results


def _path(out: str, a: str, b: str) -> str:
    return f"{out.rstrip('/')}/{uris.file_name(f'{a}-vs-{b}')}.json"


if __name__ == "__main__":
    cli.run("rating", RatingConfig, main, output_key="out")
