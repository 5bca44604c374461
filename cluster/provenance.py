"""Which code made something: the installed version and, in a git checkout, the revision and the changes since."""

import importlib.metadata
import subprocess
from dataclasses import dataclass
from pathlib import Path

_GIT_SECONDS = 10.0


@dataclass(frozen=True)
class Provenance:
    """The code that runs; unknown texts are empty."""

    version: str
    """Version of the installed package."""
    revision: str
    """Commit of the git checkout that holds the code, 40 hex digits."""
    diff: str
    """Output of ``git diff``: changes of tracked files since that revision."""
    untracked: tuple[str, ...]
    """Files of the checkout that git neither tracks nor ignores."""


def installed_version(package: str = "kibitz") -> str:
    """The version of an installed package, without loading it; empty where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def provenance(root: str | Path = Path(__file__).parents[1], package: str = "kibitz") -> Provenance:
    """The provenance of the code in ``root``. Never fails: fields that git does not report stay empty."""
    version = installed_version(package)
    top = _git(root, "rev-parse", "--show-toplevel").strip()
    if not top or Path(top).resolve() != Path(root).resolve():  # installed, perhaps below another project's checkout
        return Provenance(version, "", "", ())
    untracked = _git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    diff = _git(root, "diff", "--no-ext-diff", "--no-color", "HEAD")
    return Provenance(version, _git(root, "rev-parse", "HEAD").strip(), diff, tuple(untracked))


def _git(root: str | Path, *arguments: str) -> str:
    """Output of a git command; empty if it fails or git is missing."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""
