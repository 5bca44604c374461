"""Every game keeps every law, and the laws notice games that do not."""

import random

import numpy as np
import pytest

from games import conformance
from games.conformance.playing import random_play
from games.crew.game import CrewGame
from games.crew.public import CHOICES
from games.game import Game, Next
from games.hearts.game import HeartsGame
from games.hearts.rules import MOONS, OPTIONS
from games.openspiel import OpenSpielGame
from games.rng import derive_many
from games.samegame.game import SameGame
from games.skat.game import SkatGame
from games.skat.rules import SCORINGS
from tests.games.material import Signalling, histories_of

LAWS = (*conformance.LAWS, conformance.check_no_leak)
OTHERS = {name: values[1] for name, values in CHOICES.items()}
PAPER_002 = {
    **dict.fromkeys(("pass_cards", "must_break_hearts", "no_pts_on_first_trick"), False),
    "free_first_lead": True,
}
RULES: dict[type[Game], list[dict]] = {
    HeartsGame: [
        {},
        {"pass_cards": False},
        {"jd_bonus": True, "avoid_all_tricks_bonus": True, "moon": "shooter_minus_26"},
        {"can_lead_any_club": True, "must_break_hearts": False, "no_pts_on_first_trick": False},
        PAPER_002,
        {"can_lead_hearts_instead_of_qs": True, "qs_breaks_hearts": False},
    ],
    SkatGame: [{}, {"scoring": "classic"}],
    CrewGame: [
        {"distress": True},
        {},
        {"distress": True, **OTHERS},
        {"missions": "5,9,13,33"},
        {"missions": "12", "distress": True},
        {"missions": "24,32,36,43"},
        {"missions": "6,29", "distress": True},
        {"missions": "46", "distress": True, "pink_target": "after_distress"},
    ],
    SameGame: [
        {},
        {"penalty": "excess", "rows": 5, "columns": 2, "colours": 2},
        {"boards": "balanced"},
        {"boards": "dominant", "dominant_tiles": 41},
        {"rows": 15, "columns": 15},
    ],
}
DEALS = {HeartsGame: 40, SkatGame: 60, CrewGame: 30, SameGame: 12}


def cases(rules: dict[type[Game], list[dict]]) -> list:
    """Game and options; all but a game's first ones are slow."""
    return [
        pytest.param(kind, options, id=f"{kind.__name__}-{number}", marks=[pytest.mark.slow] if number else [])
        for kind, several in rules.items()
        for number, options in enumerate(several)
    ]


@pytest.mark.parametrize(("kind", "options"), cases(RULES))
@pytest.mark.parametrize("law", LAWS)
def test_a_game_keeps_the_law(law, kind: type[Game], options: dict) -> None:
    law(kind(**options), num_deals=DEALS[kind], seed=1)


MISSIONS = ("12", "1-50", "46", "20,27,37", "24,36,43", "5,11,33,41,50", "23,40")


@pytest.mark.parametrize(("kind", "options"), cases({Signalling: [{"missions": missions} for missions in MISSIONS]}))
@pytest.mark.parametrize("law", [conformance.check_replay, conformance.check_possible, conformance.check_no_leak])
def test_passed_cards_of_the_crew_are_known_to_those_who_saw_them(law, kind: type[Game], options: dict) -> None:
    law(kind(distress=True, **options), num_deals=60, seed=2)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_small_poker_games_of_openspiel_keep_every_law(name: str) -> None:
    conformance.check_game(OpenSpielGame(name), num_deals=15, seed=1)


# Trying every token at every place would take OpenSpiel's hearts, whose views are found by search, hours.
@pytest.mark.slow
@pytest.mark.parametrize("law", [law for law in conformance.LAWS if law is not conformance.check_possible])
def test_hearts_of_openspiel_keeps_every_law(law) -> None:
    # Garbage is searched in vain to the bound, so that law gets a low one.
    bound = 200 if law is conformance.check_garbage else 10_000
    law(OpenSpielGame("hearts", outcomes="buckets", num_buckets=5, max_witness_steps=bound), num_deals=1, seed=1)


