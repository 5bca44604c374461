"""One place of a pool: the actor that holds it, its item, and how long it has been silent or made no progress."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayActorError, RayError, RayTaskError

T = TypeVar("T")

Ask = Callable[[ActorHandle], Any]
"""Sends an actor a progress query, which a separate thread of the actor answers; returns the Ray reference."""


@dataclass
class Item(Generic[T]):
    """A piece of work."""

    value: T
    deaths: int = 0
    """Actors that have died over it."""
    doubled: bool = False
    """Whether a second actor does it too."""
    done: bool = False


@dataclass
class Worker(Generic[T]):
    """One place of the pool and the actor that holds it."""

    index: int
    actor: Any = None
    """Ray handle; None before the first."""
    reference: Any = None
    """Ray reference of the running call (constructor or item); None while idle."""
    started: bool = False
    """Whether its constructor has finished."""
    item: Item[T] | None = None
    """The running item; None while the constructor runs, and for an item whose result is no longer wanted."""
    began: float = 0.0
    """When it got the item (monotonic seconds)."""
    deaths: int = 0
    """Actors that have died in this place since it finished an item."""
    question: Any = None
    """Ray reference of the progress query that has no answer yet; None without one."""
    answer: Any = None
    """Its last progress in the running call; None before the first answer."""
    silent: float = 0.0
    """Seconds that ``question`` has waited for an answer."""
    still: float = 0.0
    """Seconds since the running call began or its progress last changed."""
    watched: float = 0.0
    """When the pool last looked after it (monotonic seconds)."""
    waits: bool = False
    """Whether the cluster had no room for it then."""
    killed_for: str = ""
    """Why the pool killed it; empty if it did not."""

    def set_to(self, reference: Any, item: Item[T] | None = None) -> None:
        """Note the call that runs from now on."""
        self.reference, self.item, self.began = reference, item, time.monotonic()
        self.watched, self.waits = self.began, False
        self.question = self.answer = None
        self.silent = self.still = 0.0

    def hear(self, ask: Ask, seconds: float) -> None:
        """Take its answer if there is one, and ask again; ``seconds`` have passed since the last call."""
        self.still += seconds
        if self.question is not None:
            self.silent += seconds
            if not ray.wait([self.question], timeout=0)[0]:
                return
            answered, self.question, self.silent = self.question, None, 0.0
            try:
                answer = ray.get(answered)
            except RayTaskError as error:
                if not isinstance(error.cause, RayActorError):
                    raise
                return  # one of its group has died, which ``reference`` reports too
            except RayError:
                return  # it has died, likewise
            if answer != self.answer:
                self.answer, self.still = answer, 0.0
        self.question = ask(self.actor)
