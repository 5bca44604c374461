"""The person's choices that are not yet confirmed."""

from collections.abc import Sequence

from search.pictures.scene import Choice

KEYS = "1234567890abc"
"""The key of each legal choice, in order; the arrows reach further ones."""


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
        self._cursor = self.legal.index(token)
        return True


def clipped(place: int, count: int) -> int:
    """The place among ``count`` that is nearest to ``place``, from 0."""
    return max(0, min(place, count - 1))