@pytest.mark.parametrize("count", [3, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "game",
    [HeartsGame(), SkatGame(), Signalling(distress=True), Signalling(missions="12", distress=True)],
    ids=["hearts", "skat", "crew", "draw"],
)
def test_worlds_agree_at_every_prefix_that_a_state_can_stand_at(game: Game, count: int) -> None:
    """The sampled state has the history, and stands at its end; amid what is seen at once there is none."""
    *_, states = random_play(game, count, 21)
    stood = 0
    for seat in range(game.num_players):
        tokens, lengths = game.histories(states, np.full(count, seat))
        for row, cut in [(deal, place) for deal in range(count) for place in range(lengths[deal])]:
            views = game.views(tokens[row : row + 1], np.array([cut]))
            try:
                world, seats = game.determinize(views, np.array([cut], np.uint64))
            except ValueError as error:
                assert "stops amid what is seen at once" in str(error) and game.next(views)[0] == Next.OBSERVATION
                continue
            seen, length = game.histories(world, seats)
            over = game.to_move(world)[0] < 0
            assert length[0] - over == cut and over == (game.next(views)[0] == Next.END)
            np.testing.assert_array_equal(seen[0, :cut], tokens[row, :cut])
            stood += 1
    assert stood > 60 * count


def places(game: Game, states: np.ndarray) -> np.ndarray:
    """``int64[B, N]``: all places where cards can lie, as sets."""
    public = states["public"]
    if isinstance(game, CrewGame):
        underway = np.where(states["passed"] >= 0, np.int64(1) << states["passed"].clip(0), 0)
        underway[public["num_passed"] == 4] = 0
        return np.concatenate([states["hands"], public["shown"], underway], axis=1)
    if isinstance(game, SkatGame):
        aside = np.where(public["picked_up"] == 1, states["laid"], states["talon"])[:, None]
    else:
        aside = states["passed"] * (states["num_passed"] < 12)[:, None]  # passed, not yet received
    return np.concatenate([states["hands"], aside, public["taken"], public["trick"][:, None]], axis=1)


CHOICES_OF = {
    HeartsGame: {**dict.fromkeys(OPTIONS, (False, True)), "moon": MOONS},
    SkatGame: {"scoring": SCORINGS},
    CrewGame: {"distress": (False, True), **CHOICES},
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("kind", "cards"), [(HeartsGame, 52), (SkatGame, 32), (CrewGame, 40)])
def test_every_card_is_always_in_exactly_one_place(kind: type[Game], cards: int, seed: int) -> None:
    rng = random.Random(seed)
    game = kind(**{name: rng.choice(values) for name, values in CHOICES_OF[kind].items()})
    for states in random_play(game, 20, seed):
        sets = places(game, states)
        assert (np.bitwise_or.reduce(sets, axis=1) == (1 << cards) - 1).all()
        assert (np.bitwise_count(sets).sum(axis=1) == cards).all()


@pytest.mark.parametrize("game", [HeartsGame(), SkatGame(), CrewGame(distress=True)], ids=lambda game: game.name)
def test_any_tokens_can_be_described(game: Game) -> None:
    rng = np.random.default_rng(1)
    tokens, lengths = histories_of(game, 50, 5)
    for row, length in zip(tokens, lengths, strict=True):
        assert game.describe(rng.integers(0, game.vocabulary.size, length).astype(np.uint8))
        row[rng.integers(length)] = rng.integers(game.vocabulary.size)
        assert game.describe(row[:length])


@pytest.mark.parametrize(("kind", "cards", "held"), [(HeartsGame, 52, 13), (SkatGame, 32, 10), (CrewGame, 40, 10)])
def test_deals_are_uniform(kind: type[Game], cards: int, held: int) -> None:
    count = 40_000
    states = kind().deal(derive_many(9, count))
    holds = (states["hands"][:, :, None] >> np.arange(cards) & 1).astype(np.float64)
    np.testing.assert_allclose(holds.mean(axis=0), held / cards, atol=0.012)  # five standard deviations
    together, seats = np.einsum("bsi,bsj->ij", holds, holds) / count, holds.shape[1]
    wanted = seats * held * (held - 1) / (cards * (cards - 1))
    np.testing.assert_allclose(together[~np.eye(cards, dtype=bool)], wanted, atol=0.012)
    if kind is HeartsGame:
        directions = np.bincount(states["public"]["direction"], minlength=4) / count
        np.testing.assert_allclose(directions, 0.25, atol=0.011)


def test_players_that_peek_are_found_out() -> None:
    def plays_the_lowest(states: np.ndarray, _seeds: np.ndarray) -> np.ndarray:
        return np.argmax(HeartsGame().legal(states), axis=1)

    def peeks(states: np.ndarray, _seeds: np.ndarray) -> np.ndarray:
        return states["hands"][:, 0] ^ states["hands"][:, 3]

    conformance.check_no_leak(HeartsGame(), 5, 1, [plays_the_lowest])
    with pytest.raises(AssertionError, match="player 1 decides by what it cannot see"):
        conformance.check_no_leak(HeartsGame(), 5, 1, [plays_the_lowest, peeks])
