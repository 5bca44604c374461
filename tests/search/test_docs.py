"""The page of the players says what the code says."""

from search.docs import NETWORKS, PAGE, networks_page, page
from search.roster.kinds import BUILT_IN


def test_the_committed_page_is_what_the_code_gives() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(BUILT_IN), "run python -m search.docs --write"
    assert NETWORKS.read_text(encoding="utf-8") == networks_page(), "run python -m search.docs --write"


def test_every_kind_and_every_setting_is_on_the_page_with_its_meaning() -> None:
    text = page(BUILT_IN)
    for kind in BUILT_IN:
        assert f"| `{kind.name}` |" in text
    assert "| `temperature` | float | `1.0` | The policy is raised to" in text
    assert "|  |" not in text, "a setting without a docstring"
