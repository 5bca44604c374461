"""One way to compile kernels, and one directory that keeps what was compiled.

Every kernel is decorated with :func:`kernel`. It compiles through numba on first use and keeps the machine code in
``KIBITZ_CACHE_DIR`` (default ``~/.cache/kibitz``; ``cluster.files.cache``), so that the hundredth actor of a cluster
loads it in milliseconds instead of compiling again.
``NUMBA_DISABLE_JIT=1`` turns the kernels back into the plain Python they are written in, for a debugger;
``NUMBA_BOUNDSCHECK=1`` compiles them so that an index out of bounds raises, and keeps that apart.

numba compiles kernels, and the numbers that they import, into the kernels that use them, but looks only at the caller's
own file to see whether its machine code is still good: after a change of the rules, players would go on with the old
ones. So machine code lies in a directory named after everything it was made of, wherever that stands: another clone
and a job, which has a copy of the code, find it there too.
"""

import functools
import hashlib
import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import event
from numba.core.caching import FunctionCache, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher

from cluster.files.cache import cache_directory

_SAY_SECONDS = 2.0
"""After this time a compilation is reported to the user."""

_fingerprints: dict[Any, str] = {}
"""Kernel -> digest of its sources."""


class Compiling(event.Listener):  # type: ignore[misc]
    """How long this process has compiled kernels that were not in the directory; it says so once on standard error."""

    def __init__(self) -> None:
        self._began, self._depth, self._said = 0.0, 0, False
        self._ended_seconds = 0.0

    @property
    def seconds(self) -> float:
        """How long this process has compiled so far."""
        return self._ended_seconds + (time.monotonic() - self._began if self._depth else 0.0)

    @property
    def under_way(self) -> bool:
        """Whether it compiles now, and has done so for some time."""
        return self._depth > 0 and self.seconds >= _SAY_SECONDS

    def on_start(self, event: event.Event) -> None:
        """A kernel was not in the directory; one may need others."""
        self._depth += 1
        if self._depth == 1:
            self._began = time.monotonic()
        if self.seconds >= _SAY_SECONDS and not self._said:
            self._said = True
            print(f"compiling kernels (once; kept in {cache_directory()})", file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        """A kernel has been compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._ended_seconds += time.monotonic() - self._began


compiling = Compiling()
event.register("numba:compile", compiling)


class ByContent(UserProvidedCacheLocator):  # type: ignore[misc]
    """Makes numba use only ``numba.config.CACHE_DIR``, whose name holds the digest of a kernel's sources, wherever the
    source file is."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Name below the directory."""
        return Path(py_file).parent.name


class _ByDirectory(FunctionCache):  # type: ignore[misc]
    """Index key without a closure's variables, which the names of directory and file already identify. numba would
    pickle them, and a kernel's pickle differs between processes, so each would compile a loop over a kernel again."""

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (sig, codegen.magic_tuple())


def _mangled_by_content(record: numba.types.Record) -> tuple[str, tuple[int]]:
    """What the symbols of machine code say of a record type: a digest of its fields. numba numbers types as a process
    meets them, so kernels for boards of two sizes, compiled by two processes, could have the same symbol: in a third
    process that loads both, one would run in place of the other."""
    digest = hashlib.blake2b(record.name.encode(), digest_size=6).digest()
    return type(record).__name__, (int.from_bytes(digest, "little"),)


numba.types.Record.mangling_args = property(_mangled_by_content)  # type: ignore


def kernel(
    function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False, parallel: bool = False
) -> Any:
    """Compile a scalar kernel or a batch loop with numba, cached on disk; releases the GIL while it runs.

    ``@kernel(fastmath=True)`` lets sums be reordered, for loops over floats that are to become vector instructions;
    ``@kernel(fastmath={"contract"})`` only lets ``a + b * c`` be rounded once; ``@kernel(parallel=True)`` runs its
    ``numba.prange`` on several threads.

    What a kernel uses of other files is to be imported by name at the top of its own. A closure may hold kernels,
    numbers and arrays (``TypeError`` for anything else), which must not change afterwards.
    """
    if function is None:
        return functools.partial(kernel, fastmath=fastmath, parallel=parallel)
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    fingerprint = _fingerprint(function)
    if function.__closure__:  # two of one name, loaded together, would be one symbol of the machine code
        function.__qualname__ = f"{function.__name__}_{fingerprint}"
    locators = numba.config.CACHE_LOCATOR_CLASSES  # type: ignore[attr-defined]
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = str(cache_directory() / "numba" / fingerprint)  # type: ignore[attr-defined]
        numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{ByContent.__name__}"  # type: ignore[attr-defined]
    # Sums that may be reordered are compiled into each caller. As a function of its own such a kernel would have one
    # copy in every file of machine code that uses it, each optimised with its caller, and a process runs the copy that
    # it meets first: answers would differ in the last bit between a process that compiles and one that loads.
    compiled = numba.njit(
        # numba cannot call a generator that it has loaded; its code lies with that of each kernel that goes through it.
        cache=not inspect.isgeneratorfunction(function),
        nogil=True,
        fastmath=fastmath,
        parallel=parallel,
        forceinline=bool(fastmath),
    )(function)
    if function.__closure__:
        compiled._cache = _ByDirectory(function)  # type: ignore[attr-defined]
    numba.config.CACHE_LOCATOR_CLASSES = locators  # type: ignore[attr-defined]  # others find theirs as ever
    _fingerprints[compiled] = fingerprint
    return compiled


def _fingerprint(function: Callable[..., Any]) -> str:
    """16 hex digits that change with ``NUMBA_BOUNDSCHECK``, the file a kernel stands in and what that file has
    imported so far: kernels with all that they were made of, the files of classes and modules, numbers and tuples of
    them; and with what the kernel holds as a closure."""
    code = function.__code__
    digest = hashlib.blake2b(_source(__name__) + _source(function.__module__), digest_size=8)
    looks_at_indices = numba.config.BOUNDSCHECK  # type: ignore[attr-defined]
    digest.update(f"{function.__qualname__} {code.co_firstlineno} {looks_at_indices}".encode())
    for name, value in sorted(function.__globals__.items()):
        digest.update(f"{name} {known}".encode() if (known := _part(value)) else b"")
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if (known := _part(cell.cell_contents)) is None:
            raise TypeError(
                f"kernel {function.__qualname__} holds {name}={cell.cell_contents!r}: give it a kernel of "
                "games.compiling, a number or an array"
            )
        digest.update(f"{name} {known}".encode())
    return digest.hexdigest()


def _part(value: Any) -> str | None:
    """What a value that a kernel uses adds to its fingerprint; None for what kernels do not use."""
    if isinstance(value, Dispatcher):
        return _fingerprints.get(value)
    if isinstance(value, type | ModuleType):
        return hashlib.blake2b(_source(getattr(value, "__module__", value.__name__))).hexdigest()
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    if isinstance(value, int | float | np.generic | np.dtype) or _is_of_numbers(value):
        return f"{value}"
    return None


def _is_of_numbers(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, int | float | np.generic) for item in value)


@functools.cache
def _source(module: str) -> bytes:
    """The file of a module in Python."""
    file = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    return file.read_bytes() if file.suffix == ".py" else b""
