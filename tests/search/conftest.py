"""A browser for the tests of pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.search.browsers import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium. Of a module, as tests with event loops of their own cannot run beside Playwright's."""
    with launched() as found:
        yield found
