"""Tiny GGUF files with random weights, and where the real one lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gauntlet.models.engine.files import CACHED, cache_folder

SMOLLM2 = cache_folder(f"{CACHED}smollm2_135m") / "SmolLM2-135M-Instruct.Q4_1.gguf"
TEMPLATE = (
    "{% for m in messages %}[{{ m.role }}]\n{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]\n{% endif %}"
)
WORDS = ("▁", "A", "B", "C", "▁A", "▁B", "▁C")
BLOCKS, WIDTH, HEADS, INNER, POSITIONS = 2, 64, 4, 128, 512


def write_gguf(
    file: Path,
    template: str = "",
    seed: int = 0,
    architecture: str = "llama",
    ends: bool = False,
    damaged: bool = False,
    **more: int,
) -> Path:
    """A model of `BLOCKS` layers whose tokens are all bytes and a few words. ends: texts are to be
    ended by the token that ends texts. damaged: a weight is no number."""
    import gguf

    writer = gguf.GGUFWriter(file, architecture)
    writer.add_context_length(more.get("positions", POSITIONS))
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    special, data = ["<unk>", "<s>", "</s>"], [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = [*special, *data, *WORDS]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 259 + [-float(number) for number in range(len(WORDS))])
    writer.add_token_types([2, 3, 3] + [6] * 256 + [1] * len(WORDS))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    if ends:
        writer.add_add_eos_token(True)
    if template:
        writer.add_chat_template(template)
    for name, shape in _shapes(len(tokens)).items():
        rng = np.random.default_rng([seed, len(name), *name.encode()])
        norm = name.endswith("norm.weight")
        values = np.ones(shape) if norm else rng.normal(0, 0.3, shape)
        if damaged and name == "output_norm.weight":
            values[0] = np.nan
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _shapes(vocabulary: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (vocabulary, WIDTH)}
    for block in range(BLOCKS):
        start = f"blk.{block}."
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            shapes[f"{start}{part}.weight"] = (WIDTH, WIDTH)
        shapes[f"{start}ffn_gate.weight"] = shapes[f"{start}ffn_up.weight"] = (INNER, WIDTH)
        shapes[f"{start}ffn_down.weight"] = (WIDTH, INNER)
        shapes[f"{start}attn_norm.weight"] = shapes[f"{start}ffn_norm.weight"] = (WIDTH,)
    shapes["output_norm.weight"] = (WIDTH,)
    shapes["output.weight"] = (vocabulary, WIDTH)
    return shapes
