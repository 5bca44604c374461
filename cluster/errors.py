"""The error that is the user's to mend."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(ValueError):
    """Bad input: commands print its one line on stderr and end with exit code 2, without a traceback.

    The message names the file, key or value and says what to do.
    """


class PeerLostError(RuntimeError):
    """Another of those that work together has ended, or does not answer any more."""


@contextmanager
def blaming_input() -> Iterator[None]:
    """Turn ``ValueError`` and ``OSError`` raised inside into ``UserError``; wrap only the reading of users' input."""
    try:
        yield
    except UserError:
        raise
    except (ValueError, OSError) as error:
        raise UserError(str(error)) from error
