"""A history of The Crew as people write a mission."""

from itertools import groupby

import numpy as np

from games.compiled import blank
from games.crew.cards import EOS, MAX_TASKS, NO_TILE, NUM_CARDS, POSITIONS, SILENT, TILES, VOCABULARY
from games.crew.public import COMMANDER, DRAFT, HOLDER, MARK, NAME, PLACE_TILE, PLAY, TALK, UNCOVER
from games.crew.view import (
    DEALT,
    DIRECTS,
    ENDED,
    GAINS,
    HEADER,
    LOSES,
    PASSES,
    PICKS,
    PLACES_TILE,
    RECEIVES,
    REPLIES,
    SIGNALS,
    VIEW,
    advance,
    stage_of,
)

_COLOURS = {"P": "pink", "B": "blue", "G": "green", "Y": "yellow", "R": "rockets"}
_ABOUT = {COMMANDER: "commander:", HOLDER: "has the pink 9:", NAME: "named:"}
_WORDS = {
    PICKS: "tile from:",
    PLACES_TILE: "to:",
    DIRECTS: "pass to the",
    PASSES: "passed:",
    RECEIVES: "received:",
    LOSES: "lost:",
    GAINS: "gained:",
}


def describe(tokens: np.ndarray, template: np.ndarray) -> str:
    """Several lines for a history (token ids ``[T]``), complete or not, of a game with the options of ``template``
    (``PUBLIC[1]``): mission and hand, what was settled before the first trick, the tasks with their tiles and owners,
    then what was said and one line for each trick, and how it ended. Seats that were silent are left out.

    A trick starts with who led; ``*`` marks the card that wins it. From a token that does not belong where it stands,
    the rest follows as bare names.
    """
    view = blank(VIEW, template, EOS, 1)[0]
    header: list[str] = []
    hand: list[str] = []
    events: list[tuple[int, str]] = []
    seen = [int(token) for token in tokens if token != EOS]
    for token in seen:
        before, stage = view["public"].copy(), int(stage_of(view))
        advance(view, np.int64(token))
        if view["ended"] != 0 or stage == ENDED:
            break
        name = VOCABULARY.name(token)
        if stage in (HEADER, DEALT):
            (header if token >= NUM_CARDS else hand).append(name)
        else:
            events += _events(before, view["public"], stage, token, name)
    mission = int(view["public"]["mission"])
    first = [f"mission {mission}: {_header(header)}"] if mission > 0 else [" ".join(header)] * bool(header)
    lines = first + ([f"hand: {_by_colour(hand)}"] if hand else []) + [_line(group) for _, group in _grouped(events)]
    result = int(view["public"]["result"])
    rest = " ".join(VOCABULARY.name(token) for token in seen[int(view["length"]) :])
    lines += ["success" if result else "failure"] * (result >= 0) + [rest] * bool(rest)
    return "\n".join(lines) or "(nothing seen)"


_ALONE, _TASKS, _DRAFT, _POLL, _DISTRESS, _RADIO, _TRICK = range(7)
"""Kinds of events: ``_ALONE`` has a line of its own, successive events of another kind share one."""


def _events(before: np.void, after: np.void, stage: int, token: int, name: str) -> list[tuple[int, str]]:
    """Kind and text of each event of one token, given the public record before and after it."""
    phase, seat = int(before["phase"]), POSITIONS[max(int(before["turn"]), 0)]
    if phase in _ABOUT:
        return [(_ALONE, f"{_ABOUT[phase]} {name}")]
    if phase == UNCOVER:
        return [(_TASKS, _task(after, int(before["num_laid"])))]
    if phase == DRAFT:
        return [(_DRAFT, f"{seat} {name}")]
    if stage in (REPLIES, SIGNALS):
        return [(_POLL if stage == REPLIES else _DISTRESS, f"{seat} {name}")]
    if phase == TALK:
        return [(_RADIO, f"{seat} {name}")] * (token != SILENT)
    if phase == MARK:
        return [(_RADIO, f"+{name}")]
    if phase == PLAY:
        return _card_played(before, after, name)
    events = [(_ALONE, f"{_WORDS[stage]} {name}")]
    if phase == PLACE_TILE:
        events += [(_TASKS, _task(after, n)) for n in range(int(after["num_tasks"]))]
    return events


def _card_played(before: np.void, after: np.void, name: str) -> list[tuple[int, str]]:
    if int(before["num_played"]) % 4 == 0:
        number, leader = int(before["num_played"]) // 4 + 1, POSITIONS[int(before["turn"])]
        return [(_TRICK + number, f"{number:2d} {leader:>6}: {name}")]
    events = [(_TRICK + (int(after["num_played"]) + 3) // 4, name)]
    if int(after["num_played"]) % 4 == 0:  # who won, and the tasks done with it
        number = int(after["num_played"]) // 4
        done = [_card(after, n) for n in range(MAX_TASKS) if int(after["done"][n]) == number]
        place = (int(after["winner"]) - int(before["turn"]) - 1) % 4
        events.append((_TRICK + number, f"*{place}" + (f"   done: {' '.join(done)}" if done else "")))
    return events


def _task(public: np.void, n: int) -> str:
    tile = int(public["tiles"][n])
    return _card(public, n) + (f" [{TILES[tile]}]" if tile != NO_TILE else "")


def _card(public: np.void, n: int) -> str:
    return VOCABULARY.name(int(public["tasks"][n]))


def _grouped(events: list[tuple[int, str]]) -> list[tuple[int, list[tuple[int, str]]]]:
    """Runs of successive events of one kind; ``_ALONE`` events one by one."""
    numbered = enumerate(events)
    groups = groupby(numbered, lambda item: (item[1][0], item[0] if item[1][0] == _ALONE else -1))
    return [(kind, [event for _, event in group]) for (kind, _), group in groups]


def _line(events: list[tuple[int, str]]) -> str:
    kind, words = events[0][0], [text for _, text in events]
    if kind > _TRICK:
        return _trick(words)
    start = {_TASKS: "tasks: ", _DRAFT: "draft: ", _POLL: "asked: ", _DISTRESS: "distress: ", _RADIO: "radio: "}
    return start.get(kind, "") + ", ".join(words).replace(", +", " ")


def _trick(words: list[str]) -> str:
    """``words`` are number, leader and first card, more cards, and in a complete trick the place of the winning one."""
    if not words[-1].startswith("*"):
        return " ".join(words)
    start, first = words[0].rsplit(" ", 1)
    cards, end = [first, *words[1:-1]], words[-1]
    cards[int(end[1])] += "*"
    return f"{start} {' '.join(f'{card:3}' for card in cards)}{end[2:]}".rstrip()


def _header(names: list[str]) -> str:
    tiles = [name for name in names if name in TILES[:NO_TILE]]
    rules = [name for name in names if name not in TILES and name != "no special"]
    num_tasks = sum(name in TILES for name in names)
    tasks = [f"{num_tasks} task{'s' * (num_tasks > 1)}"] if num_tasks else []
    return ", ".join([*rules, *tasks, *([f"tiles {' '.join(tiles)}"] if tiles else [])])


def _by_colour(names: list[str]) -> str:
    groups = [(word, [name[1] for name in names if name[0] == colour]) for colour, word in _COLOURS.items()]
    return ", ".join(f"{word} {' '.join(values)}" for word, values in groups if values)
