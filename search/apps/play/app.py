"""The table on the screen: plays the hands of a session, or steps through one history.

The screen shows the scene after the first ``seen`` tokens of one seat's history. During a hand ``seen`` follows the
history, a card at a time; when it is over, and in a replay, the arrow keys move it.

Slow work (other players, the network) runs on one background thread, one job after the other, so that the screen stays
responsive and no two jobs use an engine at once.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeVar

import numpy as np
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer

from search.apps.pictures.scene import Layout, Pause
from search.apps.play.hand import HAND_WIDTH, KEYS, Hand, Selection, clipped, draw_hand, legal_tokens
from search.apps.play.hints import Hints, Visits
from search.apps.play.panel import draw_expectation, draw_note, draw_scores
from search.apps.play.session import Session
from search.apps.play.widgets import HandView, TablePicture, TableView

T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """Durations of scenes in seconds."""

    card: float = 0.4
    trick: float = 3.0


class Phase(Enum):
    """State of the app: it decides what the person can do."""

    WATCHING = "watching"
    """Others play, or their actions are being shown."""
    CHOOSING = "choosing"
    """The person's turn."""
    LOOKING = "looking"
    """The hand is over, or it is a replay."""


class PlayApp(App[None]):
    """``run`` returns when the person leaves."""

    TITLE = "Kibitz"
    ENABLE_COMMAND_PALETTE = False
    CSS = "Screen { align: center middle; overflow: hidden; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "confirm", "Confirm"),
        Binding("escape", "clear", "Undo"),
        Binding("u,backspace", "take_back", show=False),
        Binding("space", "choose_at_cursor", show=False),
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("up", "climb(-1)", show=False),
        Binding("down", "climb(1)", show=False),
        Binding("home", "move(-1000)", show=False),
        Binding("end", "move(1000)", show=False),
        Binding("h", "hint", "Hint"),
        Binding("g", "search", "GO-MCTS"),
        Binding("n", "next_hand", "Next hand"),
        Binding("q", "leave", "Quit"),
        *(Binding(key, f"choose({place})", show=False) for place, key in enumerate(KEYS)),
    ]

    def __init__(
        self,
        layout: Layout,
        session: Session | None = None,
        tokens: np.ndarray | None = None,
        hints: Hints | str = "there is no network",
        pace: Pace | None = None,
        hand_over: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            session: the hands to play; None to step through ``tokens``.
            tokens: ``[T]``: the history to step through.
            hints: a network's expectations, or the reason why there are none.
            hand_over: called whenever a hand of the session has ended.
        """
        super().__init__()
        self.pictures, self.session, self.hints = layout, session, hints
        self.phase = Phase.LOOKING if session is None else Phase.WATCHING
        self.tokens = np.asarray(tokens) if session is None else session.history
        self.seen = layout.stops(self.tokens)[0]
        self.selection = Selection()
        self.scene = layout.scene(self.tokens[: self.seen])
        self._hinting = False
        self._visits: dict[int, dict[int, Visits]] = {}
        """Results of searches in this hand: ``seen`` -> action -> visits."""
        self._pace, self._hand_over = pace or Pace(), hand_over
        self._resting = self._leaving = False
        self._hurry = asyncio.Event()
        self._thinker = ThreadPoolExecutor(1, "kibitz-thinks")

    def compose(self) -> ComposeResult:
        """The table and the keys."""
        yield TableView()
        yield Footer()

    def on_mount(self) -> None:
        """Begin."""
        self.show()
        if self.session:
            self.go_on()

    def on_unmount(self) -> None:
        """Cancel pending background work."""
        self._thinker.shutdown(wait=False, cancel_futures=True)

    # ---- the screen

    def show(self, note: str = "") -> None:
        """Draw everything, with a ``note`` in the line of text until the next change."""
        self.scene = self.pictures.scene(self.tokens[: self.seen])
        view = self.query_one(TableView)
        view.show(self._title(), self._table(), self._hand(), note or self._prompt())
        if self._hinting and self.phase is not Phase.WATCHING:
            self._expect()
        else:
            view.show_panel(self._scores())
        self.refresh_bindings()

    def _title(self) -> str:
        left, right = f" Kibitz · {self.scene.title}", ""
        if self.phase is Phase.LOOKING:
            stops = self.pictures.stops(self.tokens)
            right = f"step {stops.index(self.seen) + 1} of {len(stops)}"
        elif self.session:
            right = f"hand {len(self.session.points) + 1}"
        return f"{left}{right:>{HAND_WIDTH - 1 - len(left)}}"

    def _prompt(self) -> str:
        if self._resting:
            return "Any key takes the trick away"
        if self.phase is Phase.WATCHING:
            return "The others play"
        if self.phase is Phase.LOOKING:
            return "← and → step through the hand" + (", n deals the next one" if self.session else "")
        chosen, needed = len(self.selection.chosen), self.selection.needed
        if chosen == needed:
            return "Enter confirms, Esc undoes"
        return self.scene.prompt + (f": {chosen} of {needed}" if needed > 1 else "")

    def _table(self) -> Text:
        board, selection = self.scene.board, self.selection
        if board is None or self.phase is not Phase.CHOOSING:
            return self.scene.table
        return board.draw(selection.chosen or [token for token in (selection.at_cursor,) if token is not None])

    def _hand(self) -> Hand:
        choices, cards = self.scene.choices, self.scene.cards
        if self.phase is Phase.CHOOSING:
            return draw_hand(choices, cards, self.selection.chosen, self.selection.at_cursor)
        done = self.tokens[self.seen : self.seen + self.scene.needed].tolist() if self.phase is Phase.LOOKING else []
        return draw_hand(choices, cards, done, cursor=None, keys="")

    def _scores(self) -> Text:
        finished = self.session.points if self.session else None
        return draw_scores(self.pictures.names, self.scene.points, finished, self.scene.remarks)

    # ---- a hand goes on

    @work(exclusive=True, group="table")
    async def go_on(self) -> None:
        """Show new actions and let the others play, until it is the person's turn or the hand is over."""
        session = self.session
        assert session is not None
        self.phase, self.selection = Phase.WATCHING, Selection()
        while True:
            others = not (session.over or session.my_turn)
            thinking = self._think(session.let_play) if others else None
            await self._catch_up(rest_at_end=others)
            if thinking is None:
                break
            await thinking
            self.tokens = session.history
        if session.over:
            self.phase = Phase.LOOKING
            self._hand_over()
        else:
            self.phase, self.selection = Phase.CHOOSING, Selection(self.scene.choices, self.scene.needed)
        self.show()

    async def _catch_up(self, rest_at_end: bool) -> None:
        """Show new actions, a scene at a time."""
        stops = [stop for stop in self.pictures.stops(self.tokens) if stop > self.seen]
        for stop in stops:
            self.seen = stop
            self.show()
            if stop < stops[-1] or rest_at_end:
                await self._rest(self.scene.pause)

    async def _rest(self, pause: Pause) -> None:
        """Hold the scene for a while; on a complete trick a key ends the pause."""
        if pause is Pause.CARD:
            await asyncio.sleep(self._pace.card)
        elif pause is Pause.TRICK and self._pace.trick > 0:
            self._hurry.clear()
            self._resting = True
            self.show()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), self._pace.trick)
            self._resting = False

    def _think(self, job: Callable[[], T]) -> "asyncio.Future[T]":
        """Run a job on the background thread."""
        return asyncio.get_running_loop().run_in_executor(self._thinker, job)

    # ---- what the network expects

    @work(exclusive=True, group="expect")
    async def _expect(self) -> None:
        """Fill the panel with the network's expectations after the shown history and the chosen actions."""
        view, hints, seen, chosen = self.query_one(TableView), self.hints, self.seen, list(self.selection.chosen)
        if isinstance(hints, str):
            view.show_panel(draw_note(f"No hints: {hints}"))
            return
        tokens = np.append(self.tokens[:seen], self._decided()).astype(self.tokens.dtype)
        expected = await self._think(lambda: hints.expect(tokens))
        visits = {} if chosen else self._visits.get(seen, {})
        behind = " ".join(map(self.pictures.token, chosen))
        unit = self.pictures.points_per_utility
        view.show_panel(draw_expectation(expected, visits, self.pictures.token, unit, behind))

    @work(exclusive=True, group="search")
    async def _search(self) -> None:
        """Search the shown decision, for the panel."""
        hints, hand, seen = self.hints, self._visits, self.seen
        if isinstance(hints, str):
            return
        tokens = self.tokens[:seen]
        hand[seen] = await self._think(lambda: hints.search(tokens))
        self.show()

    # ---- keys and clicks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is possible now, for the line of keys."""
        if action in ("confirm", "clear", "take_back", "choose_at_cursor"):
            return self.phase is Phase.CHOOSING
        if action == "next_hand":
            return self.phase is Phase.LOOKING and self.session is not None
        return True

    def on_key(self) -> None:
        """End the pause on a complete trick."""
        self._hurry.set()

    def on_click(self) -> None:
        """End the pause on a complete trick."""
        self._hurry.set()

    def on_hand_view_clicked(self, message: HandView.Clicked) -> None:
        """Choose the clicked card, or put it back."""
        self._toggle(message.token)

    def on_table_picture_clicked(self, message: TablePicture.Clicked) -> None:
        """Choose what is clicked on a board, or put it back."""
        if self.scene.board:
            self._toggle(self.scene.board.at(message.x, message.y))

    def action_choose(self, place: int) -> None:
        """Choose by key, or put back."""
        if place < len(self.selection.legal):
            self._toggle(self.selection.legal[place])

    def action_choose_at_cursor(self) -> None:
        """Choose the item at the cursor, or put it back."""
        self._toggle(self.selection.at_cursor)

    def _toggle(self, token: int | None) -> None:
        if self.phase is Phase.CHOOSING and token is not None:
            full = not self.selection.toggle(token)
            self.show(f"{self.selection.needed} are chosen; u takes the last one back, Esc all of them" if full else "")

    def action_clear(self) -> None:
        """Put all chosen items back."""
        self.selection.chosen.clear()
        self.show()

    def action_take_back(self) -> None:
        """Put the last chosen item back."""
        del self.selection.chosen[-1:]
        self.show()

    def action_move(self, step: int) -> None:
        """Move the cursor over the choices, on a board to the left and right; step through a finished hand."""
        if self.phase is Phase.CHOOSING and self.scene.board and abs(step) == 1:
            self._steer(step, 0)
        elif self.phase is Phase.CHOOSING:
            self.selection.move(step)
        elif self.phase is Phase.LOOKING:
            stops = self.pictures.stops(self.tokens)
            self.seen = stops[clipped(stops.index(self.seen) + step, len(stops))]
        self.show()

    def action_climb(self, step: int) -> None:
        """Move the cursor up and down a board."""
        if self.phase is Phase.CHOOSING and self.scene.board:
            self._steer(0, step)
            self.show()

    def _steer(self, right: int, down: int) -> None:
        """Move the cursor to the nearest choice in a direction."""
        if self.scene.board and self.selection.at_cursor is not None:
            self.selection.chosen.clear()
            self.selection.stand_at(self.scene.board.beside(self.selection.at_cursor, right, down))

    def action_confirm(self) -> None:
        """Play the chosen actions."""
        assert self.session is not None
        if self.selection.missing:
            self.show(f"Choose {self.selection.missing} more: by key, with the arrows and space, or with the mouse")
            return
        for token in self._decided():
            self.session.act(token)
        self.tokens = self.session.history
        self.phase = Phase.WATCHING
        self.go_on()

    def _decided(self) -> list[int]:
        """The chosen tokens, in the order of play."""
        chosen = self.selection.chosen
        return list(chosen) if self.scene.ordered else sorted(chosen)

    def action_hint(self) -> None:
        """Toggle the panel between the network's expectations and the points."""
        self._hinting = not self._hinting
        self.show()

    def action_search(self) -> None:
        """Search the shown decision with GO-MCTS."""
        if self.phase is Phase.WATCHING:
            return
        self._hinting = True
        searchable = not isinstance(self.hints, str) and len(legal_tokens(self.scene.choices)) > 1
        self.show("GO-MCTS searches" if searchable else "There is no choice to search")
        if searchable:
            self._search()

    def action_next_hand(self) -> None:
        """Deal the next hand."""
        assert self.session is not None
        self.session.deal()
        self.tokens, self._visits, self.phase = self.session.history, {}, Phase.WATCHING
        self.seen = self.pictures.stops(self.tokens)[0]
        self.show()
        self.go_on()

    def action_leave(self) -> None:
        """Leave; in the middle of a hand only at the second request."""
        if self.phase is Phase.LOOKING or self._leaving:
            self.exit()
        else:
            self._leaving = True
            self.set_timer(3.0, self._stay)
            self.show("This hand will be lost: q again leaves")

    def _stay(self) -> None:
        self._leaving = False
        self.show()
