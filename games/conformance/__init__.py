"""The laws every game keeps. Run them on a game of your own: ``check_game(MyGame(), num_deals=20, seed=1)``.

One function per law; each takes ``(game, num_deals, seed)``, plays random deals and raises ``AssertionError`` naming
the deal, the seat and the place in its history where the law is broken. Letters as in ``games.game``.
"""

from collections.abc import Callable, Sequence

import numpy as np

from games.compiled import CompiledGame
from games.conformance.declared import check_answers, check_declarations, check_describe, check_labels, check_length
from games.conformance.plain import place_of, plain
from games.conformance.playing import finished, random_actions, random_play, seen
from games.game import Game, Next
from games.rng import derive, derive_many, mix

Decide = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(states ``[B]``, seeds ``uint64[B]``) -> tokens ``[B]``: what a player does for the seat to move in every row."""


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
        _check_worlds(game, np.concatenate(worlds), seed)
    return seen(game, states)


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


def check_replay(game: Game, num_deals: int, seed: int) -> None:
    """Replaying any seat's history gives, at every prefix, the same turn, legal moves and outcome as the true state,
    and is consistent.

    A view may announce its own action before the seats ahead have made a hidden move (three seats passing cards):
    what counts is that the next token of the history is then indeed its own action.
    """
    replays = [_Replay(game, num_deals, seat) for seat in range(game.num_players)]
    movers = np.full(num_deals, -1)
    for states in random_play(game, num_deals, seed):
        for replay in replays:
            replay.catch_up(states, movers)
            replay.compare(states)
        movers = game.to_move(states)
    for replay in replays:
        replay.compare_rebuilt(states)


class _Replay:
    """The views of one seat over a batch of deals, advanced as its histories grow."""

    def __init__(self, game: Game, num_deals: int, seat: int) -> None:
        self.game, self.seat = game, seat
        self.seats = np.full(num_deals, seat)
        self.views = game.views(np.zeros((num_deals, 1), game.vocabulary.dtype), np.zeros(num_deals, np.int64))
        self.seen = np.zeros(num_deals, np.int64)

    def catch_up(self, states: np.ndarray, movers: np.ndarray) -> None:
        """Advance over the tokens that the last action (by ``movers``) has added."""
        tokens, lengths = self.game.histories(states, self.seats)
        check_length(self.game, lengths)
        own = movers == self.seat
        while (rows := np.flatnonzero(self.seen < lengths)).size:
            arrived = tokens[rows, self.seen[rows]]
            wanted = np.where(own[rows], Next.ACTION, Next.OBSERVATION)
            wanted[arrived == self.game.vocabulary.eos] = Next.END
            views = self.views[rows]
            self._agree(rows, self.game.next(views) == wanted, "the kind of the next token")
            self.game.advance(views, arrived)
            self.views[rows] = views
            self.seen[rows] += 1
            self._agree(rows, self.game.consistent(views), "consistency")
            own[rows] = False
        self._agree(np.arange(len(lengths)), self.seen == lengths, "length, which only grows,")

    def compare(self, states: np.ndarray) -> None:
        """The views against the true states."""
        everywhere, to_move = np.arange(len(states)), self.game.to_move(states)
        following, legal = self.game.next(self.views), self.game.view_legal(self.views)
        own = to_move == self.seat
        self._agree(everywhere, ~own | (following == Next.ACTION), "own turn")
        self._agree(everywhere, (following == Next.END) == (to_move < 0), "end")
        self._agree(everywhere, ~own | (legal == self.game.legal(states)).all(axis=1), "legal moves")
        self._agree(everywhere, legal.any(axis=1) == (following == Next.ACTION), "legal moves exactly at own turns,")
        outcome = self.game.outcome(states)[:, self.seat]
        self._agree(everywhere, self.game.view_outcome(self.views) == outcome, "outcome")

    def compare_rebuilt(self, states: np.ndarray) -> None:
        """Views rebuilt from whole prefixes against views advanced token by token. An outcome that they rule out does
        not come, and stays ruled out."""
        tokens, lengths = self.game.histories(states, self.seats)
        views, prefixes = self.game.views(tokens, np.zeros_like(lengths)), self.game.prefixes(tokens)
        possible, ends = self.game.view_outcomes(views), self.game.outcome(states)[:, self.seat]
        for place in range(int(lengths.max())):
            rebuilt = self.game.views(tokens, np.minimum(place, lengths))
            for name, ask in _questions(self.game).items():
                answer = ask(views)
                for others in (rebuilt, prefixes[:, place].copy()):
                    assert (ask(others) == answer).all(), f"seat {self.seat}: {name} differs at {place} if rebuilt"
            now = self.game.view_outcomes(views)
            assert now[np.arange(len(tokens)), ends].all(), f"seat {self.seat}: at {place} the real end is ruled out"
            assert (now <= possible).all(), f"seat {self.seat}: at {place} an outcome is possible again"
            possible = now
            self.game.advance(views, tokens[:, place])

    def _agree(self, rows: np.ndarray, same: np.ndarray, what: str) -> None:
        if not same.all():
            row = rows[int(np.argmin(same))]
            raise AssertionError(
                f"deal {row}, seat {self.seat}: {what} of the history differs at token {self.seen[row]}"
            )


def _questions(game: Game) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Every question that a game answers about views, by name."""
    names = ("next", "view_legal", "view_outcome", "view_outcomes", "consistent", "next_type")
    features = {f"feature {name!r}": feature.encode for name, feature in game.features.items()}
    return {**{name: getattr(game, name) for name in names}, **features}


