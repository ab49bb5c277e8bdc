"""Compilation of a game's engine, cached on disk: one `Compiler` a package.

UNO and hold'em have these lines of their own (`games.uno.compiled` says what options do): to move
them would change the code of their cells, and every folder with their matches would ask for
`accept_code`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import cast

from games.uno import chance
from games.uno.compiled import F, config, njit


class Compiler:
    """Compiles the functions of one package; the results are kept for later processes.

    Numba renews a cached function when its own file changes, not when a function that it calls
    from another file does. So the cache lies in a folder named after the text of the package, and
    of the random numbers that it takes.
    """

    def __init__(self, folder: Path) -> None:
        files = (*sorted(folder.glob("*.py")), Path(chance.__file__))
        stamp = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
        self._folder = folder / "__pycache__"
        self._name = f"{folder.name}-{stamp[:12]}"

    def compiled(self, function: F) -> F:
        """Compiles a function that makes no array, and so need not count references."""
        return self._cached(function, _nrt=False)

    def inlined(self, function: F) -> F:
        """As `compiled`, and copied into its callers: a call would cost more than it does."""
        return self._cached(function, _nrt=False, forceinline=True)

    def allocating(self, function: F) -> F:
        """Compiles a function that makes arrays."""
        return self._cached(function)

    def _cached(self, function: F, **options: bool) -> F:
        own = config.CACHE_DIR
        config.CACHE_DIR = str(Path(own or self._folder) / self._name)
        try:
            compiling = njit(cache=True, nogil=True, error_model="numpy", **options)
            return cast(F, compiling(function))
        finally:
            config.CACHE_DIR = own
