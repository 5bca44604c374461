"""The parts of the screen, 80 x 24 in all: title, table and panel, hand, a line of text, keys."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from search.apps.pictures.scene import TABLE_HEIGHT, TABLE_WIDTH
from search.apps.play.hand import HAND_HEIGHT, HAND_WIDTH, Hand
from search.apps.play.panel import PANEL_WIDTH


class HandView(Static):
    """The choices; a click on a legal one is a message."""

    class Clicked(Message):
        """A click on a legal choice."""

        def __init__(self, token: int) -> None:
            super().__init__()
            self.token = token

    hand = Hand(Text(), ())
    """The hand on the screen."""

    def show(self, hand: Hand) -> None:
        """Show these choices."""
        self.hand = hand
        self.update(hand.text)

    def on_click(self, event: Click) -> None:
        """Post a message with the clicked choice."""
        token = self.hand.at(event.x, event.y)
        if token is not None:
            self.post_message(self.Clicked(token))


class TablePicture(Static):
    """The table; a click on it is a message."""

    class Clicked(Message):
        """A click at a column and a line of the table."""

        def __init__(self, x: int, y: int) -> None:
            super().__init__()
            self.x, self.y = x, y

    def on_click(self, event: Click) -> None:
        """Post a message with the place."""
        self.post_message(self.Clicked(event.x, event.y))


class TableView(Vertical):
    """Everything but the keys."""

    DEFAULT_CSS = f"""
    TableView {{ width: {HAND_WIDTH}; height: {TABLE_HEIGHT + HAND_HEIGHT + 2}; }}
    #title, #prompt {{ width: {HAND_WIDTH}; height: 1; text-style: bold; }}
    #title {{ background: #1e3a5f; color: #f4f1e8; }}
    #middle {{ width: {HAND_WIDTH}; height: {TABLE_HEIGHT}; }}
    #table {{ width: {TABLE_WIDTH}; height: {TABLE_HEIGHT}; background: #14532d; color: #f4f1e8; }}
    #panel {{ width: {PANEL_WIDTH}; height: {TABLE_HEIGHT}; }}
    HandView {{ width: {HAND_WIDTH}; height: {HAND_HEIGHT}; }}
    """

    def compose(self) -> ComposeResult:
        """See the module."""
        yield Static(id="title", markup=False)
        with Horizontal(id="middle"):
            yield TablePicture(id="table", markup=False)
            yield Static(id="panel", markup=False)
        yield HandView(markup=False)
        yield Static(id="prompt", markup=False)

    def show(self, title: str, table: Text, hand: Hand, prompt: str) -> None:
        """Show all but the panel."""
        self.query_one("#title", Static).update(title)
        self.query_one("#table", Static).update(table)
        self.query_one(HandView).show(hand)
        self.query_one("#prompt", Static).update(f" {prompt}")

    def show_panel(self, panel: Text) -> None:
        """Show this beside the table."""
        self.query_one("#panel", Static).update(panel)
