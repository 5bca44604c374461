"""The Crew as tests play it: deals given by the tricks that are to be played, actions by the names of their tokens."""

from itertools import product

import numpy as np

from games.compiled import blank
from games.crew.cards import EOS, card_id
from games.crew.game import CrewGame
from games.crew.public import template
from games.crew.state import STATE, deal_given
from tests.games.material import Named

BY_NAME = Named(CrewGame())
TOKEN, names_of, seen, legal_names, do = BY_NAME.token, BY_NAME.names, BY_NAME.seen, BY_NAME.legal, BY_NAME.do
DECK = [colour + str(value) for colour in "PBGY" for value in range(1, 10)] + ["R1", "R2", "R3", "R4"]


def winner_of(trick: list[str], leader: int) -> int:
    """Seat that wins a trick of four cards in the order of play."""
    rockets = [card for card in trick if card[0] == "R"]
    best = max(rockets or [card for card in trick if card[0] == trick[0][0]])
    return (leader + trick.index(best)) % 4


def hands_for(tricks: list[str]) -> list[list[str]]:
    """Four hands of ten out of which the tricks can be played, seat 0 leading the first; seat 0 has the rocket 4."""
    hands: list[list[str]] = [[], [], [], []]
    lacks: list[set[str]] = [set(), set(), set(), set()]
    leader = 0
    for trick in tricks:
        cards = trick.split()
        for place, card in enumerate(cards):
            seat = (leader + place) % 4
            hands[seat].append(card)
            if card[0] != cards[0][0]:
                lacks[seat].add(cards[0][0])
        leader = winner_of(cards, leader)
    if not any("R4" in hand for hand in hands):
        hands[0].append("R4")
    rest = [card for card in DECK if not any(card in hand for hand in hands)]
    rest.sort(key=lambda card: sum(card[0] in lacking for lacking in lacks), reverse=True)
    assert _fill(hands, lacks, rest), "no hands allow these tricks"
    return hands


def _fill(hands: list[list[str]], lacks: list[set[str]], rest: list[str]) -> bool:
    if not rest:
        return True
    for hand, lacking in zip(hands, lacks, strict=True):
        if len(hand) < 10 and rest[0][0] not in lacking:
            hand.append(rest[0])
            if _fill(hands, lacks, rest[1:]):
                return True
            hand.pop()
    return False


def given(mission: int, hands: list[list[str]], tasks: str = "", chance: int = 1, **options) -> np.ndarray:
    """One deal of a mission with given hands and task cards in laying order."""
    states = blank(STATE, template([mission], **options), EOS, 1)
    sets = np.array([sum(1 << card_id(card) for card in hand) for hand in hands])
    deck = [card_id(card) for card in tasks.split()]
    deck += [card for card in range(36) if card not in deck][: 10 - len(deck)]
    with np.errstate(over="ignore"):
        deal_given(states[0], mission, sets, np.array(deck), np.uint64(chance))
    return states


def play(mission: int, tricks: list[str], *, tasks: str = "", before: str = "", **options) -> np.ndarray:
    """Play a mission: ``before`` the first trick, then tricks, silent in all windows. Seat 0 is the commander. Every
    action must be legal."""
    states = given(mission, hands_for(tricks), tasks, **options)
    do(states, before)
    for trick in tricks:
        hush(states)
        do(states, trick)
    return states


def hush(states: np.ndarray) -> list[int]:
    """Nobody says anything in this window; the seats that were asked."""
    asked = []
    while "silent" in legal_names(states):
        asked.append(int(states["public"]["turn"][0]))
        do(states, "silent")
    return asked


def verdict(states: np.ndarray) -> str:
    return {1: "success", 0: "failure", -1: "open"}[int(states["public"]["result"][0])]


def every_distribution(tasks: int) -> set[tuple[int, ...]]:
    """Every row of receivers after which nobody has two tasks more than another."""
    rows = product(range(4), repeat=tasks)
    return {row for row in rows if max(map(row.count, range(4))) - min(map(row.count, range(4))) < 2}
