"""Results of equivalence checks that later processes find again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.llama.modeling_llama import eager_attention_forward

from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine import equivalence_check, packed
from gauntlet.models.engine.equivalence_check import KeptDifferences, weights_hash
from gauntlet.models.engine.general import General
from gauntlet.models.engine.ragged_forward import Flat
from tests.models.conftest import MakeCheckpoint


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "gauntlet" / "equivalence"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The class ends that are measured, not found."""
    ends: list[int] = []
    plain = equivalence_check.tree_difference

    def watch(engine: Any, reference: Any, low: int, high: int) -> float:
        ends.append(high)
        return plain(engine, reference, low, high)

    monkeypatch.setattr(packed, "tree_difference", watch)
    return ends


def scorer(folder: Path, **settings: Any) -> Any:
    return Checkpoint(str(folder), **settings).load()._scorer


def test_a_check_is_measured_once(
    checkpoint_folder: Path, cache: Path, measured: list[int]
) -> None:
    first, again = scorer(checkpoint_folder), scorer(checkpoint_folder)
    assert first.proof.covers(300)
    assert again.proof.covers(300)
    assert measured == [16, 256, 512]
    assert first.proof._tolerance == again.proof._tolerance
    assert len([*cache.iterdir()]) == 1, "no partial file remains"


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"16": "low"}', b'{"16": NaN}', b"\xff"])
def test_a_damaged_file_is_measured_again(
    checkpoint_folder: Path, cache: Path, measured: list[int], content: bytes
) -> None:
    scorer(checkpoint_folder)
    (file,) = cache.iterdir()
    sound = file.read_bytes()
    file.write_bytes(content)
    scorer(checkpoint_folder)
    assert measured == [16, 16]
    assert file.read_bytes() == sound


def test_a_folder_that_cannot_be_written_is_no_error(
    checkpoint_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert scorer(checkpoint_folder).proof.covers(16)


def test_other_weights_dtypes_and_code_are_measured(
    make_checkpoint: MakeCheckpoint,
    cache: Path,
    measured: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = make_checkpoint("llama")
    first = scorer(folder)
    scorer(make_checkpoint("llama", rms_norm_eps=1e-4))
    scorer(folder, dtype="bfloat16")
    assert measured == [16] * 3
    network = first._plain.network
    before = weights_hash(network)
    network.model.layers[1].mlp.up_proj.weight[3, 5] += 1e-3
    assert weights_hash(network) != before
    packed.Packed(network, first.tokens)
    assert measured == [16] * 4
    monkeypatch.setattr(equivalence_check, "code_hash", lambda: "other")
    packed.Packed(network, first.tokens)
    assert measured == [16] * 5


@pytest.mark.parametrize(("family", "engine"), [("llama", Flat), ("olmo2", General)])
def test_a_difference_planted_after_a_good_result_is_found(
    family: str, engine: type, make_checkpoint: MakeCheckpoint, cache: Path
) -> None:
    folder = make_checkpoint(family)
    sound = scorer(folder)
    assert isinstance(sound.engine, engine)
    assert sound.proof.covers(256)

    def narrow(
        module: Any, query: Any, key: Any, value: Any, mask: Any, *args: Any, **options: Any
    ):  # type: ignore[no-untyped-def]
        back = torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])
        hidden = torch.zeros(back.shape).masked_fill(back >= 100, -torch.inf)
        mask = hidden if mask is None else mask + hidden
        return eager_attention_forward(module, query, key, value, mask, *args, **options)

    ALL_ATTENTION_FUNCTIONS.register("narrow", narrow)
    ALL_MASK_ATTENTION_FUNCTIONS.register("narrow", eager_mask)
    planted = scorer(folder)
    planted._plain.network.set_attn_implementation("narrow")
    assert not planted.proof.covers(256)
    planted._plain.network.set_attn_implementation("sdpa")
    assert scorer(folder).proof.covers(256)


def test_a_difference_out_of_tolerance_fails_when_found_too(
    checkpoint_folder: Path, cache: Path, measured: list[int]
) -> None:
    sound = scorer(checkpoint_folder)
    KeptDifferences(sound._plain.network, "Flat True").put(256, 0.5)
    again = scorer(checkpoint_folder)
    assert not again.proof.covers(256)
    assert again.proof.proven == 16
    assert measured == [16]
