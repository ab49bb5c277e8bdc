"""Networks whose layers stay in their files: the same bits, and never more than two in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from models.base import Generate, Prompt, Score
from models.checkpoint import Checkpoint
from models.engine.flat import Flat
from models.engine.general import General
from models.engine.portable import Portable
from models.engine.streamed import Stream, stream_of

MakeCheckpoint = Callable[..., Path]

FAMILIES: dict[str, tuple[type, dict[str, Any]]] = {
    "llama": (Flat, {"num_hidden_layers": 5, "tie_word_embeddings": True}),
    "gemma2": (General, {"sliding_window": 40, "query_pre_attn_scalar": 16}),
    "gpt_oss": (General, {"num_local_experts": 4, "sliding_window": 40, "num_hidden_layers": 4}),
    "mixtral": (General, {"num_local_experts": 4}),
    "falcon": (Portable, {"hidden_size": 64}),
}
"""A way of every kind, layers even and odd in number; the experts of the last but one lie apart in
their files and are put together by the library."""


def load(folder: Path, **settings: object) -> Any:
    return Checkpoint(str(folder), **settings).load()  # type: ignore[arg-type]


def stream(local: Any) -> Stream:
    found = stream_of(local._writer.network)
    assert found is not None
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_bits_as_with_all_layers_in_memory(
    family: str, make_checkpoint: MakeCheckpoint, decisions: list[Score]
) -> None:
    way, settings = FAMILIES[family]
    folder = make_checkpoint(family, **settings)
    whole, offloaded = load(folder), load(folder, offload="layers")
    assert type(offloaded._scorer.engine) is type(whole._scorer.engine) is way
    assert offloaded.answer(decisions) == whole.answer(decisions)
    texts = [Generate(d.prompts[0], 5, temperature=0.7, seed=(k,)) for k, d in enumerate(decisions)]
    assert offloaded.answer(texts[:4]) == whole.answer(texts[:4])
