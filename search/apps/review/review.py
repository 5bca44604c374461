"""A whole review of recorded deals: for the command, and for the last hand at a table."""

from collections.abc import Callable, Mapping

import numpy as np

from games.recorded_deals import RecordedDeals
from search.apps.review.decisions import judge_deals
from search.apps.review.figures import figures, results_of
from search.apps.review.open_cards import hindsight, with_perfect_play
from search.apps.review.report import Review, deal_notes
from search.arena.judges import JudgeSetup
from search.arena.values.report import unit_of
from search.roster.kinds import support_of


def review_of(
    deals: RecordedDeals,
    rows: np.ndarray,
    setup: JudgeSetup,
    most: int,
    seed: int = 0,
    file: str = "",
    asked: Mapping[str, str | int] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Review:
    """The review of some histories (``int64[...]``, rows of ``deals``).

    Args:
        most: deals with perfect play, those in which the most was lost.
        seed: of a judge that searches.
        file, asked: see ``Review``.
        progress: called with the number of histories judged so far.
    """
    game, support = deals.game, support_of(deals.game)
    judged = judge_deals(deals, rows, setup.judge, setup.scale, seed, progress)
    points = setup.utility * unit_of(game, setup.utility)[1]
    after = hindsight(deals, judged.decisions, support, points)
    notes = deal_notes(judged, rows, after, results_of(judged, setup.utility, setup.scale) if setup.in_points else {})
    return Review(
        file=file,
        asked=dict(asked or {}),
        game=game.name,
        player=setup.name,
        network=setup.network,
        unit=setup.unit,
        notes=deals.notes,
        figures=figures(judged),
        deals=with_perfect_play(deals, notes, support, points, most),
    )
