"""A release: ``make release VERSION=0.2.0``, or ``python -m tests.release 0.2.0``.

Sets the version in ``pyproject.toml``, ``CITATION.cff`` and the changelog, whose unreleased entries become the
version's (images below ``cluster/`` are changed by hand, a test names them); builds sdist and wheel into ``dist/``;
installs the wheel in a fresh environment and plays with it there. What fails leaves the files as they were. Commit and
tag are yours.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "CITATION.cff", "CHANGELOG.md")
UNRELEASED = "## [Unreleased]\n"


class ReleaseError(Exception):
    """What is wrong, in a line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; 2 after one line on what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("version", help="such as 0.2.0, above the present one")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    given = parser.parse_args(arguments)
    try:
        made = release(given.version, given.root)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join([*(f"built: {path}" for path in made),
                     f"now: git commit -am 'Release {given.version}' && git tag v{given.version}"]))  # fmt: skip
    return 0


def release(version: str, root: Path) -> list[Path]:
    """The sdist and the wheel. ``ReleaseError`` where anything is in the way; then nothing has changed."""
    before = {name: (root / name).read_text(encoding="utf-8") for name in FILES}
    if changed := _checked(["git", "status", "--porcelain"], root):
        raise ReleaseError(f"{changed.splitlines()[0][3:]}: is not committed; commit or remove it")
    after = edited(before, version, f"{datetime.now(UTC):%Y-%m-%d}")
    try:
        for name, text in after.items():
            (root / name).write_text(text, encoding="utf-8")
        made = build(root)
        try_out(made[1], version)
    except BaseException:
        for name, text in before.items():
            (root / name).write_text(text, encoding="utf-8")
        raise
    return made


def edited(before: dict[str, str], version: str, day: str) -> dict[str, str]:
    """The files with the new version."""
    (present,) = re.findall(r'^version = "(.*)"$', before["pyproject.toml"], re.MULTILINE)
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ReleaseError(f"version {version}: must be three numbers, such as 0.2.0")
    if [*map(int, version.split("."))] <= [*map(int, present.split("."))]:
        raise ReleaseError(f"version {version}: must be above {present}, the present one")
    head, _, rest = before["CHANGELOG.md"].partition(UNRELEASED)
    entries, _, _ = rest.partition("\n## [")
    if not entries.strip():
        raise ReleaseError("CHANGELOG.md: has no entries under [Unreleased]; say what has changed")
    return {
        "pyproject.toml": before["pyproject.toml"].replace(f'version = "{present}"', f'version = "{version}"', 1),
        "CITATION.cff": before["CITATION.cff"].replace(f"version: {present}\n", f"version: {version}\n", 1),
        "CHANGELOG.md": f"{head}{UNRELEASED}\n## [{version}] - {day}\n{rest}",
    }


def build(root: Path) -> list[Path]:
    """Sdist and wheel in ``dist/``."""
    out = root / "dist"
    out.mkdir(exist_ok=True)
    code = "import sys; from setuptools.build_meta import build_sdist; print('made', build_sdist(sys.argv[1]))"
    told = _checked([sys.executable, "-c", code, str(out)], root)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    _checked([*pip, "-w", str(out), str(root)], root)
    (sdist,) = re.findall(r"^made (.*)$", told, re.MULTILINE)
    return [out / sdist, out / sdist.replace(".tar.gz", "-py3-none-any.whl")]


def try_out(wheel: Path, version: str) -> None:
    """Install the wheel in a fresh environment, where only its dependencies come from here, and play two deals."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        _checked([sys.executable, "-m", "venv", "--without-pip", str(root / "fresh")], root)
        (packages,) = root.glob("fresh/lib/python*/site-packages")
        (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        python = str(root / "fresh" / "bin" / "python")
        install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q"]
        _checked([*install, str(wheel)], root)
        kibitz = str(root / "fresh" / "bin" / "kibitz")
        told = _checked([kibitz, "--version"], root)
        if told.split()[:2] != ["kibitz", version]:
            raise ReleaseError(f"{wheel}: installed, it says {told.strip()!r}")
        _checked([kibitz, "tournament", "game=hearts", "players=[hearts_rules,random]", "deals=2"], root)


def _checked(command: Sequence[str], cwd: Path) -> str:
    """What a command prints; ``ReleaseError`` with the last line of its errors where it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise ReleaseError(f"{' '.join(command[:4])}: {last}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
