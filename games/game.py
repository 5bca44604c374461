"""The contract between a game and everything above it.

Letters: ``B`` rows of a batch, ``P`` seats, ``L`` the game's ``max_length``, ``V`` the vocabulary's size.

A batch of states or of views is a one-dimensional numpy array, one row per game: a structured array for compiled
games, an array of objects for the OpenSpiel adapter. ``batch[rows]`` picks rows (a copy for structured arrays);
calls that change a batch do it in place. Objects that a batch holds are replaced, never changed, so that a copy of the
batch is independent of it.

*Actions are tokens*: what a seat does is the one token that its own history gains by it. Every seat has a history of
its own; positions in it are relative to the observer. What is hidden from a seat never reaches its history, and
players see nothing else.

The law between the two views, checked by the conformance suite (``games.conformance``): replaying any seat's real
history gives the same turn, legal moves and outcome as the true state, and is consistent.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

import numpy as np

from games.features import FeatureSet, StateFeatures
from games.outcomes import OutcomeTable
from games.vocabulary import Vocabulary


class Next(IntEnum):
    """Who or what comes next in a seat's history."""

    OBSERVATION = 0
    """Another seat or chance: the next token is an observation, the model's to predict."""
    ACTION = 1
    """The observer: the next token is its own action, one of ``view_legal``."""
    END = 2
    """The end: the deal is over, or what follows is undefined. A final ``eos`` may follow."""


OBSERVATION, ACTION, END = (int(kind) for kind in Next)
"""``Next`` as numbers, for kernels."""


