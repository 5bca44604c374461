"""What tests of searches and of measurements share."""

from rich.console import Console, RenderableType


def printed(shown: RenderableType, width: int = 120) -> str:
    """What a table or text looks like in a terminal so wide."""
    console = Console(width=width)
    with console.capture() as output:
        console.print(shown)
    return output.get()
