"""A whole tournament in one call, for one process."""

from collections.abc import Callable, Sequence

from games.game import Game
from search.arena.tournament.deals import Deals
from search.arena.tournament.matches import play_deals
from search.arena.tournament.result import TournamentResult, summarize
from search.arena.tournament.seatings import ALL
from search.players.player import Player


def run_tournament(
    game: Game,
    players: Sequence[Player],
    deals: int,
    seed: int,
    table_size: int = 256,
    on_progress: Callable[[int, int], None] = lambda deals, decisions: None,
    seating: str = ALL,
) -> TournamentResult:
    """Play ``deals`` deals in every seating of the players (distinct names) and summarize them.

    Several workers would call ``play_deals`` on parts instead, then ``merge`` and ``summarize``.

    Args:
        table_size: matches played side by side.
        on_progress: called with the deals ended and decisions taken since the last call.
        seating: one of ``search.arena.tournament.seatings.SEATINGS``.
    """
    names = [player.name for player in players]
    if len(set(names)) != len(names):
        raise ValueError(f"players of a tournament need distinct names; these have {', '.join(names)}")
    matches = play_deals(game, players, Deals(seed, deals, seating=seating), table_size, on_progress)
    return summarize(game, names, matches)
