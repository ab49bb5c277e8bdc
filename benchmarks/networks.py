"""The networks of the scoring benchmark: the shipped one, and shapes with random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from benchmarks.decisions import stored
from gauntlet.models.engine.files import PROJECT
from gauntlet.models.engine.local import load_network
from gauntlet.models.engine.tokens import Tokens, load_tokens

WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+"
"""Where a Llama-3-like tokenizer splits text into words."""
POCKET = PROJECT / "models" / "pocket" / "weights"


@dataclass(frozen=True)
class Shape:
    """The shape of a Llama."""

    width: int
    layers: int
    heads: int
    key_heads: int
    inner: int
    vocabulary: int


@dataclass(frozen=True)
class Size:
    """A network to measure: dtype, number of decisions for the packed scorer and for the slow
    methods, and shape (None: the shipped model)."""

    dtype: torch.dtype
    decisions: int
    slow: int
    shape: Shape | None = None


SIZES = {
    "pocket": Size(torch.float32, 256, 48),
    "15m": Size(torch.float32, 48, 6, Shape(384, 6, 6, 6, 1024, 12288)),
    "120m": Size(torch.bfloat16, 24, 4, Shape(768, 12, 12, 12, 2048, 49152)),
    "1b": Size(torch.bfloat16, 2048, 48, Shape(2048, 16, 32, 8, 8192, 128256)),
    "8b": Size(torch.bfloat16, 1024, 24, Shape(4096, 32, 32, 8, 14336, 128256)),
    "tiny": Size(torch.bfloat16, 48, 6, Shape(64, 2, 4, 2, 128, 1280)),
}
"""`tiny` runs every step of the script in seconds."""
USUAL = {"cpu": ("pocket", "15m", "120m"), "cuda": ("1b", "8b")}


def network_of(name: str, device: str) -> Any:
    """Return the network of this size on the device."""
    size = SIZES[name]
    if size.shape is None:
        return load_network(POCKET, "pocket", "float32", device)
    config = config_of(name)
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(size.dtype)
    try:
        with torch.device(device):
            network: Any = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(before)
    return network.eval().requires_grad_(False)


def config_of(name: str) -> LlamaConfig:
    """Return the config of a size that has a shape."""
    size = SIZES[name]
    assert size.shape is not None, f"{name} is the shipped model"
    shape = size.shape
    return LlamaConfig(
        architectures=["LlamaForCausalLM"],
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_heads,
        intermediate_size=shape.inner,
        vocab_size=shape.vocabulary,
        max_position_embeddings=2048,
        initializer_range=0.1 if shape.width < 1000 else 0.02,
        tie_word_embeddings=True,
        dtype=size.dtype,
    )


def tokens_of(name: str) -> Tokens:
    """Return the tokenizer for a network: the shipped model's own, or one that splits like Llama 3.

    The shipped one was trained on these prompts and needs a third of the tokens. A large tokenizer
    has nearly every common word, so here each word of these prompts is a token.
    """
    if SIZES[name].shape is None:
        return load_tokens(POCKET, "pocket", False)
    bpe = Tokenizer(models.BPE())
    words = pre_tokenizers.Split(Regex(WORDS), "isolated")
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([words, plain])
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        special_tokens=["</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    asked = [score for turn in stored() for score in (turn.decision, turn.published) if score]
    bpe.train_from_iterator([f"{s.prompts[0].text} {s.choices[-1]}" for s in asked], trainer)
    wrap: Any = PreTrainedTokenizerFast
    return Tokens(wrap(tokenizer_object=bpe, eos_token="</s>"), "words", chat=False)


def layer_parameters(network: Any) -> int:
    """Count the parameters used per token: all but embedding and head."""
    held = network.model.layers.parameters()
    return sum(tensor.numel() for tensor in held if tensor.dim() == 2)
