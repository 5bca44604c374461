"""The pages of docs/: their links lead somewhere, and nothing is left open."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CARDS = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "learner/networks").glob("*/README.md"))]


def anchors(page: Path) -> set[str]:
    """What a link may name behind ``#``: the headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *CARDS], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading_that_exist_and_no_gap_is_left(page: Path) -> None:
    assert not re.findall(r"TODO|@[A-Z]+@", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), f"{page.name} links to {target}, which does not exist"
        assert not anchor or anchor in anchors(linked), f"{page.name} links to {target}; there is no such heading"


@pytest.mark.slow
def test_the_site_has_every_page_and_is_built_without_a_warning_and_from_nothing_else(tmp_path: Path) -> None:
    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    listed = re.findall(r'"([\w/-]+\.md)"', config)
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:])
    config = config.replace('paths = ["."]', f'paths = ["{ROOT}"]').replace('"build/site"', f'"{tmp_path / "site"}"')
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "zensical.toml").write_text(config, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "-f", "zensical.toml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        fetched = re.findall(r'(?:src|href)="(https?://[^"]+)"', page.read_text(encoding="utf-8"))
        assert not [link for link in fetched if "fonts" in link or link.endswith((".js", ".css"))], page
    assert "determinize" in (tmp_path / "site" / "api" / "games" / "index.html").read_text(encoding="utf-8")
