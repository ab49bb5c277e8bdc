"""Checkpoints that cannot be played as they are: one clear line for each fault."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import NoReturn

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Generate, Prompt, Score
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine import files, packed
from gauntlet.models.engine.ragged_forward import Unsupported
from tests.models.conftest import refusal

ASK = Score((Prompt("Rules.\n", "Hand: red 1\n", "Answer:"),), ("A", "B"))


def test_an_adapter_beside_the_weights_is_refused(folder):
    (folder / "adapter_config.json").write_text("{}")
    assert "has an adapter_config.json" in refusal(Checkpoint(str(folder)))


def test_an_adapter_alone_names_its_model(folder):
    for file in folder.iterdir():
        file.unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "some/model"}')
    text = refusal(Checkpoint(str(folder)))
    assert "has an adapter_config.json" in text
    assert "'some/model'" in text


def remove(name):
    return lambda folder: (folder / name).unlink()


def cut(folder):
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def scribble(data):
    return lambda folder: (folder / "model.safetensors").write_bytes(data)


def pickled(folder):
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


def configured(text):
    return lambda folder: (folder / "config.json").write_text(text)


def unknown(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "wonder"}))


def lacking(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def corrupt(folder):
    (folder / "tokenizer.json").write_text("{}")


def pointer(name):
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    return lambda folder: (folder / name).write_text(text)


def quantized(method):
    return edited(quantization_config={"quant_method": method, "bits": 4})


def edited(**changes):
    def edit(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **changes}))

    return edit


def only_gguf(folder):
    (folder / "config.json").unlink()
    (folder / "a.gguf").write_bytes(b"GGUF")


@pytest.mark.parametrize(
    ("breaking", "expected"),
    [
        (remove("config.json"), "has no config.json"),
        (configured("{"), "config.json is not valid JSON"),
        (configured("[]"), "config.json holds no JSON object"),
        (configured("{}"), "config.json names no model_type"),
        (remove("tokenizer.json"), "has no tokenizer"),
        (remove("model.safetensors"), "lacks model.safetensors"),
        (cut, "no whole safetensors file"),
        (scribble(b""), "no whole safetensors file"),
        (scribble(b"PK\x03\x04" + b"\xff" * 60), "no whole safetensors file"),
        (scribble(struct.pack("<Q", 3) + b"{,}"), "no whole safetensors file"),
        (scribble(struct.pack("<Q", 9) + b'{"a": []}'), "no whole safetensors file"),
        (pickled, "has only pickled weights; only safetensors are loaded"),
        (pointer("model.safetensors"), "model.safetensors is a pointer of Git LFS"),
        (pointer("tokenizer.json"), "tokenizer.json is a pointer of Git LFS"),
        (only_gguf, "a.gguf plays it"),
    ],
)  # fmt: skip
def test_a_broken_folder_is_refused_before_anything_starts(breaking, expected, folder):
    breaking(folder)
    text = refusal(Checkpoint(str(folder)))
    assert expected in text
    assert str(folder) in text


@pytest.mark.parametrize(
    ("breaking", "expected"),
    [
        (unknown, "wonder"),
        (lacking, "lacks 1 weights, such as model.layers.1.mlp.up_proj.weight"),
        (corrupt, "its tokenizer cannot be loaded"),
        (
            edited(vocab_size=500),
            "lm_head.weight has the shape (376, 48), and should have (500, 48)",
        ),
    ],
)
def test_what_only_the_library_notices_is_refused_when_it_is_loaded(breaking, expected, folder):
    breaking(folder)
    assert expected in refusal(Checkpoint(str(folder)), "load")


@pytest.mark.parametrize(
    ("method", "package"),
    [
        ("bitsandbytes", "bitsandbytes"),
        ("gptq", "optimum"),
        ("awq", "gptqmodel"),
        ("compressed-tensors", "compressed-tensors"),
        ("quanto", "optimum"),
    ],
)
def test_a_library_that_quantized_weights_need_is_named_in_planning(
    method, package, folder, monkeypatch
):
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    quantized(method)(folder)
    with pytest.raises(ModelError, match=f"quantized by {method}.*: pip install {package}$"):
        Checkpoint(str(folder)).check_choices(())


def test_a_library_that_only_the_loader_misses_is_one_line(folder):
    quantized("fp_quant")(folder)
    assert "cannot be loaded: " in refusal(Checkpoint(str(folder)), "load")


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("weights.gguf", "is a GGUF file: model=gguf model.path="),
        ("model.safetensors", "is a file: give its folder"),
    ],
)
def test_a_file_for_a_folder(file, why, folder):
    (folder / "weights.gguf").write_bytes(b"GGUF")
    assert why in refusal(Checkpoint(str(folder / file)))
    assert "is no folder here" in refusal(Checkpoint("models/absent.gguf"))


def test_a_tokenizer_that_is_larger_than_the_network(folder):
    edited(vocab_size=375)(folder)
    with pytest.raises(ModelError, match="376 tokens, its network 375"):
        Checkpoint(str(folder)).check_choices(())


def test_a_tokenizer_that_is_far_smaller_than_the_network_is_told(folder, caplog):
    edited(vocab_size=4000)(folder)
    Checkpoint(str(folder)).check_choices(())
    assert "376 tokens, its network 4,000" in caplog.messages[0]


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_a_token_beyond_the_network_is_named(engine, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["red 1"])
    tokenizer.save_pretrained(folder)
    model = Checkpoint(str(folder), engine=engine).load()
    for request in (ASK, Generate(ASK.prompts[0], 3)):
        with pytest.raises(ModelError, match=r"376 tokens.*'red 1'"):
            model.answer([request])
    green = Prompt("Rules.\n", "Hand: green 2\n", "Answer:")
    assert model.answer([Score((green,), ("A", "B"))])


# --- logits that are not finite


def scaled_by(folder: Path, weight: str, factor: float, row: int | None = None) -> None:
    weights = load_file(folder / "model.safetensors")
    weights[weight][slice(None) if row is None else row] *= factor
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_a_layer_that_overflows_is_named_before_anything_is_played(engine, folder):
    scaled_by(folder, "model.layers.1.mlp.down_proj.weight", 1e6)
    half = Checkpoint(str(folder), dtype="float16", engine=engine)
    assert "use bfloat16 or float32" in refusal(half, "load")
    for dtype in ("bfloat16", "float32"):
        (reply,) = Checkpoint(str(folder), dtype=dtype, engine=engine).load().answer([ASK])
        assert all(math.isfinite(logprob) for logprob in reply.logprobs[0])


@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_damaged_weights_are_named_before_anything_is_played(engine, folder):
    scaled_by(folder, "model.norm.weight", math.nan)
    damaged = Checkpoint(str(folder), engine=engine)
    assert "are its weights damaged?" in refusal(damaged, "load")


@pytest.mark.parametrize("way", ["Flat", "General", "Portable", "reference"])
def test_logits_that_some_texts_make_infinite(way, folder, monkeypatch):
    """The text that is read at loading has none of these tokens."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    (token,) = tokenizer("Z", add_special_tokens=False)["input_ids"]
    scaled_by(folder, "model.embed_tokens.weight", math.nan, token)
    ways = ("Flat", "General", "Portable")
    for slower in ways[: ways.index(way) if way in ways else 0]:
        monkeypatch.setattr(packed, slower, refusing)
    engine = "reference" if way == "reference" else "packed"
    model = Checkpoint(str(folder), engine=engine).load()
    if engine == "packed":
        assert type(model._scorer.engine).__name__ == way
    zed = Prompt("Rules.\n", "Hand: Z\n", "Answer:")
    for request in (Score((zed,), ("A", "B")), Generate(zed, 3), Generate(zed, 3, 1.0)):
        with pytest.raises(ModelError, match="not finite in float32"):
            model.answer([request])
    assert model.answer([ASK, Generate(ASK.prompts[0], 3)])


def refusing(*_: object) -> NoReturn:
    raise Unsupported("kind")


def test_a_network_without_weights_has_a_chance_for_every_choice(folder):
    """Its scores do not spread at all, so that no error is a share of that."""
    size = 402  # of 402 equal scores torch finds a standard deviation of exactly 0
    edited(vocab_size=size)(folder)
    weights = {
        name: torch.zeros(size, *weight.shape[1:]) if len(weight) == 376 else 0 * weight
        for name, weight in load_file(folder / "model.safetensors").items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    engine = Checkpoint(str(folder), engine="reference").load()
    for model in (Checkpoint(str(folder)).load(), engine):
        reply, written = model.answer([ASK, Generate(ASK.prompts[0], 3)])
        assert written.tokens == 3
        assert reply.logprobs[0] == pytest.approx((-math.log(size),) * 2)


def test_chat_without_a_template(checkpoint_folder):
    assert "set chat to false" in refusal(Checkpoint(str(checkpoint_folder), chat=True), "load")


def test_choices_that_are_not_single_tokens(checkpoint_folder):
    with pytest.raises(ModelError, match="'irreversible'"):
        Checkpoint(str(checkpoint_folder)).check_choices(("A", "irreversible"))
