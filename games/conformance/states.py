"""Laws of true states: turns, legal actions, deals, and how they end."""

import numpy as np

from games.conformance.playing import finished, random_actions, random_play, seen
from games.game import Game
from games.rng import derive, derive_many, mix


def check_legality(game: Game, num_deals: int, seed: int) -> None:
    """The seat to act has a legal action until the end; each one is accepted; any other token is refused by a
    ``ValueError`` that names row, seat and token, and changes nothing."""
    for step, states in enumerate(random_play(game, num_deals, seed)):
        legal, seats = game.legal(states), game.to_move(states)
        assert legal.dtype == np.bool_ and legal.shape == (num_deals, game.vocabulary.size), "legal is bool[B, V]"
        for row in np.flatnonzero(seats >= 0):
            assert legal[row].any(), f"deal {row}, step {step}: seat {seats[row]} is to move but has no legal action"
        picked = step % num_deals
        if seats[picked] < 0:
            continue
        for token in np.flatnonzero(legal[picked]):
            game.play(states[picked : picked + 1].copy(), np.array([token]))
        _check_refused(game, states[picked : picked + 1], ~legal[picked], int(seats[picked]))


def _check_refused(game: Game, state: np.ndarray, illegal: np.ndarray, seat: int) -> None:
    before = seen(game, state)
    tokens: list[int] = [*np.flatnonzero(illegal).tolist(), game.vocabulary.size + 7]
    for token in tokens:
        tried = state.copy()
        try:
            game.play(tried, np.array([token]))
        except ValueError as error:
            text = str(error)
            assert "row 0" in text and f"seat {seat}" in text and str(token) in text, f"unhelpful message: {text}"
        else:
            raise AssertionError(f"illegal token {token} of seat {seat} was accepted")
        assert seen(game, tried) == before, f"the refused token {token} of seat {seat} changed the state"


def check_variants(game: Game, num_deals: int, seed: int) -> None:
    """Every deal is of a kind that has a name of its own, and stays so until its end."""
    assert len(set(game.scenarios)) == len(game.scenarios), "two scenarios have one name"
    states = game.deal(derive_many(seed, num_deals))
    kinds = game.scenario(states)
    assert kinds.dtype == np.int16 and kinds.shape == (num_deals,), "scenario is int16[B]"
    assert ((kinds >= 0) & (kinds < max(len(game.scenarios), 1))).all(), "a scenario that does not exist"
    game.playout(states, derive_many(derive(seed, "playout"), num_deals))
    assert (game.scenario(states) == kinds).all(), "a deal became one of another scenario"


def check_terminal(game: Game, num_deals: int, seed: int) -> None:
    """A finished deal has no turn and no legal move, playing on changes nothing, and all seats agree on how it
    ended."""
    fresh = game.deal(derive_many(seed, num_deals))
    has_outcome = (game.outcome(fresh) >= 0).all(axis=1)
    assert (has_outcome == (game.to_move(fresh) < 0)).all(), "a fresh deal has an outcome and a turn, or neither"
    states = finished(game, num_deals, seed)
    before = seen(game, states)
    assert (game.to_move(states) == -1).all() and not game.legal(states).any(), "something to do after the end"
    for token in range(game.vocabulary.size):
        game.play(states, np.full(num_deals, token))
    game.playout(states, derive_many(seed, num_deals))
    assert seen(game, states) == before, "playing on after the end changes the state"
    labels = game.outcome(states)
    assert ((labels >= 0) & (labels < game.outcomes.num_labels)).all(), "an outcome label outside the table"
    supported = game.outcomes.exact or game.outcomes.nearest(game.points(states)[:, 0]) == labels[:, 0]
    assert np.all(supported), "a label that is not nearest to the points"
    for seat in range(game.num_players):
        rolled = np.roll(game.outcomes.points[labels[:, 0]], -seat, axis=1)
        assert (game.outcomes.points[labels[:, seat]] == rolled).all(), f"seat {seat} sees other points than seat 0"


def check_extras(game: Game, num_deals: int, seed: int) -> None:
    """What a game may offer besides keeps its contract: indicators of ended deals, a finite list of deals, merged
    probabilities, renamed tokens, boards that tell first tokens."""
    states, seat = finished(game, num_deals, seed), np.zeros(num_deals, np.int64)
    for name, shown in game.indicators(states).items():
        shape = (num_deals, game.num_players)
        assert shown.dtype == np.float32 and shown.shape == shape, f"indicator {name} is no float32{list(shape)}"
    if game.num_deals:
        numbers = np.arange(2 * game.num_deals, dtype=np.uint64)
        once, twice = (seen(game, game.deal(part)) for part in np.split(numbers, 2))
        assert once == twice, "deals do not begin again behind the last one of the list"
    tokens, lengths = game.histories(states, seat)
    whole = game.views(tokens, lengths)
    for feature in game.features.values():
        early = game.views(tokens, np.full(num_deals, feature.tells))
        assert not feature.of_board or len(feature.shape) == 3, "a board has rows, columns and planes"
        assert not feature.tells or not feature.encode(early).any(), "a board is there before it tells what it says"
        assert feature.encode(whole).shape == (num_deals, *feature.shape), "a feature has another shape than it says"
    for dealt in random_play(game, num_deals, seed):
        legal = game.legal(dealt)
        merged = game.merged(dealt, legal, np.full(legal.shape, 1 / game.vocabulary.size, np.float32))
        assert (merged[~legal] == 0).all() and (merged[legal] > 0).all(), "merged is above 0 for legal actions alone"
        assert (merged.sum(axis=1) <= 1 + 1e-4).all(), "merged probabilities add up to more than 1"
    if type(game).renamed is not Game.renamed:
        other = game.views(game.renamed(tokens, derive_many(seed, num_deals)), lengths)
        same = game.view_points(other) == game.view_points(whole)
        assert game.consistent(other).all() and same.all(), "a renamed history is another game"


def check_determinism(game: Game, num_deals: int, seed: int) -> None:
    """Equal seeds give equal deals, whatever else is in the batch."""
    seeds, play_seeds = derive_many(seed, num_deals), derive_many(derive(seed, "playout"), num_deals)
    together = finished(game, num_deals, seed)
    for row in range(num_deals):
        alone = game.deal(seeds[row : row + 1])
        game.playout(alone, play_seeds[row : row + 1])
        same = seen(game, alone) == seen(game, together[row : row + 1])
        assert same, f"deal {row} depends on its neighbours or on more than its seed"


def check_after(game: Game, num_deals: int, seed: int) -> None:
    """``after`` gives what ``play`` gives action by action, for any number of actions, and changes nothing."""
    seeds = derive_many(seed, num_deals)
    dealt, wanted = game.deal(seeds), game.deal(seeds)
    actions, lengths = [], np.zeros(num_deals, np.int32)
    for step, states in enumerate(random_play(game, num_deals, seed)):
        going_on = (lengths == step) & (step < np.arange(num_deals)) & (game.to_move(states) >= 0)
        wanted[lengths == step] = states[lengths == step]
        lengths[going_on] += 1
        actions.append(random_actions(game.legal(states), mix(seeds, step)))
    before = seen(game, dealt)
    assert seen(game, game.after(dealt, np.stack(actions, axis=1), lengths)) == seen(game, wanted), "after, not play"
    assert seen(game, dealt) == before, "after changes the states it starts from"
