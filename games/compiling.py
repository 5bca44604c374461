"""One way to compile kernels, and one directory that keeps what was compiled.

Every kernel is decorated with :func:`kernel`. It compiles through numba on first use and keeps the machine code in
``KIBITZ_CACHE_DIR`` (default ``~/.cache/kibitz``), so that the hundredth actor of a cluster loads it in milliseconds
instead of compiling again.
``NUMBA_DISABLE_JIT=1`` turns the kernels back into the plain Python they are written in, for a debugger.

numba compiles kernels, and the numbers that they import, into the kernels that use them, but looks only at the caller's
own file to tell whether its machine code is still good: after a change of the rules, players would go on with the old
ones. So machine code lies in a directory named after everything it can have been made of.
"""

import ast
import functools
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, overload

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])

_packages: dict[str, frozenset[str]] = {}
"""Module with kernels -> packages that its machine code can have been made of."""


def cache_directory() -> Path:
    """Directory of the compiled kernels: ``$KIBITZ_CACHE_DIR``, else ``~/.cache/kibitz``."""
    return Path(os.environ.get("KIBITZ_CACHE_DIR", "~/.cache/kibitz")).expanduser()


@overload
def kernel(function: _Function) -> _Function: ...


@overload
def kernel(*, fastmath: bool = ..., parallel: bool = ...) -> Callable[[_Function], _Function]: ...


def kernel(function: _Function | None = None, *, fastmath: bool = False, parallel: bool = False) -> Any:
    """Compile a scalar kernel or a batch loop with numba, cached on disk; releases the GIL while it runs.

    ``@kernel(fastmath=True)`` lets sums be reordered, for loops over floats that are to become vector instructions;
    ``@kernel(parallel=True)`` runs its ``numba.prange`` on several threads.

    What a kernel uses of other files is to be imported at the top of its own. Its machine code is made anew after a
    change of what lies in the same package, in ``games``, or in a package that it imports kernels from by name.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, parallel=parallel)
    if "NUMBA_CACHE_DIR" not in os.environ:
        packages = {"games", _package(function.__module__)}
        for value in function.__globals__.values():
            if hasattr(value, "py_func"):
                packages |= _packages.get(value.__module__, frozenset())
        _packages[function.__module__] = frozenset(packages)
        name = fingerprint(function.__module__, Path(function.__code__.co_filename), frozenset(packages))
        numba.config.CACHE_DIR = str(cache_directory() / "numba" / name)  # type: ignore[attr-defined]
    return numba.njit(cache=True, nogil=True, fastmath=fastmath, parallel=parallel)(function)


@functools.cache
def fingerprint(module: str, file: Path, packages: frozenset[str]) -> str:
    """16 hex digits that change with the source of a module in ``file``, and of every module of ``packages`` that it
    imports, itself or through others of them."""
    sources, pending = {module: file.read_bytes() if file.is_file() else b""}, [module]
    while pending:
        importer = pending.pop()
        for name in _imports(importer, sources[importer]):
            found = _file_of(name) if _package(name) in packages and name not in sources else None
            if found is not None:
                sources[name] = found.read_bytes()
                pending.append(name)
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(sources):
        digest.update(f"{name} {len(sources[name])}\n".encode() + sources[name])
    return digest.hexdigest()


def _package(module: str) -> str:
    return module.partition(".")[0]


def _imports(importer: str, source: bytes) -> Iterator[str]:
    """Names in imports at the top of a file, modules or not: ``from games import rng`` gives ``games`` and
    ``games.rng``. Imports inside functions are left out, as they may or may not have happened yet."""
    is_package = hasattr(sys.modules.get(importer), "__path__")
    package = importer if is_package else importer.rpartition(".")[0]
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _file_of(module: str) -> Path | None:
    """The source of a module that has been imported; None for everything else."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return Path(file) if file.endswith(".py") else None
