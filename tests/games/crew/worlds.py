"""Every world behind a history, by the rules of the true state alone: each division of the cards a seat does not know,
with every card that others can have passed or drawn, is dealt and played through."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from games.compiled import blank
from games.crew.cards import EOS, TASK_CARDS, VOCABULARY
from games.crew.game import CrewGame
from games.crew.public import DISTRESS, PASS, TALK
from games.crew.state import STATE, deal_given
from games.rng import derive_many
from tests.games.crew.table import TOKEN
from tests.games.material import Deal, subsets


def choose(game: CrewGame, states: np.ndarray, rng: np.random.Generator, silence: float) -> np.ndarray:
    """A legal action for every row that is not over: everybody agrees to the distress signal, and keeps silent that
    often."""
    legal, phase = game.legal(states), states["public"]["phase"]
    legal[phase == DISTRESS, TOKEN["no"]] = False
    hushed = (phase == TALK) & (rng.random(len(states)) < silence)
    legal[hushed, : TOKEN["silent"]] = False
    return np.argmax(rng.random(legal.shape) * legal, axis=1)


def late_deals(game: CrewGame, stop: int, seed: int, silence: float, count: int = 3000) -> list[Deal]:
    """Those of ``count`` random deals that are not decided once ``stop`` cards are played."""
    rng, states, steps = np.random.default_rng(seed), game.deal(derive_many(seed, count)), []
    while True:
        going_on = (game.to_move(states) >= 0) & (states["public"]["num_played"] < stop)
        if not going_on.any():
            break
        tokens = np.where(going_on, choose(game, states, rng, silence), -1)
        steps.append((game.to_move(states), tokens))
        some = states[going_on]
        game.play(some, tokens[going_on])
        states[going_on] = some
    deals = []
    for row in np.flatnonzero(game.to_move(states) >= 0):
        done = [(int(seats[row]), int(tokens[row])) for seats, tokens in steps if tokens[row] >= 0]
        deals.append(Deal(game, states[row : row + 1].copy(), [seat for seat, _ in done], [token for _, token in done]))
    return deals


def members(cards: int) -> list[int]:
    """The cards of a set, each as a set."""
    return [1 << card for card in range(40) if cards >> card & 1]


def worlds(deal: Deal, seat: int) -> np.ndarray:
    """``STATE[W]``: every state in which this seat has seen what it has."""
    found = [world for hands in _divisions(deal, seat) for world in _undone(deal, seat, hands)]
    true = deal.states[0]
    states = blank(STATE, deal.game.template, EOS, len(found))
    passes = np.array([[card.bit_length() - 1 for card in world[1]] for world in found])
    for row, (hands, _, drawn) in enumerate(found):
        deal_given(states[row], true["public"]["mission"], np.array(hands), true["deck"].astype(np.int64), np.uint64(1))
        states[row]["drawn"] = [card.bit_length() - 1 for card in drawn]
    for actor, token in zip(deal.seats, deal.tokens, strict=True):
        tokens = np.full(len(states), token)
        hidden = (states["public"]["phase"] == PASS) & (actor != seat)
        tokens[hidden] = passes[hidden, actor]
        alike = deal.game.to_move(states) == actor
        legal = alike & deal.game.legal(states)[np.arange(len(states)), tokens]
        states, tokens, passes = states[legal], tokens[legal], passes[legal]
        deal.game.play(states, tokens)
    same = (states["tokens"][:, seat] == true["tokens"][seat]).all(axis=1)
    return states[same & ~_moved_a_shown_card(states)]


def _moved_a_shown_card(states: np.ndarray) -> np.ndarray:
    """``bool[W]``: a card shown before the draw of mission 12 was drawn where that is not allowed; the draw of a state
    that is told of it does not ask."""
    public, wrong = states["public"], np.zeros(len(states), np.bool_)
    for giver in range(4):
        shown = (public["said"][:, giver] >= 0) & (public["said_at"][:, giver] < 4) & (public["shown_card"] == 0)
        wrong |= shown & (states["drawn"][:, (giver + 1) % 4] == public["said"][:, giver])
    return wrong


def _divisions(deal: Deal, seat: int) -> Iterator[list[int]]:
    """The four hands as they can be now, by their sizes alone."""
    true = [int(cards) for cards in deal.states[0]["hands"]]
    others = [other for other in range(4) if other != seat]
    unknown = sum(true[other] for other in others)
    for first in subsets(unknown, true[others[0]].bit_count()):
        for second in subsets(unknown & ~first, true[others[1]].bit_count()):
            hands = list(true)
            for other, cards in zip(others, (first, second, unknown & ~first & ~second), strict=True):
                hands[other] = cards
            yield hands


def _undone(deal: Deal, seat: int, hands: list[int]) -> Iterator[tuple[list[int], list[int], list[int]]]:
    """``(hands as dealt, cards passed, cards drawn)``: what may have been before the hands now."""
    true = deal.states[0]
    exchanged, direction = int(true["drawn"][0]) >= 0, int(true["public"]["direction"])
    first = [card for _, card in _plays_of(deal)[:4]]
    now = [hands[s] | int(true["public"]["shown"][s]) for s in range(4)]
    for drawn in _draws(true, seat, now, first) if exchanged else [[0] * 4]:
        before = [(now[s] & ~drawn[s]) | drawn[(s + 1) % 4] for s in range(4)]
        for passed in _passes(true, seat, before) if direction else [[0] * 4]:
            dealt = [(before[s] & ~passed[(s - direction) % 4]) | passed[s] for s in range(4)]
            dealt[seat] = int(true["dealt"][seat])
            if all(cards.bit_count() == 10 for cards in dealt) and sum(dealt) == (1 << 40) - 1:
                yield dealt, passed, drawn


def _plays_of(deal: Deal) -> list[tuple[int, int]]:
    """Cards in the order in which they were played, found by playing the true deal again."""
    true, found = deal.states[0], []
    again = blank(STATE, deal.game.template, EOS, 1)
    deal_given(again[0], true["public"]["mission"], true["dealt"], true["deck"].astype(np.int64), np.uint64(1))
    again[0]["drawn"] = true["drawn"]
    for actor, token in zip(deal.seats, deal.tokens, strict=True):
        before = int(again["public"]["num_played"][0])
        deal.game.play(again, np.array([token]))
        if int(again["public"]["num_played"][0]) > before:
            found.append((actor, 1 << token))
    return found


def _draws(true: np.ndarray, seat: int, now: list[int], first: list[int]) -> Iterator[list[int]]:
    """Each seat but the observer and its next one can have drawn any card that it did not play in the first trick."""
    known = {seat: 1 << int(true["drawn"][seat]), (seat + 1) % 4: 1 << int(true["drawn"][(seat + 1) % 4])}
    choices = [[known[s]] if s in known else members(now[s] & ~sum(first)) for s in range(4)]
    for drawn in product(*choices):
        yield list(drawn)


def _passes(true: np.ndarray, seat: int, before: list[int]) -> Iterator[list[int]]:
    direction = int(true["public"]["direction"])
    choices = []
    for giver in range(4):
        receiver = (giver + direction) % 4
        known = seat in (giver, receiver)
        choices.append([1 << int(true["passed"][giver])] if known else members(before[receiver] & TASK_CARDS))
    for passed in product(*choices):
        yield list(passed)


def next_tokens(deal: Deal, behind: np.ndarray) -> set[int]:
    """Tokens that can come next in some world, where it is a seat's doing that all see."""
    legal = deal.game.legal(behind).any(axis=0)
    return {int(token) for token in np.flatnonzero(legal)} - {VOCABULARY.eos}
