"""Laws of histories and of views, which are made from them alone."""

from collections.abc import Callable

import numpy as np

from games.conformance.declared import check_length
from games.conformance.playing import finished, random_play
from games.game import Game, Next
from games.rng import derive, derive_many, mix


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
