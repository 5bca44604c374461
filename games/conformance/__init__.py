"""The laws every game keeps. Run them on a game of your own: ``check_game(MyGame(), num_deals=20, seed=1)``.

One function per law; each takes ``(game, num_deals, seed)``, plays random deals and raises ``AssertionError`` naming
the deal, the seat and the place in its history where the law is broken. Letters as in ``games.game``.
"""

from collections.abc import Sequence

import numpy as np

from games.compiled import CompiledGame
from games.conformance.declared import check_answers, check_declarations, check_describe, check_labels, check_length
from games.conformance.histories import (
    check_garbage,
    check_histories,
    check_possible,
    check_replay,
    check_types_and_features,
)
from games.conformance.plain import place_of, plain
from games.conformance.playing import random_play, seen
from games.conformance.states import (
    check_after,
    check_determinism,
    check_extras,
    check_legality,
    check_terminal,
    check_variants,
)
from games.conformance.worlds import Decide, check_no_leak, check_worlds
from games.game import Game
from games.rng import derive_many


def check_game(game: Game, num_deals: int = 20, seed: int = 1, players: Sequence[Decide] = ()) -> None:
    """Run every law on ``num_deals`` random deals; ``players`` must decide the same in worlds that look
    the same to them."""
    for law in LAWS:
        law(game, num_deals, seed)
    check_no_leak(game, num_deals, seed, players)


def check_plain(game: Game, num_deals: int, seed: int) -> None:
    """In the Python that its kernels are written in, a compiled game stays inside its arrays, and plays as compiled.
    One deal, as this is slow. It comes before anything compiled, which would corrupt memory instead."""
    if not isinstance(game, CompiledGame):
        return
    try:
        written = plain(game)
        played = _walk(written, seed)
        check_garbage(written, 1, seed)
    except (IndexError, TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        unmixed = "; sets are int64, and uint64 does not mix with it" if "bitwise" in str(error) else ""
        raise AssertionError(f"{place_of(error.__traceback__)}: {error}{unmixed}") from error
    *_, compiled = random_play(game, 1, seed)
    assert seen(game, compiled) == played, "compiled, the kernels play another deal than the Python they are written in"


def _walk(game: Game, seed: int) -> bytes:
    """Ask everything of a deal and of every seat's history, and play some worlds on; what can be seen at its end."""
    worlds = list[np.ndarray]()
    for step, states in enumerate(random_play(game, 1, seed)):
        seats = game.to_move(states)
        if game.can_determinize and step % 6 == 0 and seats[0] >= 0:
            worlds.append(game.determinize(game.views(*game.histories(states, seats)), derive_many(seed + step, 1))[0])
    for seat in range(game.num_players):
        tokens, lengths = game.histories(states, np.array([seat]))
        check_length(game, lengths)
        views = game.views(tokens, np.zeros(1, np.int64))
        for place in range(int(lengths[0]) + 1):
            for ask in (game.next, game.view_legal, game.consistent, game.next_type):
                ask(views)
            if place % 6 == seat % 6:
                for ask in (game.view_outcome, game.view_outcomes, *(each.encode for each in game.features.values())):
                    ask(views)
            game.advance(views, tokens[:, min(place, game.max_length - 1)])
    game.playout(game.deal(derive_many(seed, 1)), derive_many(seed + 1, 1))
    if worlds:
        check_worlds(game, np.concatenate(worlds), seed)
    return seen(game, states)


LAWS = (
    check_declarations,
    check_plain,
    check_answers,
    check_describe,
    check_legality,
    check_replay,
    check_types_and_features,
    check_variants,
    check_histories,
    check_terminal,
    check_labels,
    check_extras,
    check_determinism,
    check_after,
    check_possible,
    check_garbage,
)
"""The laws of every game; ``check_no_leak``, which takes players too, comes on top."""
