"""Which code made something."""

import subprocess
from pathlib import Path

from cluster.provenance import provenance


def git(root: Path, *arguments: str) -> str:
    own = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", root, *own, *arguments], check=True, capture_output=True, text=True).stdout


def checkout(root: Path) -> str:
    """A checkout with one commit; its revision."""
    root.mkdir()
    git(root, "init", "-q")
    (root / "code.py").write_text("one\n")
    git(root, "add", "code.py")
    git(root, "commit", "-qm", "first")
    return git(root, "rev-parse", "HEAD").strip()


def test_a_checkout_is_named_by_its_revision_and_what_was_changed_since(tmp_path: Path) -> None:
    revision = checkout(tmp_path / "repo")
    assert provenance(tmp_path / "repo").revision == revision and provenance(tmp_path / "repo").diff == ""
    (tmp_path / "repo/code.py").write_text("two\n")
    (tmp_path / "repo/new.py").touch()
    code = provenance(tmp_path / "repo")
    assert "-one" in code.diff and "+two" in code.diff and code.untracked == ("new.py",)


def test_outside_a_checkout_there_is_the_version_alone(tmp_path: Path) -> None:
    checkout(tmp_path / "repo")
    (tmp_path / "repo/site-packages").mkdir()
    for root in (tmp_path, tmp_path / "repo/site-packages", tmp_path / "nowhere"):
        code = provenance(root, package="numpy")
        assert code.version and (code.revision, code.diff, code.untracked) == ("", "", ())


def test_a_machine_without_git_fails_nothing(tmp_path: Path, monkeypatch) -> None:
    checkout(tmp_path / "repo")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance(tmp_path / "repo", package="no-such-package").version == ""
    assert provenance(tmp_path / "repo").revision == ""
