"""Rate players by a round robin: ``python -m search.rating game=hearts players=[hearts_rules,random] out=DIR``."""

from cluster import cli
from cluster.files import storage
from search.rating.config import RatingConfig
from search.rating.pictures import heat_map, leads, strength
from search.rating.ratings import rate
from search.rating.report import render
from search.rating.round_robin import play_round_robin
from search.tournament.report import wide_console


def main(config: RatingConfig) -> None:
    """Play the pairs that are missing, print the table, write it and its pictures."""
    ratings = rate(play_round_robin(config), config.anchor)
    wide_console().print(render(ratings))
    out = config.out.rstrip("/")
    ratings.write(f"{out}/ratings.json")
    storage.write_bytes_atomic(f"{out}/ratings.png", heat_map(ratings))
    storage.write_bytes_atomic(f"{out}/strength.png", strength(ratings))
    storage.write_bytes_atomic(f"{out}/leads.png", leads(ratings, config.leads_of))
    print(f"ratings: {out}/ratings.json, ratings.png, strength.png, leads.png")


if __name__ == "__main__":
    cli.run("rating", RatingConfig, main, output_key="out")
