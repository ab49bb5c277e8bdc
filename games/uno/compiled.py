"""Compilation of the engine, cached on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

config: Any = numba.config
njit: Any = numba.njit  # its type leaves out options that it takes

HERE = Path(__file__).parent
STAMP = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(HERE.rglob("*.py"))))


def compiled(function: F) -> F:
    """Compiles a function that makes no array.

    Without arrays of its own it need not count references to those it is given, which in
    functions as small as these takes a third of the time.
    """
    return cached(function, _nrt=False)


def inlined(function: F) -> F:
    """As `compiled`, and copied into its callers: a call would cost more than it does."""
    return cached(function, _nrt=False, forceinline=True)


def allocating(function: F) -> F:
    """Compiles a function that makes arrays."""
    return cached(function)


def cached(function: F, **options: bool) -> F:
    """`function` compiled on first use; the result is kept for later processes.

    Numba renews a cached function when its own file changes, not when a function that it calls
    from another file does. So the cache lies in a folder named after the text of this package.
    """
    own = config.CACHE_DIR
    config.CACHE_DIR = str(Path(own or HERE / "__pycache__") / f"uno-{STAMP.hexdigest()[:12]}")
    try:
        compiling = njit(cache=True, nogil=True, error_model="numpy", **options)
        return cast(F, compiling(function))
    finally:
        config.CACHE_DIR = own