def check_types_and_features(game: Game, num_deals: int, seed: int) -> None:
    """Token types and features are defined for any history, impossible ones included. A type stands for one ``Next``,
    the last for the end. That they follow from the history alone is part of ``check_replay``."""
    states, meaning = finished(game, num_deals, seed), dict[int, int]()
    tokens, lengths = game.histories(states, np.arange(num_deals) % game.num_players)
    own, others = (game.views(tokens, np.zeros_like(lengths)) for _ in range(2))
    about = [name for name, feature in game.features.items() if feature.of_actions and not feature.by_strategy]
    assert len(about) <= 1, f"features {', '.join(about)}: one set of_actions at most"
    for place in range(int(lengths.max())):
        for views in (own, others):
            types, following = game.next_type(views), game.next(views)
            assert ((types >= 0) & (types < len(game.token_types))).all(), f"place {place}: a type that does not exist"
            for kind, wanted in zip(types.tolist(), following.tolist(), strict=True):
                name = game.token_types[kind]
                assert meaning.setdefault(kind, wanted) == wanted, f"place {place}: {name!r} stands for two Next"
                last = kind == len(game.token_types) - 1
                assert last == (wanted == Next.END), f"place {place}: {name!r} stands for the end, or does not"
            for name, feature in game.features.items():
                numbers = feature.encode(views)
                right = numbers.dtype == np.uint8 and numbers.shape == (num_deals, *feature.shape)
                assert right, f"feature {name!r} is {numbers.dtype}{list(numbers.shape)}"
                rows_of_tokens = len(feature.shape) == 2 and feature.shape[0] <= game.vocabulary.size
                assert rows_of_tokens or not feature.of_actions, f"feature {name!r}, of_actions: shape {feature.shape}"
        game.advance(own, tokens[:, place])
        game.advance(others, np.roll(tokens[:, place], 1))


def check_variants(game: Game, num_deals: int, seed: int) -> None:
    """Every deal is of a kind that has a name of its own, and stays so until its end."""
    assert len(set(game.scenarios)) == len(game.scenarios), "two scenarios have one name"
    states = game.deal(derive_many(seed, num_deals))
    kinds = game.scenario(states)
    assert kinds.dtype == np.int16 and kinds.shape == (num_deals,), "scenario is int16[B]"
    assert ((kinds >= 0) & (kinds < max(len(game.scenarios), 1))).all(), "a scenario that does not exist"
    game.playout(states, derive_many(derive(seed, "playout"), num_deals))
    assert (game.scenario(states) == kinds).all(), "a deal became one of another scenario"


def check_histories(game: Game, num_deals: int, seed: int) -> None:
    """Histories fit ``max_length``, hold tokens of the vocabulary only, and end in one ``eos`` once the deal is
    over."""
    eos = game.vocabulary.eos
    for states in random_play(game, num_deals, seed):
        over = game.to_move(states) < 0
        for seat in range(game.num_players):
            tokens, lengths = game.histories(states, np.full(num_deals, seat))
            assert tokens.shape == (num_deals, game.max_length), "histories have max_length columns"
            assert tokens.dtype == game.vocabulary.dtype, f"tokens are {tokens.dtype}, not {game.vocabulary.dtype}"
            assert (tokens < game.vocabulary.size).all(), f"seat {seat}: a token outside the vocabulary"
            inside = np.arange(game.max_length) < (lengths - over)[:, None]
            assert ((tokens == eos) == ~inside).all(), f"seat {seat}: eos must stand behind the end and only there"


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


def check_possible(game: Game, num_deals: int, seed: int) -> None:
    """``view_possible`` marks exactly the tokens after which the history is consistent, so every token that does come.
    One place of one deal is looked at every step."""
    for step, states in enumerate(random_play(game, num_deals, seed)):
        row, draw = step % num_deals, derive(seed, "possible", step)
        seat = draw % game.num_players
        tokens, lengths = game.histories(states[row : row + 1], np.array([seat]))
        cut = draw // game.num_players % int(lengths[0])
        views = game.views(tokens, np.array([cut]))
        possible = game.view_possible(views)
        where = f"deal {row}, seat {seat}, place {cut}"
        assert possible.dtype == np.bool_ and possible.shape == (1, game.vocabulary.size), "possible is bool[B, V]"
        assert possible[0, tokens[0, cut]] or game.next(views)[0] == Next.END, f"{where}: an impossible token came"
        assert np.array_equal(possible, Game.view_possible(game, views)), f"{where}: possible is not what is consistent"


