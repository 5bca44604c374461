"""One way to compile kernels, and one directory that keeps what was compiled.

Every kernel of the package is decorated with :func:`kernel`. It compiles through numba on first use and keeps the
machine code in
``KIBITZ_CACHE_DIR`` (default ``~/.cache/kibitz``), so that the hundredth actor of a cluster loads it in milliseconds
instead of compiling again.
``NUMBA_DISABLE_JIT=1`` turns the kernels back into the plain Python they are written in, for a debugger.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cache_directory() -> Path:
    """Directory of the compiled kernels: ``$KIBITZ_CACHE_DIR``, else ``~/.cache/kibitz``."""
    return Path(os.environ.get("KIBITZ_CACHE_DIR", "~/.cache/kibitz")).expanduser()


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(cache_directory() / "numba")


def kernel(function: _Function) -> _Function:
    """Compile a scalar kernel or a batch loop with numba, cached on disk; releases the GIL while it runs."""
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
