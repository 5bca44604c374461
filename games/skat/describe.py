"""A Skat history as people write a deal."""

from itertools import groupby

import numpy as np

from games.compiled import blank
from games.skat.cards import EOS, SEATS, VOCABULARY
from games.skat.rules import template
from games.skat.view import (
    CALLED,
    CHOSEN,
    DEALT,
    DECLARED,
    ENDED,
    LAID,
    MODIFIED,
    OWN_PLACE,
    PLAYED,
    SHOWN,
    TALON,
    TURNED,
    VIEW,
    advance,
    stage_of,
)

_SIGNS = {"D": "♦", "H": "♥", "S": "♠", "C": "♣"}
_WORDS = {
    DEALT: "dealt",
    CALLED: "calls:",
    TALON: "talon",
    LAID: "discards",
    SHOWN: "shown",
    TURNED: "turned over",
    DECLARED: "game:",
    MODIFIED: "announced:",
}
_SORTED = (DEALT, SHOWN, TURNED)


def describe(tokens: np.ndarray) -> str:
    """Several lines for a history (token ids ``[T]``), complete or not: own place, one line for each part of the deal,
    then one per trick.

    A trick starts with who led; ``*`` marks the card that wins it. From a token that does not belong where it stands,
    the rest follows as bare names.
    """
    view = blank(VIEW, template(), EOS, 1)[0]
    events: list[tuple[int, str]] = []
    tricks: list[str] = []
    seen = [int(token) for token in tokens if token != EOS]
    for token in seen:
        stage, turn = int(stage_of(view)), int(view["public"]["turn"])
        advance(view, np.int64(token))
        if view["ended"] != 0 or stage == ENDED:
            break
        name = VOCABULARY.name(token)
        if stage == PLAYED:
            _lay(tricks, name, turn, view["public"])
        else:
            events.append((stage, name))
    lines = [_line(stage, [name for _, name in group]) for stage, group in groupby(events, lambda item: item[0])]
    turned = lines[-1:] if events and events[-1][0] == TURNED else []
    rest = " ".join(VOCABULARY.name(token) for token in seen[int(view["length"]) :])
    return (
        "\n".join([*lines[: len(lines) - len(turned)], *tricks, *turned, *([rest] if rest else [])]) or "(nothing seen)"
    )


def _line(stage: int, names: list[str]) -> str:
    if stage in (OWN_PLACE, CHOSEN):
        return names[0]
    return f"{_WORDS[stage]} {_by_suit(names) if stage in _SORTED else ' '.join(names)}"


def _by_suit(names: list[str]) -> str:
    groups = [(sign, [name[1] for name in names if name[0] == suit]) for suit, sign in _SIGNS.items()]
    return " ".join(f"{sign} {' '.join(ranks)}" for sign, ranks in groups if ranks)


def _lay(tricks: list[str], name: str, seat: int, public: np.void) -> None:
    """Write a card that ``seat`` has just played; ``public`` is the public record after it."""
    place = (int(public["num_played"]) - 1) % 3
    if place == 0:
        tricks.append(f"{len(tricks) + 1:2d} {SEATS[seat]:>10}:")
    tricks[-1] += f" {name}"
    if place == 2:  # the winner sits as many seats behind the leader as its card stands behind the first
        leader = (seat + 1) % 3
        words = tricks[-1].split()
        words[2 + (int(public["winner"]) - leader) % 3] += "*"
        tricks[-1] = f"{words[0]:>2} {words[1]:>11} {' '.join(words[2:])}"