class Game(ABC):
    """Rules, observation tokens and outcomes of one game, always in batches."""

    name: str
    """Registry name, e.g. ``"hearts"``."""
    title: str = ""
    """What people call it, e.g. ``"The Crew"``; empty where there is nothing but the name."""
    options: Mapping[str, bool | int | str]
    """Every rule option with the value in force; two games with equal name and options are the same game."""
    rules_version: int
    """Raised whenever a fix changes what a history means; shards and checkpoints carry it."""
    num_players: int
    """Seats, ``P``."""
    max_length: int
    """Longest history in tokens, ``eos`` included, ``L``."""
    vocabulary: Vocabulary
    outcomes: OutcomeTable
    cooperative: bool = False
    """All seats share one outcome: in self-play the newest network then plays all of them (paper 001, section 6.3)."""
    can_determinize: bool = False
    """Whether ``determinize`` is offered."""
    token_types: tuple[str, ...] = ("observation", "own action", "end")
    """What a token can be and who makes it, for ``next_type``; the last is what follows the end of a deal."""
    num_deals: int = 0
    """How many deals there are, where they are a finite list: then seed n deals number n, and seeds beyond the last
    begin again with number 0. 0 for a game that shuffles."""
    dealing_options: tuple[str, ...] = ()
    """Options that say which deals come and nothing else: a network plays with other values of them too."""
    series: int = 0
    """Deals by whose sum of points people rank players, such as the 36 of a list in Skat; 0 where they do not."""
    scenarios: tuple[str, ...] = ()
    """Names of the kinds of deal, e.g. missions; empty where all deals are alike."""
    features: Mapping[str, FeatureSet] = MappingProxyType({})
    """Features of a view, by name."""
    state_features: StateFeatures | None = None
    """Features of a true state; None where they are not offered."""

    # ---- the true state

    @abstractmethod
    def deal(self, seeds: np.ndarray) -> np.ndarray:
        """New states, one per seed (``uint64[B]``). Everything that chance ever does in a game follows from its
        seed."""

    @abstractmethod
    def to_move(self, states: np.ndarray) -> np.ndarray:
        """``int8[B]``: the seat to act, -1 when the deal is over."""

    @abstractmethod
    def legal(self, states: np.ndarray) -> np.ndarray:
        """``bool[B, V]``: legal actions of the seat to act; nothing is legal once the deal is over."""

    @abstractmethod
    def play(self, states: np.ndarray, actions: np.ndarray) -> None:
        """Play one action (token ids ``[B]``) in every row, in place, and write to every seat's history what that
        seat sees.

        Finished rows do not change, with any action. Raises ``ValueError`` naming row, seat and token for an illegal
        action; rows before it have been played then.
        """

    def after(self, states: np.ndarray, actions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """New states: what every row becomes by its first ``lengths`` (``int[B]``) of ``actions`` (token ids
        ``[B, N]``), which must be legal; compiled games do not check it."""
        reached = states.copy()
        for place in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > place)
            played = reached[rows]
            self.play(played, actions[rows, place])
            reached[rows] = played
        return reached

    def refusal(self, states: np.ndarray, row: int, token: int) -> ValueError:
        """The error with which ``play`` refuses an illegal token."""
        state, names = states[row : row + 1], self.vocabulary.names
        name = f" ({names[token]})" if 0 <= token < len(names) else ""
        legal = ", ".join(names[other] for other in np.flatnonzero(self.legal(state)[0]))
        return ValueError(
            f"row {row}: token {token}{name} is not legal for seat {self.to_move(state)[0]}; legal are {legal}"
        )

    @abstractmethod
    def outcome(self, states: np.ndarray) -> np.ndarray:
        """``int32[B, P]``: the outcome label seen from each seat, -1 before the end."""

    def scenario(self, states: np.ndarray) -> np.ndarray:
        """``int16[B]``: the kind of every deal, an index of ``scenarios``; 0 where all are alike. It is settled by the
        deal and public."""
        return np.zeros(len(states), np.int16)

    def kind_lengths(self, states: np.ndarray) -> np.ndarray:
        """``int64[B]``: with how many tokens the histories of a deal begin before the first that is not the same for
        all deals of its ``scenario``; 1 where all are alike."""
        return np.ones(len(states), np.int64)

    @abstractmethod
    def histories(self, states: np.ndarray, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What one seat per row has seen: tokens ``[B, L]`` (``eos`` behind the end) and lengths ``int32[B]``; a
        finished history ends in ``eos``."""

    @abstractmethod
    def playout(self, states: np.ndarray, seeds: np.ndarray) -> None:
        """Play every row to its end in place, each action uniform over the legal ones, drawn from ``seeds``
        (``uint64[B]``)."""

    # ---- what one seat knows

    @abstractmethod
    def views(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Views rebuilt from histories alone: tokens ``[B, L']``, lengths ``[B]``. Length 0 is the view before
        anything was seen."""

    def prefixes(self, tokens: np.ndarray) -> np.ndarray:
        """Views ``[B, L' + 1]`` of every prefix of histories ``[B, L']``, the empty one first."""
        empty = self.views(tokens[:, :1], np.zeros(len(tokens), np.int64))
        views = np.empty((len(tokens), tokens.shape[1] + 1), empty.dtype)
        views[:, 0] = empty
        places = np.arange(views.size).reshape(views.shape)
        self.advance_into(views.reshape(-1), places[:, :-1].ravel(), places[:, 1:].ravel(), tokens.ravel())
        return views

    @abstractmethod
    def advance(self, views: np.ndarray, tokens: np.ndarray) -> None:
        """Append one token (``[B]``) to every view, in place. Never fails.

        After an impossible token of the right kind, such as a card that was seen before, the history goes on,
        inconsistent, as long as the next seat is defined. Paper 001 judges the legality of terminal histories only;
        the model values histories that are cut short, possible or not (section 3). A token of a wrong kind (no card
        where a card is due) ends the history as inconsistent.

        A view at its end does not change.
        """

    def advance_into(self, views: np.ndarray, origins: np.ndarray, places: np.ndarray, tokens: np.ndarray) -> None:
        """``views[places[i]]`` becomes ``views[origins[i]]`` advanced by ``tokens[i]``, in place (``int64[N]`` rows,
        token ids ``[N]``): one ``i`` after the other, so that an origin may be the place of an earlier one."""
        for i in range(len(tokens)):
            views[places[i]] = views[origins[i]]
            self.advance(views[places[i] : places[i] + 1], tokens[i : i + 1])

    @abstractmethod
    def next(self, views: np.ndarray) -> np.ndarray:
        """``int8[B]``: a ``Next`` for every view; ``END`` at ``max_length`` tokens at the latest."""

    @abstractmethod
    def view_legal(self, views: np.ndarray) -> np.ndarray:
        """``bool[B, V]``: the observer's legal actions where ``next`` is ``ACTION``, nothing elsewhere."""

    @abstractmethod
    def view_outcome(self, views: np.ndarray) -> np.ndarray:
        """``int32[B]``: the outcome label, -1 where the deal is not over or no label fits an impossible history."""

    def view_points(self, views: np.ndarray) -> np.ndarray:
        """``float32[B, P]``: points of every seat, the observer's first; every view must have an outcome."""
        return self.outcomes.points[self.view_outcome(views)]

    @abstractmethod
    def consistent(self, views: np.ndarray) -> np.ndarray:
        """``bool[B]``: whether this history is possible with some hands of the others."""

    def view_possible(self, views: np.ndarray) -> np.ndarray:
        """``bool[B, V]``: tokens after which the history could still have happened; none at its end.

        This one tries every token; games whose views are rebuilt often have a faster one.
        """
        possible = np.zeros((len(views), self.vocabulary.size), np.bool_)
        going_on = np.flatnonzero(self.next(views) != Next.END)
        for token in range(self.vocabulary.size):
            tried = views[going_on].copy()
            self.advance(tried, np.full(len(tried), token))
            possible[going_on, token] = self.consistent(tried)
        return possible

    def view_outcomes(self, views: np.ndarray) -> np.ndarray:
        """``bool[B, K]``: outcome labels that the history does not rule out; every label for an impossible history,
        from which nothing follows.

        This default rules out nothing; games with public points rule out impossible outcomes.
        """
        return np.ones((len(views), self.outcomes.num_labels), np.bool_)

    def merged(self, positions: np.ndarray, legal: np.ndarray, next_token: np.ndarray) -> np.ndarray:
        """``float[B, V]``: how likely each legal action is by a distribution of the next token, 0 elsewhere. Where
        several tokens stand for one action, it gets the sum of theirs.

        Args:
            positions: ``[B]`` states, or views of the seat that acts.
            legal: ``bool[B, V]``: its legal actions.
            next_token: ``float[B, V]``.
        """
        return np.where(legal, next_token, 0)

    def next_type(self, views: np.ndarray) -> np.ndarray:
        """``int8[B]``: type and seat of the next token, an index into ``token_types``. Impossible histories have one
        too, as long as the next seat is defined.

        This default has no more types than ``next``; games have finer types, each of them for one ``Next``.
        """
        return self.next(views)

    def determinize(self, views: np.ndarray, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States that agree with everything the observer has seen, one per view, sampled from ``seeds``
        (``uint64[B]``).

        Returns the states and the seat the observer has in each (``int8[B]``). Views must be consistent
        (``ValueError``). Raises
        ``NotImplementedError`` where ``can_determinize`` is False.
        """
        raise NotImplementedError(f"{self.name} does not sample hidden hands")

    def renamed(self, tokens: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Whole histories ``[B, L]`` that are as good as these, and as likely: with tokens renamed that the rules do
        not tell apart, drawn from ``seeds`` (``uint64[B]``); the seat's own actions keep theirs.

        Raises ``NotImplementedError`` where there are no such tokens.
        """
        raise NotImplementedError(f"{self.name} has no tokens that the rules do not tell apart")

    # ---- for people

    def describe(self, tokens: np.ndarray) -> str:
        """One history as people write it; games override this with their own layout."""
        return " ".join(self.vocabulary.name(token) for token in tokens)

    def points(self, states: np.ndarray) -> np.ndarray:
        """``float32[B, P]``: points of every seat, by absolute seat; every row must be over."""
        labels = self.outcome(states)[:, 0]
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            over = self.to_move(states[row : row + 1])[0] < 0
            what = "its deal ended in a result that the outcome table lacks" if over else "its deal is not over"
            raise ValueError(f"points asked of row {row}: {what}")
        return self.outcomes.points[labels]

    def indicators(self, states: np.ndarray) -> dict[str, np.ndarray]:
        """What an ended deal shows of every seat beside its points: name -> ``float32[B, P]``, by absolute seat, the
        same names always; every row must be over. This default shows nothing."""
        return {}

    def points_so_far(self, states: np.ndarray) -> np.ndarray:
        """``float32[B, P]``: points that every seat has made so far, by absolute seat; the deal's end may still change
        them, and once it is over ``points`` counts.

        This one knows of none before the end; games whose points are made one after the other count them.
        """
        return np.zeros((len(states), self.num_players), np.float32)
