"""A release of a copy of the checkout, and what is in its way."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.test_wheel import PACKAGES, ROOT, version
from tests.release import FILES, ReleaseError, edited, main


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what is released, committed."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*FILES, "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    changes = tmp_path / "CHANGELOG.md"  # a release of just now leaves no entries
    changes.write_text(changes.read_text().replace("## [Unreleased]\n", "## [Unreleased]\n- Something.\n", 1))
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *command], cwd=tmp_path, check=True)
    return tmp_path


def texts(checkout: Path) -> dict[str, str]:
    return {name: (checkout / name).read_text(encoding="utf-8") for name in FILES}


@pytest.mark.slow
def test_a_release_changes_the_version_builds_both_and_plays_from_the_wheel(checkout, capsys) -> None:
    assert main(["9.8.7", "--root", str(checkout)]) == 0
    assert {path.name for path in (checkout / "dist").iterdir()} == {
        "kibitz-9.8.7.tar.gz",
        "kibitz-9.8.7-py3-none-any.whl",
    }
    assert "git tag v9.8.7" in capsys.readouterr().out
    now = texts(checkout)
    assert 'version = "9.8.7"' in now["pyproject.toml"] and "version: 9.8.7" in now["CITATION.cff"]
    assert "## [Unreleased]\n\n## [9.8.7] - 20" in now["CHANGELOG.md"]
    assert main(["9.8.8", "--root", str(checkout)]) == 2
    assert "is not committed" in capsys.readouterr().err


@pytest.mark.slow
def test_what_cannot_be_built_leaves_everything_as_it_was(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(checkout / "cluster")
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-qam", "broken"], cwd=checkout, check=True
    )
    before = texts(checkout)
    assert main(["9.8.7", "--root", str(checkout)]) == 2
    assert texts(checkout) == before and len(capsys.readouterr().err.splitlines()) == 1


def test_images_have_the_version_of_the_checkout() -> None:
    for file in ("Dockerfile", "launcher/aws.yaml", "kuberay/rayjob.yaml"):
        assert set(re.findall(r"kibitz:([\d.]+)", (ROOT / "cluster" / file).read_text())) == {version()}, file


@pytest.mark.parametrize(
    ("number", "said"),
    [("0.0.1", "must be above"), ("1.0", "must be three numbers"), ("v1.0.0", "must be three numbers")],
)
def test_versions_that_cannot_be(number: str, said: str) -> None:
    with pytest.raises(ReleaseError, match=said):
        edited(texts(ROOT), number, "2026-01-01")


def test_without_entries_there_is_nothing_to_release() -> None:
    before = texts(ROOT) | {"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n- x\n"}
    with pytest.raises(ReleaseError, match="has no entries under"):
        edited(before, "9.8.7", "2026-01-01")
