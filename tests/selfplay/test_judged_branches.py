"""Branches whose ends the solver says, against every way to play a deal on; and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from games.config import GameConfig
from games.game import Game
from games.registry import make_game
from games.rng import derive_many
from games.shards import Sequences, read_shard, shard_info
from games.skat.rules import OVER, PLAY
from search.players.table import play_table
from search.roster.kinds import support_of
from selfplay.branches import branch
from selfplay.checks import check_players
from selfplay.config import GamesConfig, InitialConfig, SelfplayConfig
from selfplay.generator import Generator, GeneratorSettings
from selfplay.plan import Seating, ShardPlan
from tests.selfplay.material import tiny_config

SKAT = make_game("skat", {})
CONFIG = tiny_config("unused")


def deals(count: int) -> tuple[np.ndarray, Sequences]:
    """Deals of Skat by ``skat_rules``, whose soloists win now and then, and their sequences."""
    seeds, player = derive_many(8, count), support_of(SKAT).scripted(SKAT)
    states = play_table(SKAT, [player], np.zeros((count, 3), int), seeds, secret=1).states
    return states, Sequences.of_deals(SKAT, states, seeds, "skat_rules")


def soloist_wins(game: Game, state: np.ndarray) -> bool:
    """Whether the soloist wins with open hands and perfect play: every way to go on is tried."""
    public = state["public"][0]
    if public["phase"] == OVER:
        return bool(game.points(state)[0, public["soloist"]] > 0)
    found = []
    for card in np.flatnonzero(game.legal(state)[0]):
        after = state.copy()
        game.play(after, np.array([card]))
        found.append(soloist_wins(game, after))
    return any(found) if public["turn"] == public["soloist"] else all(found)


def before(sequences: Sequences, row: int, place: int) -> np.ndarray:
    """The state in which the seat of a sequence has seen so many tokens and is to act."""
    state = SKAT.deal(sequences.deal_seed[[row]])
    while True:
        seat = SKAT.to_move(state).astype(np.int64)
        seen = SKAT.histories(state, seat)[1]
        if seat[0] == sequences.seat[row] and seen[0] == place:
            return state
        own = np.flatnonzero((sequences.game == sequences.game[row]) & (sequences.seat == seat[0]))
        SKAT.play(state, sequences.tokens[own, seen].astype(np.int64))


def test_a_judged_card_ends_as_perfect_play_does() -> None:
    ended, sequences = deals(60)
    found = branch(SKAT, ended, sequences, None, 8, 3, judge=support_of(SKAT).solvers["solver"])
    views = SKAT.prefixes(sequences.tokens)[found.row, found.place]
    assert (views["public"]["phase"] == PLAY).all()
    checked = [0, 0]
    for index in np.flatnonzero(views["public"]["tricks"].sum(axis=1) >= 7):
        row, place = found.row[index], found.place[index]
        state = before(sequences, int(row), int(place))
        soloist = int(state["public"]["soloist"][0])
        SKAT.play(state, found.token[[index]].astype(np.int64))
        points = SKAT.outcomes.points[found.outcome[index], (soloist - sequences.seat[row]) % 3]
        wins = soloist_wins(SKAT, state)
        assert (points > 0) == wins
        checked[wins] += 1
    assert min(checked) > 20


def test_judged_ends_are_possible_behind_their_action() -> None:
    ended, sequences = deals(300)
    found = branch(SKAT, ended, sequences, None, 6, 3, judge=support_of(SKAT).solvers["solver"])
    views = SKAT.prefixes(sequences.tokens)[found.row, found.place]
    SKAT.advance(views, found.token)
    assert SKAT.view_outcomes(views)[np.arange(len(views)), found.outcome].all()


def test_a_generator_says_that_branches_were_judged(tmp_path: Path) -> None:
    games = GamesConfig(branches=4, branch_judge="solver")
    settings = GeneratorSettings(GameConfig("skat", {}), CONFIG.search, CONFIG.engine, games)
    plan = ShardPlan(0, 0, 5, Seating.INITIAL, InitialConfig(players=["skat_rules"]), (), 3)
    Generator(settings).generate(plan, str(tmp_path / "s.parquet"))
    branches = read_shard(tmp_path / "s.parquet", SKAT).branches
    assert branches is not None and len(branches.place)
    said = shard_info(tmp_path / "s.parquet").provenance["branches"]
    assert said == "4 decisions of each sequence, judged by solver"


@pytest.mark.parametrize(
    ("game", "change", "message"),
    [
        (
            "skat",
            {"branch_judge": "slover", "branches": 2},
            "branch_judge=slover: of skat there is solver; or leave it",
        ),
        ("hearts", {"branch_judge": "solver", "branches": 2}, "branch_judge=solver: of hearts there is none; or leave"),
        (
            "skat",
            {"branch_judge": "solver", "branches": 2, "newest_branch_player": "imitation"},
            "selfplay.branch_judge=solver: must be empty with newest_branch_player",
        ),
    ],
)
def test_judges_that_cannot_be_are_refused(game: str, change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        games = replace(SelfplayConfig(), **change)
        settings = GeneratorSettings(GameConfig(game, {}), CONFIG.search, CONFIG.engine, games)
        check_players(settings, make_game(game, {}), group="selfplay.")
