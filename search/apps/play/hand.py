"""The hand at the bottom of the screen: choices, chosen items, and the target of a click."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from search.apps.pictures.canvas import Canvas, shortened
from search.apps.pictures.cards import CARD_WIDTH, card_style, draw_card
from search.apps.pictures.scene import Choice

HAND_WIDTH, HAND_HEIGHT = 80, 5
KEYS = "1234567890abc"
"""The key of each legal choice, in order; the arrows reach further ones."""


@dataclass(frozen=True)
class Box:
    """Rectangle of a choice on the screen."""

    left: int
    top: int
    right: int
    """Not included."""
    bottom: int
    """Not included."""
    token: int


@dataclass(frozen=True)
class Hand:
    """The drawing of the choices, and their positions."""

    text: Text
    boxes: tuple[Box, ...]
    """Boxes of legal choices."""

    def at(self, x: int, y: int) -> int | None:
        """The legal choice that is drawn there."""
        found = [box.token for box in self.boxes if box.left <= x < box.right and box.top <= y < box.bottom]
        return found[-1] if found else None


def draw_hand(
    choices: Sequence[Choice], cards: bool, chosen: Sequence[int], cursor: int | None, keys: str = KEYS
) -> Hand:
    """Draw the choices: legal ones with their ``keys``, the ``chosen`` ones (tokens, in order) raised, the one at the
    ``cursor`` (a token) marked."""
    canvas = Canvas(HAND_WIDTH, HAND_HEIGHT)
    legal = legal_tokens(choices)
    named = dict(zip(legal, keys, strict=False))
    draw = _draw_cards if cards else _draw_words
    boxes = draw(canvas, choices, named, list(chosen), cursor)
    return Hand(canvas.text(), tuple(box for box in boxes if box.token in legal))


def _draw_cards(
    canvas: Canvas, choices: Sequence[Choice], keys: dict[int, str], chosen: list[int], cursor: int | None
) -> list[Box]:
    """Draw cards side by side, suits apart; chosen ones are raised, with their number in the order below them."""
    gaps = [int(left.group != right.group) for left, right in pairwise(choices)]
    x = (canvas.width - CARD_WIDTH * len(choices) - sum(gaps)) // 2
    boxes = []
    for choice, gap in zip(choices, [*gaps, 0], strict=False):
        raised = choice.token in chosen
        style = card_style(choice.red, not choice.legal)
        draw_card(canvas, x, 0 if raised else 1, choice.name, style)
        if raised:
            canvas.centre(x + 2, 3, f"{chosen.index(choice.token) + 1}.")
        marked = "reverse" if choice.token == cursor else ""
        canvas.put(x + 1, 4, f" {keys.get(choice.token, '·' if choice.legal else ' ')} ", marked)
        boxes.append(Box(x, 0, x + CARD_WIDTH, canvas.height, choice.token))
        x += CARD_WIDTH + gap
    return boxes


def _draw_words(
    canvas: Canvas, choices: Sequence[Choice], keys: dict[int, str], chosen: list[int], cursor: int | None
) -> list[Box]:
    """Draw words one after the other; if they do not fit, the lines around the cursor."""
    places, x, y = [], 1, 0
    for choice in choices:
        label = shortened(f" {keys.get(choice.token, '·')} {choice.name} ", canvas.width - 2)
        if x + len(label) > canvas.width - 1:
            x, y = 1, y + 1
        places.append((x, y, label, choice))
        x += len(label) + 1
    at = next((y for _, y, _, choice in places if choice.token == cursor), 0)
    first = max(0, min(at - 2, y + 1 - canvas.height))
    boxes = []
    for x, y, label, choice in places:
        style = "bold reverse" if choice.token in chosen else "underline" if choice.token == cursor else ""
        canvas.put(x, y - first, label, style)
        if first <= y < first + canvas.height:
            boxes.append(Box(x, y - first, x + len(label), y - first + 1, choice.token))
    return boxes


def legal_tokens(choices: Sequence[Choice]) -> list[int]:
    """The legal choices, in the order of the keys."""
    return [choice.token for choice in choices if choice.legal]


class Selection:
    """Some of the legal choices of a moment, in the order in which they were chosen, and a cursor over all of them."""

    def __init__(self, choices: Sequence[Choice] = (), needed: int = 0) -> None:
        """``needed``: number of choices in the decision."""
        self.legal = legal_tokens(choices)
        self.needed = needed
        self.chosen: list[int] = []
        """Tokens, in order."""
        self._cursor = 0

    @property
    def missing(self) -> int:
        """Number of choices still to make."""
        return self.needed - len(self.chosen)

    @property
    def at_cursor(self) -> int | None:
        """The token under the cursor; None where nothing is legal."""
        return self.legal[self._cursor] if self.legal else None

    def move(self, step: int) -> None:
        """Move the cursor, as far as there are choices."""
        self._cursor = clipped(self._cursor + step, len(self.legal))

    def stand_at(self, token: int) -> None:
        """Move the cursor to a legal token."""
        self._cursor = self.legal.index(token)

    def toggle(self, token: int) -> bool:
        """Choose a legal token, or put it back if it is chosen. If one is needed, it replaces the chosen one; if
        several are, returns False once all are chosen."""
        if token in self.chosen:
            self.chosen.remove(token)
        elif self.needed == 1:
            self.chosen = [token]
        elif self.missing > 0:
            self.chosen.append(token)
        else:
            return False
        self.stand_at(token)
        return True


def clipped(place: int, count: int) -> int:
    """The place among ``count`` that is nearest to ``place``, from 0."""
    return max(0, min(place, count - 1))
