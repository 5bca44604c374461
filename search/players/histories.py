"""The model's handles of the histories that a player meets at a table; the base of players that query a model.

A history is (place at the table, seat); it only grows while its deal lasts.

Letters: ``M`` turns of a batch, ``P`` seats, ``L`` token positions, ``V`` tokens of the vocabulary, ``T`` new tokens.
"""

from collections.abc import Generator

import numpy as np

from games.game import Game
from learner.observation_model import EMPTY, Answer, ObservationModel, Query
from search.players.asking import Deciding, Question, alone
from search.players.player import ChoosingPlayer, Turns, forced


class Histories:
    """The handles that one player holds at one table."""

    def __init__(self, model: ObservationModel) -> None:
        self.model = model
        self._handle = np.empty((0, 0), np.int64)

    def start(self, game: Game, num_games: int) -> None:
        """A table with ``num_games`` places begins: every earlier history is forgotten."""
        self.model.release(self._handle)
        self._handle = np.full((num_games, game.num_players), EMPTY, np.int64)
        self._held = np.zeros((num_games, game.num_players), np.int64)
        """Tokens behind each handle."""
        self._action = np.full((num_games, game.num_players), EMPTY, np.int64)
        """The chosen action, if it is the last of these tokens, else ``EMPTY``."""

    def forget(self, games: np.ndarray) -> None:
        """The deals at these places have ended."""
        self.model.release(self._handle[games])
        self._handle[games] = self._action[games] = EMPTY
        self._held[games] = 0

    def beginnings(self, turns: Turns) -> tuple[np.ndarray, np.ndarray]:
        """``int64[M]`` handles of the computed prefixes of the turns' histories, and ``int64[M]`` their lengths."""
        at = turns.game, turns.seat
        held, action = self._held[at], self._action[at]
        last = turns.tokens[np.arange(len(held)), np.maximum(held, 1) - 1]
        # A turn is queried twice, or another action was played than the one chosen here.
        other = (held > turns.lengths) | ((action != EMPTY) & (last != action))
        if other.any():
            self._replace(turns.take(np.flatnonzero(other)), np.full(np.count_nonzero(other), EMPTY), 0)
        return self._handle[at], self._held[at]

    def query(self, turns: Turns, candidates: np.ndarray | None = None, values: np.ndarray | None = None) -> Answer:
        """Query the turns' histories; see ``ObservationModel.query``. Keeps the handles of the answer."""
        question = self._question(turns, candidates, values)
        return self._kept(turns, question.answered())

    def asking(self, turns: Turns, candidates: np.ndarray | None = None) -> Generator[Question, Answer, Answer]:
        """``query`` of a player that decides while others are asked too."""
        return self._kept(turns, (yield self._question(turns, candidates)))

    def _question(
        self, turns: Turns, candidates: np.ndarray | None = None, values: np.ndarray | None = None
    ) -> Question:
        handles, held = self.beginnings(turns)
        new = tokens_since(turns.tokens, held, turns.lengths)
        return Question(self.model, Query(handles, *new, candidates, values))

    def _kept(self, turns: Turns, answer: Answer) -> Answer:
        self.store(turns, answer.handles)
        return answer

    def store(self, turns: Turns, handles: np.ndarray) -> None:
        """Keep handles of the turns' whole histories, ``int64[M]``; ``EMPTY`` changes nothing."""
        new = np.flatnonzero(handles != EMPTY)
        self._replace(turns.take(new), handles[new], turns.lengths[new])

    def keep(self, turns: Turns, actions: np.ndarray, candidates: np.ndarray, answer: Answer) -> None:
        """Append the chosen action (``[M]``) to each history, with the handle that its last query computed for this
        candidate; releases the other candidates."""
        rows, tokens = np.nonzero(candidates)
        chosen = tokens == actions[rows]
        self._replace(turns, answer.action_handles[chosen], turns.lengths + 1)
        self._action[turns.game, turns.seat] = actions
        self.model.release(answer.action_handles[~chosen])

    def _replace(self, turns: Turns, handles: np.ndarray, held: np.ndarray | int) -> None:
        at = turns.game, turns.seat
        self.model.release(self._handle[at])
        self._handle[at], self._held[at], self._action[at] = handles, held, EMPTY


class ModelPlayer(ChoosingPlayer):
    """A player that queries a network, and keeps handles of histories until their deals have ended."""

    def __init__(self, model: ObservationModel) -> None:
        self.histories = Histories(model)

    def start(self, game: Game, num_games: int) -> None:
        """A new table begins: every earlier history is forgotten."""
        super().start(game, num_games)
        self.histories.start(game, num_games)

    def forget(self, games: np.ndarray) -> None:
        """Release the model's handles of ended deals."""
        self.histories.forget(games)


class AskingPlayer(ModelPlayer):
    """A player whose turns are questions to its network, which a table asks together with those of other players."""

    @property
    def beside(self) -> bool:
        """Whether a device answers while the table goes on."""
        return bool(getattr(getattr(self.histories.model, "pool", None), "beside", False))

    def act(self, turns: Turns) -> np.ndarray:
        """``int64[M]``: one legal token per turn."""
        return alone(self.deciding(turns))

    def deciding(self, turns: Turns) -> Deciding:
        """See ``search.players.asking``."""
        actions, free = forced(turns)
        if len(free):
            actions[free] = yield from self.choosing(turns.take(free))
        return actions

    def choosing(self, turns: Turns) -> Deciding:
        """``int64[M]``: one legal token for each of these turns, all with a choice."""
        raise NotImplementedError


def ask(
    model: ObservationModel,
    tokens: np.ndarray,
    lengths: np.ndarray,
    legal: np.ndarray | None = None,
    values: bool = False,
) -> Answer:
    """What the model says behind whole histories (``[M, L]``), V(h.a) of ``legal`` actions (``bool[M, V]``) too, and
    with ``values`` V(h); keeps no handle."""
    nothing, asked = np.full(len(tokens), EMPTY), np.full(len(tokens), values)
    answer = model.query(nothing, *tokens_since(tokens, np.zeros(len(tokens), np.int64), lengths), legal, asked)
    model.release(np.concatenate([answer.handles, answer.action_handles]))
    return answer


def tokens_since(tokens: np.ndarray, held: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tokens ``held[m] .. lengths[m] - 1`` of each row of ``tokens`` (``[M, L]``), concatenated (``[T]``), and
    their counts (``int64[M]``): arguments of ``ObservationModel.query``."""
    place = np.arange(tokens.shape[1])
    new = (place >= held[:, None]) & (place < lengths[:, None])
    return tokens[new], (lengths - held).astype(np.int64)
