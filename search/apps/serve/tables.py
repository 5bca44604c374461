"""Tables that people sit at in a browser, without any network: who sits where, and what each seat may know.

A seat gets scenes (``search.apps.pictures.scene``), which are functions of its own history alone. Spectators get what
all seats see (``Layout.public``). Nothing else of a hand leaves this module before the hand is over.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator

from games.game import Game
from search.apps.pictures.scene import Layout, Scene
from search.apps.pictures.texts import Text, as_json, word
from search.apps.play.hints import Expectation, Visits
from search.apps.play.layouts import layout_of
from search.apps.play.session import Hands
from search.checked_json import Request
from search.players.player import Player

WATCHING = -1
"""The number in place of a seat for somebody who watches and sees no hand."""
_SPECTATED = Text("table.near")
"""What spectators call the seat at the bottom."""


class TableOptions(Request):
    """What somebody asks for who opens a table."""

    level: str = Field(default="", min_length=1, description="One of the levels of /about; the first if left out.")
    """What the players that are no people are called (``Support.levels``)."""
    people: int = Field(default=1, ge=1, description="Seats for people, seat 0 first.")
    training: bool = Field(default=False, description="Whether people get hints and may take back.")
    rival: str = Field(default="", min_length=1, description="The level that plays the same deals in people's places.")
    deals: int = Field(default=0, ge=0, le=1000, description="Of a match against the rival; 0 for none.")
    mission: int = Field(default=0, ge=0, description="The first one; each success leads to the next. 0 for any.")

    @model_validator(mode="after")
    def _no_match_for_training(self) -> Self:
        if self.deals and self.training:
            raise ValueError("deals: a match is no training; leave out one of them")
        return self


class Greeting(Request):
    """The first message of a websocket: the secret of a seat, and who sits there."""

    seat: str
    name: str = ""


class Message(Request):
    """What somebody at a table asks for: one of these, and ``at`` with those that change the table."""

    act: list[int] = Field(default=[], max_length=16, fail_fast=True, description="The tokens of a whole decision.")
    deal: bool = False
    undo: bool = False
    hint: bool = False
    search: bool = False
    stop: bool = False
    again: bool = False
    name: str = Field(default="", max_length=24, description="What the person is called from now on.")
    at: int = Field(default=-1, description="The number of tokens of the seat's history in the scene that it is for.")

    @property
    def asked(self) -> str:
        """The one thing that is asked for."""
        return next(name for name in self.model_fields_set if name != "at")

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if len(self.model_fields_set - {"at"}) != 1:
            raise ValueError(f"no such message; send one of {', '.join(type(self).model_fields)}, and at beside it")
        return self


class Seat(BaseModel):
    """A person's seat."""

    model_config = Request.model_config | {"frozen": False}
    seat: int
    token: str = Field(default_factory=lambda: secrets.token_urlsafe(18))
    """Who knows it may sit here."""
    name: str = ""


