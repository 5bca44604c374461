"""A Hearts history as people write a hand."""

import numpy as np

from games.hearts.cards import EOS, HAND_SIZE, PASS_SIZE, RANKS, VOCABULARY

_SUIT_SIGNS = "♣♦♥♠"
_SEATS = ("self", "left", "across", "right")


def describe(tokens: np.ndarray) -> str:
    """Several lines for a history (token ids ``[T]``), complete or not: the deal, the pass, then one line per trick.

    A trick starts with who led; ``*`` marks the card that wins it. From a token that does not belong where it stands,
    the rest follows as bare names.
    """
    names = [VOCABULARY.name(token) for token in tokens if token != EOS]
    if not names:
        return "(nothing seen)"
    direction, names = names[0], names[1:]
    lines = [f"{direction} | dealt {_by_suit(names[:HAND_SIZE])}"]
    names = names[HAND_SIZE:]
    if direction != "hold":
        for word in ("passed", "received"):
            if names:
                lines.append(f"{word} {' '.join(names[:PASS_SIZE])}")
            names = names[PASS_SIZE:]
    if names:
        lines.append(f"leader: {names[0]}")
        lines += _tricks(names[0], names[1:])
    return "\n".join(lines)


def _is_card(name: str) -> bool:
    return len(name) == 2 and name[0] in RANKS


def _by_suit(names: list[str]) -> str:
    if not all(_is_card(name) for name in names):
        return " ".join(names)
    groups = []
    for suit, sign in zip("CDHS", _SUIT_SIGNS, strict=True):
        ranks = [name[0] for name in names if name[1] == suit]
        if ranks:
            groups.append(f"{sign} {' '.join(ranks)}")
    return " ".join(groups)


def _tricks(leader: str, names: list[str]) -> list[str]:
    if leader not in _SEATS or not all(_is_card(name) for name in names):
        return [" ".join(names)]
    lines, led_by = [], _SEATS.index(leader)
    for number, first in enumerate(range(0, len(names), 4), start=1):
        trick = names[first : first + 4]
        following = [i for i, name in enumerate(trick) if name[1] == trick[0][1]]
        best = max(following, key=lambda i: RANKS.index(trick[i][0]))
        shown = [name + "*" * (i == best and len(trick) == 4) for i, name in enumerate(trick)]
        lines.append(f"{number:2d} {_SEATS[led_by]:>6}: {' '.join(shown)}")
        led_by = (led_by + best) % 4
    return lines
