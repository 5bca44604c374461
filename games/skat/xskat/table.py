"""One deal in which XSkat has one seat and two other players have the rest.

Actions of the two others are clicked, XSkat's are read off the screen. The screen hides the cards that XSkat discards:
a second process plays the same deal to its end, and its log shows them.
"""

import re

import numpy as np

from games.bits import lowest
from games.skat.cards import (
    FIRST_BID,
    FIRST_GAME,
    FIRST_MODIFIER,
    HAND,
    HOLD,
    NULL,
    NUM_CARDS,
    OUVERT,
    PASS,
    PICKUP,
    PLAIN,
    SCHNEIDER,
    SCHWARZ,
)
from games.skat.legal import legal_plays
from games.skat.replay import new_state
from games.skat.rules import AUCTION, CHOICE, DECLARATION, DISCARD, MODIFIER, PLAY
from games.skat.state import act, deal_hands, legal
from games.skat.values import BIDS
from games.skat.xskat.log import discards_of, split_log
from games.skat.xskat.program import XSkatError
from games.skat.xskat.screen import CARD_ORDER, XSkatScreen

_COMPUTER = 2
_BUTTONS = ("Diamond", "Heart", "Spade", "Club", "Grand", "Null")
_MODIFIERS = {OUVERT: "Ouvert", SCHWARZ: "Schwarz", SCHNEIDER: "Schneider"}


class XSkatTable:
    """A deal in which XSkat has one seat."""

    def __init__(self, dealt: np.ndarray, seat: int) -> None:
        """``dealt``: the three hands (``int64[3]`` sets); ``seat``: XSkat's, 0 for forehand. ``XSkatError`` where it is
        not installed."""
        self._dealt, self._seat = dealt, seat
        self._first = (_COMPUTER - seat) % 3  # XSkat's number of the player that is forehand
        self._state = new_state()
        deal_hands(self._state, dealt)
        self._done: list[int] = []
        self._discards: list[int] = []
        self._screen = XSkatScreen(deal_file(dealt), dealer=(self._first + 2) % 3)

    def close(self) -> None:
        """End the process."""
        self._screen.close()

    # ---- what is done

    def do(self, token: int) -> None:
        """Let the seat to act do ``token``; call it for XSkat's own actions as well."""
        public = self._state["public"]
        seat, phase = int(public["turn"]), int(public["phase"])
        person = (self._first + seat) % 3
        self._done.append(token)
        if phase == AUCTION and seat == self._seat:
            self._screen.calls.popleft()
        elif phase == AUCTION:
            self._call(person, token, int(public["listener"]))
        act(self._state, token)
        if seat != self._seat:
            self._go_on(person, phase, token)

    def _call(self, person: int, token: int, listener: int) -> None:
        """Pass, hold, or bid. XSkat knows no jumps, so one is bid step by step. A person that listens holds on the way
        up. If the computer passes at a lower step, its answer to the final bid is pass as well."""
        if token in (PASS, HOLD):
            self._screen.say(person, token == HOLD)
            return
        while True:
            value = int(self._screen.box[person])
            self._screen.say(person, True)
            if value >= BIDS[token - FIRST_BID]:
                return
            if listener != self._seat:
                self._screen.say((self._first + listener) % 3, True)
            elif self._screen.calls[-1] == "Pass":
                return
            else:
                self._screen.calls.pop()

    def _go_on(self, person: int, phase: int, token: int) -> None:
        """What a person clicks after the auction, the deal being where ``token`` has brought it from ``phase``."""
        public = self._state["public"]
        if phase == CHOICE:
            self._screen.press(person, "No" if token == PICKUP else "Yes")
        elif phase == DISCARD and public["phase"] == DECLARATION:
            self._screen.discard(person, [card for card in range(NUM_CARDS) if self._state["laid"] >> card & 1])
        elif phase in (DECLARATION, MODIFIER) and public["phase"] == PLAY:
            self._screen.press(person, _BUTTONS[public["game"]])
            if public["modifier"] != PLAIN:
                self._screen.press(person, _MODIFIERS[int(public["modifier"])])
            self._screen.press(person, "Play")
        elif phase == PLAY:
            place = int(public["num_played"]) - 1
            self._screen.click_card(person, token)
            if self._screen.played[place : place + 1] != [token]:
                raise XSkatError(f"xskat did not take card {token}, its cards are {self._screen.played}")

    # ---- what XSkat does

    def ask(self) -> int:
        """The token that XSkat does, whose turn it must be."""
        public = self._state["public"]
        phase = int(public["phase"])
        if phase == AUCTION:
            return self._called()
        if phase == PLAY:
            return self._screen.played[int(public["num_played"])]
        game, by_hand, modifier = self._declared()
        if phase == CHOICE:
            return HAND if by_hand else PICKUP
        if phase == DISCARD:
            if not self._discards:
                self._discards = _discards(self._dealt, self._seat, self._done)
            return self._discards[0 if self._state["laid"] == 0 else 1]
        return FIRST_GAME + game if phase == DECLARATION else FIRST_MODIFIER + modifier

    def _called(self) -> int:
        said = self._screen.calls[0]
        if said in ("Pass", "Yes"):
            return PASS if said == "Pass" else HOLD
        return FIRST_BID + int(np.searchsorted(BIDS, int(said)))

    def _declared(self) -> tuple[int, bool, int]:
        """Game, whether by hand, and modifier, from the texts below the computer's name."""
        caption = " ".join(self._screen.caption)
        played = re.search(r"plays (\w+)", caption)
        if played is None or played[1] not in _BUTTONS:
            raise XSkatError(f"xskat does not say what it plays, only {caption!r}")
        game, words = _BUTTONS.index(played[1]), caption[played.end() :].lower()
        modifier = next((level for level, word in _MODIFIERS.items() if word.lower() in words), PLAIN)
        return game, "hand" in words or (modifier != PLAIN and game != NULL), modifier

    def finish(self) -> str:
        """Play the deal to its end, the two others anything legal, any two cards standing for the discards that XSkat
        does not show; the log of it."""
        state = self._state
        while state["public"]["turn"] >= 0:
            seat, phase = int(state["public"]["turn"]), state["public"]["phase"]
            if phase == DISCARD:
                self.do(int(lowest(legal(state)[1])))
            elif seat == self._seat:
                self.do(self.ask())
            else:
                self.do(int(lowest(legal_plays(state["public"], state["hands"][seat]))))
        return self._screen.log()


def _discards(dealt: np.ndarray, seat: int, done: list[int]) -> list[int]:
    """What XSkat lays aside after the actions ``done``, up to its ``pickup``: the two cards, the lower first."""
    table = XSkatTable(dealt, seat)
    try:
        for token in done:
            table.do(token)
        return discards_of(next(split_log(table.finish())))
    finally:
        table.close()


def deal_file(dealt: np.ndarray) -> str:
    """A deal as XSkat's ``-game`` reads it: the holder of each card in XSkat's order, 3 forehand, 1 the next, 2 the
    dealer, 0 the talon."""
    holders = dict(zip((3, 1, 2), (int(hand) for hand in dealt), strict=True))
    numbers = [next((n for n, hand in holders.items() if hand >> card & 1), 0) for card in CARD_ORDER]
    return "\n".join(" ".join(map(str, numbers[row : row + 8])) for row in range(0, NUM_CARDS, 8)) + "\n"