def check_garbage(game: Game, num_deals: int, seed: int) -> None:
    """``advance`` takes any token at any point without an error: random tokens, and the tokens of another deal, of
    the right kind; a view at its end stays as it is, and one of ``max_length`` tokens is at its end."""
    states = finished(game, num_deals, seed)
    tokens, lengths = game.histories(states, np.arange(num_deals) % game.num_players)
    prefix = (mix(derive_many(seed, num_deals), 1) % lengths.astype(np.uint64)).astype(np.int64)
    others = np.roll(tokens, 1, axis=0).astype(np.int64)
    for random in (True, False):
        views = game.views(tokens, prefix)
        for step in range(game.max_length):
            drawn = (mix(derive_many(seed, num_deals), 2 + step) % np.uint64(game.vocabulary.size)).astype(np.int64)
            place = np.minimum(prefix + step, tokens.shape[1] - 1)
            _check_step(game, views, drawn if random else others[np.arange(num_deals), place])
            full = prefix + step + 1 >= game.max_length
            assert (game.next(views)[full] == Next.END).all(), "a history of max_length tokens goes on"


def _check_step(game: Game, views: np.ndarray, tokens: np.ndarray) -> None:
    ended = game.next(views) == Next.END
    verdict, label = game.consistent(views), game.view_outcome(views)
    game.advance(views, tokens)
    following, outcome = game.next(views), game.view_outcome(views)
    assert np.isin(following, [int(n) for n in Next]).all(), "next is no Next"
    assert ((outcome >= -1) & (outcome < game.outcomes.num_labels)).all(), "an outcome label that does not exist"
    assert game.view_outcomes(views).any(axis=1).all(), "no outcome is possible"
    assert (following[ended] == Next.END).all(), "a view at its end went on"
    assert (game.consistent(views) == verdict)[ended].all(), "a view at its end changed its verdict"
    assert (outcome == label)[ended].all(), "a view at its end changed its outcome"
    assert (game.view_legal(views).any(axis=1) == (following == Next.ACTION)).all(), "no legal move at own turn"
    assert not (~verdict & game.consistent(views)).any(), "an impossible history became possible"


def check_no_leak(game: Game, num_deals: int, seed: int, players: Sequence[Decide] = ()) -> None:
    """What a seat cannot see changes neither its history, nor its legal moves, nor what a player decides for it: other
    worlds behind the same view, for games that determinize. Worlds can be played on to their end, and every seat's
    history in them could have happened."""
    if not game.can_determinize:
        return
    worlds = list[np.ndarray]()
    for step, states in enumerate(random_play(game, num_deals, seed)):
        rows = np.flatnonzero(game.to_move(states) >= 0)
        if not rows.size:
            continue
        states = states[rows]
        tokens, lengths = game.histories(states, game.to_move(states))
        decision_seeds = mix(derive_many(seed, len(states)), step)
        decided = [decide(states, decision_seeds) for decide in players]
        for world in range(3):
            others, seats = game.determinize(game.views(tokens, lengths), mix(decision_seeds, world))
            same_tokens, same_lengths = game.histories(others, seats)
            assert (same_tokens == tokens).all() and (same_lengths == lengths).all(), f"step {step}: another history"
            assert (game.to_move(others) == seats).all(), f"step {step}: another seat to move"
            assert (game.legal(others) == game.legal(states)).all(), f"step {step}: other legal moves"
            for number, (decide, before) in enumerate(zip(players, decided, strict=True)):
                same = decide(others, decision_seeds) == before
                assert same.all(), f"step {step}: player {number} decides by what it cannot see"
        worlds.append(others)
    _check_worlds(game, np.concatenate(worlds), seed)


def _check_worlds(game: Game, worlds: np.ndarray, seed: int) -> None:
    """Play worlds that ``determinize`` has dealt on to their end."""
    seeds = derive_many(derive(seed, "worlds"), len(worlds))
    for step in range(game.num_players * game.max_length):
        seats, legal = game.to_move(worlds), game.legal(worlds)
        stuck = (seats >= 0) & ~legal.any(axis=1)
        seat = seats[np.argmax(stuck)]
        assert not stuck.any(), f"a world of determinize, {step} actions on: seat {seat} has none, as if a card lacked"
        if (seats < 0).all():
            break
        game.play(worlds, random_actions(legal, mix(seeds, step)))
    for seat in range(game.num_players):
        views = game.views(*game.histories(worlds, np.full(len(worlds), seat)))
        said = f"a world of determinize, played to its end: seat {seat}"
        assert game.consistent(views).all(), f"{said} saw what cannot have happened, as if a card were there twice"
        assert (game.view_outcome(views) == game.outcome(worlds)[:, seat]).all(), f"{said} has another outcome"


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
