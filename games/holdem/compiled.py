"""Compilation of the engine, cached on disk: as `games.uno.compiled`, with a stamp of its own.

The same lines stand there and have no home in common: to move them would change the code of UNO's
cells, and every folder with matches of UNO would ask for `accept_code`
(pipeline/plan/fingerprint.py).
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import cast

from games.uno import chance
from games.uno.compiled import F, config, njit

HERE = Path(__file__).parent
FILES = (*sorted(HERE.glob("*.py")), Path(chance.__file__))
STAMP = hashlib.sha256(b"".join(file.read_bytes() for file in FILES))
"""Of all files whose functions are copied into each other: a change in one renews all."""


def compiled(function: F) -> F:
    """Compiles a function that makes no array, and so need not count references."""
    return cached(function, _nrt=False)


def inlined(function: F) -> F:
    """As `compiled`, and copied into its callers: a call would cost more than it does."""
    return cached(function, _nrt=False, forceinline=True)


def allocating(function: F) -> F:
    """Compiles a function that makes arrays."""
    return cached(function)


def cached(function: F, **options: bool) -> F:
    """`function` compiled on first use; the result is kept for later processes."""
    own = config.CACHE_DIR
    config.CACHE_DIR = str(Path(own or HERE / "__pycache__") / f"holdem-{STAMP.hexdigest()[:12]}")
    try:
        compiling = njit(cache=True, nogil=True, error_model="numpy", **options)
        return cast(F, compiling(function))
    finally:
        config.CACHE_DIR = own