class Table:
    """Hands of one game with people at some seats."""

    def __init__(self, game: Game, options: TableOptions, players: Mapping[int, Player], seed: int) -> None:
        """``players``: of some seats; people sit at the others."""
        self.game, self.options, self.seed = game, options, seed
        self.hands = Hands(game, players, seed, options.mission - 1)
        self.id, self.watching = secrets.token_urlsafe(6), secrets.token_urlsafe(18)
        self.seats = {seat: Seat(seat=seat) for seat in self.hands.people}
        self.compared = dict[int, dict[int, float]]()
        """Seat -> number of a finished hand -> how many points its person is ahead of the rival in it."""
        self.replayed: tuple[int, np.ndarray] | None = None
        """Number of the finished hand that the rival has played last, and the points of each seat then."""
        self.pages = dict[int, tuple[int, str]]()
        """Seat -> number of a finished hand, and the page of its review."""

    def seat_of(self, token: str) -> int | None:
        """The seat that a token is for, ``WATCHING`` for that of spectators; None for a token that fits none."""
        tokens = {WATCHING: self.watching} | {seat: one.token for seat, one in self.seats.items()}
        found = [seat for seat, secret in tokens.items() if same_secret(secret, token)]
        return found[0] if found else None

    @property
    def waits_for_players(self) -> bool:
        """Whether a player that is no person is to act."""
        return not self.hands.over and self.hands.turn not in self.seats

    @property
    def match_over(self) -> bool:
        """Whether all deals of a match have been played."""
        return self.hands.over and 0 < self.options.deals <= self.hands.finished

    # ---- what a seat may know

    def layout(self, seat: int) -> Layout:
        """The pictures of a seat, with the names of those around."""
        seats, first = self.game.num_players, max(seat, 0)
        names = [self.name_at((first + k) % seats) for k in range(seats)]
        if seat == WATCHING:
            return layout_of(self.game, names[1:], own=names[0], observer=_SPECTATED)
        return layout_of(self.game, names[1:])

    def name_at(self, seat: int) -> str:
        """The name of the person or player at a seat."""
        if seat in self.seats:
            return self.seats[seat].name or Text("words.guest")
        others = [one for one in range(self.game.num_players) if one not in self.seats]
        level = word("words", self.options.level)
        return Text("words.nth", level=level, number=others.index(seat) + 1) if len(others) > 1 else level

    def history_of(self, seat: int) -> np.ndarray:
        """``[T]``: what the scenes of a seat are made of; spectators' are made of the first seat's."""
        return self.hands.history_of(max(seat, 0))

    def scenes(self, seat: int, seen: int) -> tuple[list[dict[str, Any]], int]:
        """The scenes of a seat after the first ``seen`` tokens of its history, or the present one if there is none
        later; and the tokens of the last of them."""
        layout, history = self.layout(seat), self.history_of(seat)
        stops = layout.stops(history)
        later = [stop for stop in stops if stop > seen] or stops[-1:]
        scenes = [layout.scene(history[:stop]) for stop in later]
        if seat == WATCHING:
            scenes = [layout.public(scene) for scene in scenes]
        messages = [scene_message(scene) for scene in scenes]
        messages[-1] |= self._moment(seat)
        return messages, later[-1]

    def _moment(self, seat: int) -> dict[str, Any]:
        hands, layout, watching = self.hands, self.layout(seat), seat == WATCHING
        mine, first = hands.turn == seat and not watching, max(seat, 0)
        others = not hands.over and not mine
        return {
            "your_turn": mine,
            "over": hands.over,
            "match_over": self.match_over,
            "deals": self.options.deals,
            "waiting_for": as_json(layout.names[(hands.turn - first) % self.game.num_players]) if others else "",
            "can_undo": not watching and self.options.training and hands.can_undo(seat),
            "training": self.options.training and not watching,
            "watching": watching,
            "hand": hands.finished + (not hands.over),
            "names": as_json(layout.names),
            "totals": [float(total) for total in hands.points_of(first).sum(axis=0)],
            "scales": as_json(layout.scales),
            "chances": bool(layout.missions),
            "attempt": self._attempt,
            "history": [] if watching else [self.game.vocabulary.name(token) for token in hands.history_of(seat)],
        }

    @property
    def _attempt(self) -> int:
        """The number of the attempt at the present mission; 0 where people chose none."""
        if not self.options.mission:
            return 0
        done = [points[0] > 0 for points in self.hands.points_of(0)[: len(self.hands.decisions) - 1]]
        return [*done[::-1], True].index(True) + 1

    def expectation(
        self, seat: int, found: Expectation, visits: Mapping[int, Visits], searching: bool = False
    ) -> dict[str, Any]:
        """What a network says to a seat about its own history, in points where the layout knows them; ``searching``
        while a search goes on."""
        layout = self.layout(seat)
        scale = 100.0 if layout.missions else layout.points_per_utility or 1.0
        return {
            "type": "hint",
            "value": found.value * scale,
            "unit": "chance" if layout.missions else "points" if layout.points_per_utility else "value",
            "searched": bool(visits),
            "searching": searching,
            "simulations": sum(one.visits for one in visits.values()),
            "actions": [
                {
                    "name": as_json(layout.token(hint.token)),
                    "probability": hint.probability,
                    "value": hint.value * scale,
                    "visits": visits[hint.token].visits if hint.token in visits else 0,
                    "mean": visits[hint.token].value * scale if hint.token in visits else None,
                }
                for hint in found.actions
            ],
        }

    # ---- what people do

    def act(self, seat: int, tokens: list[int]) -> None:
        """Play one whole decision of a seat, such as three cards to pass. ``ValueError`` where it is not its turn, or
        not legal; nothing has changed then."""
        layout, history = self.layout(seat), self.hands.history_of(seat)
        scene = layout.scene(history)
        if self.hands.turn != seat:
            raise ValueError(Text("serve.no_turn"))
        legal = {choice.token for choice in scene.choices if choice.legal}
        if not tokens or len(tokens) != scene.needed or len(set(tokens)) != len(tokens) or not set(tokens) <= legal:
            raise ValueError(Text("serve.not_legal"))
        self.hands.play(seat, *(tokens if scene.ordered else sorted(tokens)))

    def undo(self, seat: int) -> None:
        """Take back the last decision of a person. ``ValueError`` unless this is a table for training."""
        if not self.options.training:
            raise ValueError(Text("serve.no_undo"))
        self.hands.undo(seat)

    def deal(self) -> None:
        """Deal the next hand. ``ValueError`` while one is being played, or after a match."""
        if self.match_over:
            raise ValueError(Text("serve.match_over", deals=self.options.deals))
        self.hands.deal()


def same_secret(one: str, other: str) -> bool:
    """Whether two texts are the same. The time that it takes does not depend on them."""
    return secrets.compare_digest(*(text.encode(errors="surrogatepass") for text in (one, other)))


def new_seed() -> int:
    """A random seed, for a table that nobody gave one."""
    return secrets.randbits(63)  # so many that nobody finds it from a hand by trying


def scene_message(scene: Scene) -> dict[str, Any]:
    """A scene as JSON types, with the drawing in characters where there is no card table."""
    found = {
        "type": "scene",
        "title": scene.title,
        "prompt": scene.prompt,
        "needed": scene.needed,
        "ordered": scene.ordered,
        "cards": scene.cards,
        "choices": [asdict(choice) | {"token": int(choice.token)} for choice in scene.choices],
        "table": asdict(scene.card_table) if scene.card_table else None,
        "words": "" if scene.card_table else scene.table.plain,
        "points": [float(one) for one in scene.points],
        "headline": scene.headline,
        "rules": scene.rules,
        "pause": int(scene.pause),
    }
    message: dict[str, Any] = as_json(found)
    return message


def error_message(error: Exception | str) -> dict[str, Any]:
    """What could not be done, in English for programs, and as pages say it."""
    text = next(iter(error.args), "") if isinstance(error, Exception) else error
    return {"type": "error", "text": str(text), "said": as_json(text)}
