"""Players that decide while others are asked too: a table has all its networks of one pool answer in one pass.

Such a player has a method ``deciding``, a coroutine that yields each question to a network and is sent the answer. A
player without one, or of a subclass that overrides ``act`` alone, decides by ``act``, and nobody is asked meanwhile.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from learner.observation_model import Answer, Pool, Query
from search.players.player import Player, Turns


class Question(NamedTuple):
    """A query to a model."""

    model: Any
    """``ObservationModel``."""
    query: Query
    shared: bool = True
    """Whether a pass may answer it together with questions of others; not if it counts on the slots that are left."""

    def answered(self) -> Answer:
        """What the model answers to this question alone."""
        answer: Answer = self.model.query(*self.query)
        return answer

    @property
    def tokens(self) -> int:
        """Tokens that the answer computes."""
        marked = self.query.candidates
        return len(self.query.tokens) + (0 if marked is None else int(np.count_nonzero(marked)))


Deciding = Generator[Question, Answer, np.ndarray]
"""Asks, and returns the actions of all turns as ``Player.act`` does."""


def deciding(player: Player, turns: Turns) -> Deciding:
    """A player's decisions."""
    if hasattr(player, "deciding") and _asks(type(player)):
        return np.asarray((yield from player.deciding(turns)))
    return np.asarray(player.act(turns))


def _asks(kind: type) -> bool:
    """Whether a class of players decides by ``deciding``: False for a subclass that overrides ``act`` alone."""
    first = next((each for each in kind.__mro__ if vars(each).keys() & {"act", "deciding"}), kind)
    return "deciding" in vars(first)


def alone(decisions: Deciding) -> np.ndarray:
    """The decisions of a player, whose questions are answered one by one."""
    try:
        question = next(decisions)
        while True:
            question = decisions.send(question.answered())
    except StopIteration as end:
        return np.asarray(end.value)


def together(players: Sequence[Deciding], clock: Callable[[], float]) -> Iterator[tuple[int, np.ndarray, float] | None]:
    """Each player's index, its decisions, and the seconds by the ``clock`` that it has taken, as soon as it has
    decided; None where a device is at work. The seconds of a pass are divided by the tokens asked for."""
    seconds = np.zeros(len(players))
    answers = dict[int, Answer | None].fromkeys(range(len(players)))
    while answers:
        questions = dict[int, Question]()
        for index, answer in answers.items():
            began, decided = clock(), None
            try:
                question = players[index].send(answer)  # type: ignore[arg-type]  # None starts it
                while not question.shared or _pool(question) is None:
                    seconds[index] += clock() - began
                    (only,), took = yield from _timed([question], clock)
                    seconds[index] += took
                    began = clock()
                    question = players[index].send(only)
                questions[index] = question
            except StopIteration as end:
                decided = end.value
            seconds[index] += clock() - began
            if decided is not None:
                yield index, decided, float(seconds[index])
        answers = {}
        while questions:
            asked = _of_one_pass(questions)
            questions = {index: question for index, question in questions.items() if index not in asked}
            found, took = yield from _timed(list(asked.values()), clock)
            answers |= zip(asked, found, strict=True)
            tokens = np.array([question.tokens for question in asked.values()])
            seconds[list(asked)] += took * tokens / max(tokens.sum(), 1)


def _timed(
    questions: Sequence[Question], clock: Callable[[], float]
) -> Generator[None, None, tuple[list[Answer], float]]:
    """The answer to each question of a pass, and the seconds that it has taken without pauses."""
    steps, took = _answering(questions), 0.0
    while True:
        began = clock()
        try:
            next(steps)
        except StopIteration as end:
            return end.value, took + clock() - began
        took += clock() - began
        yield


def _of_one_pass(questions: Mapping[int, Question]) -> dict[int, Question]:
    """Those that one pass answers, the first among them."""
    number, first = next(iter(questions.items()))
    pool = _pool(first)
    assert pool is not None
    return {i: each for i, each in questions.items() if i == number or (pool.together and _pool(each) is pool)}


def _pool(question: Question) -> Pool | None:
    """What answers the question in steps, or together with others; None if its model is asked alone."""
    pool: Pool | None = getattr(question.model, "pool", None)
    return pool if pool is not None and (pool.together or pool.beside) else None


def _answering(questions: Sequence[Question]) -> Generator[None, None, list[Answer]]:
    """The answer to each question to models of one pool, by one pass, which a model that counts is told of; or to one
    question to any model."""
    if _pool(questions[0]) is None:
        return [questions[0].answered()]
    answers: list[Answer] = yield from questions[0].model.pool.querying(
        [(question.model.network, question.query) for question in questions]
    )
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        if hasattr(question.model, "count"):
            question.model.count(question.query, answer, passes=int(number == 0))
    return answers
