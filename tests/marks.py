"""Marks of parameters."""

from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Large forms of a contract, which ``make test-all`` runs: values of a parameter, or tuples of several."""
    rows = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*row, marks=pytest.mark.slow) for row in rows]
