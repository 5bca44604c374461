"""Answers questions about positions: a history in, the legal actions with their values out.

A question is a JSON object::

    {"id": 7, "seat": 0, "history": ["hold", "2C", "5C", ...]}

The answer, in which null is what the judge does not say (``search.arena.judges``)::

    {"id": 7, "expected": -1.2, "best": "QS",
     "actions": [{"action": "QS", "probability": 0.8, "value": -0.9}, ...]}

In place of a history there may be a record::

    {"id": 8, "seat": 0, "record": "(;GM[Skat]PC[International Skat Server]..."}

A question that makes no sense is answered by ``{"id": 7, "error": "..."}``. docs/engine.md has all keys.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import TypedDict

from games.game import Game, Next
from games.recorded_deals import RecordedDeals
from games.rng import derive, derive_many
from search.apps.review.decisions import choices_of
from search.apps.review.report import likeliest_first, rounded
from search.arena.judges import JudgeSetup, Opinion
from search.checked_json import Request
from search.players.player import Turns
from search.roster.kinds import support_of


class Question(Request):
    """A seat's history, or the record of a whole deal in games that have records (Skat)."""

    id: Any = Field(default=None, description="Anything; comes back.")
    seat: int = Field(default=0, ge=0)
    history: list[str] = Field(
        [], min_length=1, fail_fast=True, description="Names of the tokens that the seat has seen."
    )
    record: str = Field(
        "", max_length=8000, description="The text of one record; they have about a thousand characters."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if len(self.model_fields_set & {"history", "record"}) != 1:
            raise ValueError("history: give it or record, and not both")
        return self


class ActionValue(TypedDict):
    """A legal action; null is what the judge does not say."""

    action: str
    probability: float | None
    value: float | None


class Answer(TypedDict, total=False):
    """``decisions`` to a record, one for each choice of the seat, with ``place``, the tokens that it had seen. On
    another seat's turn there are no actions and ``best`` is null."""

    id: Any
    error: str
    decisions: "list[Answer]"
    place: int
    played: str
    expected: float | None
    best: str | None
    actions: list[ActionValue]


Asked = tuple[Answer, int, list[int]]
"""The answer to fill in, the seat, and the tokens that it has seen."""


class MoveEngine:
    """Answers questions about one game by one judge. Answers do not depend on what is asked beside them."""

    def __init__(self, game: Game, setup: JudgeSetup, seed: int) -> None:
        """``seed``: of a judge that searches; the same history always gets the same random numbers."""
        self.game, self.setup, self._seed = game, setup, seed
        self._tokens = {name: token for token, name in enumerate(game.vocabulary.names)}

    @property
    def about(self) -> dict[str, Any]:
        """Who answers, and in which unit."""
        setup = self.setup
        return {"game": self.game.name, "options": dict(self.game.options), "player": setup.name,
                "network": setup.network, "unit": setup.unit, "seats": self.game.num_players}  # fmt: skip

    def answers(self, questions: Sequence[Any]) -> list[Answer]:
        """An answer to each question, in order; one that cannot be answered has an ``error``."""
        found: list[Answer] = [{} for _ in questions]
        asked = list[Asked]()
        for answer, question in zip(found, questions, strict=True):
            if isinstance(question, Mapping) and "id" in question:
                answer["id"] = question["id"]
            try:
                asked += self._read(Question.of(question), answer)
            except ValueError as error:
                answer["error"] = str(error)
        if asked:
            self._answer(asked)
        return found

    def _read(self, question: Question, answer: Answer) -> list[Asked]:
        """What a question asks; ``ValueError`` says what is wrong with it in this game."""
        if question.seat >= self.game.num_players:
            raise ValueError(f"seat: {question.seat} is no seat; {self.game.name} has 0 to {self.game.num_players - 1}")
        if question.history:
            return [(answer, question.seat, self._tokens_of(question.history))]
        answer["decisions"], asked = self._recorded(question.record, question.seat)
        return asked

    def _tokens_of(self, history: list[str]) -> list[int]:
        if len(history) >= self.game.max_length:
            raise ValueError(f"history: has {len(history)} tokens; a history has less than {self.game.max_length}")
        for place, name in enumerate(history):
            if name not in self._tokens:
                raise ValueError(f"history[{place}]: {name!r} is no token of {self.game.name}")
        tokens = [self._tokens[name] for name in history]
        view = self.game.views(np.array([tokens]), np.array([len(tokens)]))
        if not self.game.consistent(view)[0]:
            raise ValueError("history: what it says could not have happened")
        if self.game.next(view)[0] == Next.END:
            raise ValueError("history: the deal is over")
        return tokens

    def _recorded(self, record: str, seat: int) -> tuple[list[Answer], list[Asked]]:
        """The answers to fill in for a seat's choices in a recorded deal."""
        deals = self._deal_of(record)
        row = np.flatnonzero(deals.sequences.seat == seat)[:1]
        tokens = deals.sequences.tokens[row]
        answers, asked = list[Answer](), list[Asked]()
        for place in np.flatnonzero(choices_of(deals, row)[0]):
            played = self.game.vocabulary.name(int(tokens[0, place]))
            answers.append({"place": int(place), "played": played})
            asked.append((answers[-1], seat, tokens[0, :place].tolist()))
        return answers, asked

    def _deal_of(self, record: str) -> RecordedDeals:
        readers = support_of(self.game).records
        if not readers:
            raise ValueError(f"record: {self.game.name} has no records; give a history")
        ending, reader = next(iter(readers.items()))
        with TemporaryDirectory() as place:
            path = Path(place, f"record{ending}")
            path.write_text(record, encoding="utf-8", errors="replace")
            try:
                deals = reader(path, 2)
            except ValueError as error:
                raise ValueError(f"record: {str(error).replace(f'{path}: ', '')}") from None
        if len(deals.titles) > 1 or deals.left_out:
            raise ValueError(f"record: must be the text of one record{''.join(f'; {one}' for one in deals.left_out)}")
        if deals.game.options != self.game.options:
            raise ValueError(f"record: is read by the rules {dict(deals.game.options)}")
        return deals

    def _turns(self, asked: Sequence[Asked]) -> Turns:
        game, count = self.game, len(asked)
        tokens = np.full((count, game.max_length), game.vocabulary.eos, np.int64)
        for row, (_, _, history) in enumerate(asked):
            tokens[row, : len(history)] = history
        lengths = np.array([len(history) for _, _, history in asked], np.int32)
        seeds = [derive_many(derive(self._seed, "analysis", seat, *history), 1)[0] for _, seat, history in asked]
        seats = np.array([seat for _, seat, _ in asked])
        legal = game.view_legal(game.views(tokens, lengths))
        return Turns(np.arange(count), seats, tokens, lengths, legal, np.array(seeds, np.uint64))

    def _answer(self, asked: Sequence[Asked]) -> None:
        """Fill in the answers. On others' turns there is one only where the judge ``tells_others``."""
        turns, judge = self._turns(asked), self.setup.judge
        judged = turns.legal.any(axis=1) | judge.tells_others
        for row in np.flatnonzero(~judged).tolist():
            asked[row][0].update({"expected": None, "best": None, "actions": []})
        rows = np.flatnonzero(judged)
        if not len(rows):
            return
        turns = replace(turns.take(rows), game=np.arange(len(rows)))
        judge.start(self.game, len(rows))
        opinion = judge.opinion(turns)
        judge.forget(turns.game)
        for number, row in enumerate(rows.tolist()):
            asked[row][0].update(self._answer_of(opinion, turns.legal[number], number))

    def _answer_of(self, opinion: Opinion, legal: np.ndarray, row: int) -> Answer:
        names, scale = self.game.vocabulary.names, self.setup.scale
        values, chances = opinion.values[row] * scale, opinion.probabilities[row]
        actions = likeliest_first(np.flatnonzero(legal), chances, values)
        return {
            "expected": rounded(opinion.expected[row] * scale),
            "best": names[opinion.best[row]] if len(actions) else None,
            "actions": [
                {"action": names[action], "probability": rounded(chances[action]), "value": rounded(values[action])}
                for action in actions
            ],
        }


def read_json(text: str) -> Any:
    """What a client sends, to which an answer can give back its id; ``ValueError`` for what is no JSON, NaN and numbers
    beyond all bounds among it."""
    try:
        return json.loads(text, parse_constant=_number, parse_float=_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no JSON")
    return number
