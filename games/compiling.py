"""One way to compile kernels, and one directory that keeps what was compiled.

Every kernel of the package is decorated with :func:`kernel`. It compiles through numba on first use and keeps the
machine code in ``KIBITZ_CACHE_DIR`` (default ``~/.cache/kibitz``), so that the hundredth actor of a cluster loads it in
milliseconds instead of compiling again.
``NUMBA_DISABLE_JIT=1`` turns the kernels back into the plain Python they are written in, for a debugger.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cache_directory() -> Path:
    """Directory of the compiled kernels: ``$KIBITZ_CACHE_DIR``, else ``~/.cache/kibitz``."""
    return Path(os.environ.get("KIBITZ_CACHE_DIR", "~/.cache/kibitz")).expanduser()


def sources_fingerprint(root: Path = Path(__file__).parents[1]) -> str:
    """16 hex digits that change with any source of the games below ``root``, or any file of ours above them that holds
    kernels or tells numba how to build what they call.

    numba compiles kernels into the kernels that call them, but looks only at the caller's own file to tell whether its
    machine code is still good: after a change of the rules, players would go on with the old ones.
    """
    sources = [file.read_bytes() for file in sorted((root / "games").rglob("*.py"))]
    above = (file.read_bytes() for floor in ("learner", "search") for file in sorted((root / floor).rglob("*.py")))
    sources += [source for source in above if b"@kernel" in source or b"lower_builtin" in source]
    return hashlib.blake2b(b"".join(sources), digest_size=8).hexdigest()


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(cache_directory() / "numba" / sources_fingerprint())  # type: ignore[attr-defined]


@overload
def kernel(function: _Function) -> _Function: ...


@overload
def kernel(*, fastmath: bool = ..., parallel: bool = ...) -> Callable[[_Function], _Function]: ...


def kernel(function: _Function | None = None, *, fastmath: bool = False, parallel: bool = False) -> Any:
    """Compile a scalar kernel or a batch loop with numba, cached on disk; releases the GIL while it runs.

    ``@kernel(fastmath=True)`` lets sums be reordered, for loops over floats that are to become vector instructions;
    ``@kernel(parallel=True)`` runs its ``numba.prange`` on several threads (see ``learner.inference.cpu.threads``).
    """
    compiled = numba.njit(cache=True, nogil=True, fastmath=fastmath, parallel=parallel)
    return compiled if function is None else compiled(function)
