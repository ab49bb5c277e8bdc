"""The forward pass over flat rows: tokens of many decisions in one row, without padding.

It uses the modules of transformers' Llama, Mistral, Qwen2 and Qwen3, so weights, norms and rotary
frequencies are the library's. The differences: attention runs over the tokens that a piece may see,
linear layers run on tiles of a fixed number of rows, and the last layer is completed only for rows
whose answer is read.

If the pass is invariant, a row's result on one machine does not depend on what else is in the pass:
tiles always have the same shape, norms and sums are row by row, and a piece's attention depends
only on the piece.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from gauntlet.common.errors import GauntletError
from gauntlet.models.engine.attention import KeysValues, Layer
from gauntlet.models.engine.layout import Layout, Piece, Tiles, lay_out
from gauntlet.models.engine.memory import is_offloaded
from gauntlet.models.engine.rotary import STATIC, RotaryTable, apply_rotary_
from gauntlet.models.engine.steps import MOST, Steps, agree, prepare_steps, steady, unmixed
from gauntlet.models.engine.tiles import linear, rounded_up, silu_
from gauntlet.models.engine.trie import PromptTree, chain

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")

ROWS = {"cpu": 128, "cuda": 1024}
"""Rows of a linear layer's tile."""
ANSWERS = 64
"""Rows of a tile of the last layer and the head, where only answers are left."""

Mixing = Callable[[int, Tensor, Layer, float], Tensor]
"""The attention of a layer, from its number, queries, keys and values, and the scaling."""


class Unsupported(GauntletError):
    """This forward pass does not support the network."""


class Flat:
    """Runs pieces through a causal language model of a known family with full attention."""

    def __init__(self, network: Any, invariant: bool = True) -> None:
        """invariant: a row's bits do not depend on the rest of the batch. Raises Unsupported."""
        config = network.config
        check_family(config)
        if is_offloaded(network):
            raise Unsupported("weights that come module by module")
        self.device: torch.device = network.device
        self.dtype: torch.dtype = network.dtype
        self.tiles = Tiles(ROWS[self.device.type], ANSWERS) if invariant else Tiles(None, None)
        self._at_once = not invariant and self.device.type == "cuda"
        self._like = torch.empty(0, device=self.device, dtype=self.dtype)
        self._base = network.model
        self._head = network.lm_head
        self._rotary = RotaryTable(network.model.rotary_emb, self.device, self.dtype)
        self._network, self.invariant = network, invariant

    def span(self, past: int, tree: PromptTree) -> int:
        """The text length to verify for a tree after `past` tokens: that of its longest text."""
        return past + int(tree.depths.max()) + 1

    @torch.inference_mode()
    def keys_values(self, tokens: Sequence[int]) -> KeysValues:
        """Keys and values of one text in every layer, computed alone."""
        kept: list[Layer] = []
        self._read(self._laid_out([Piece(chain(tokens))]), kept)
        return tuple((k[: len(tokens)].clone(), v[: len(tokens)].clone()) for k, v in kept)

    @torch.inference_mode()
    def logprobs(self, pieces: Sequence[Piece], columns: Sequence[int]) -> Tensor:
        """Log-probabilities of the tokens `columns` after every end of every piece.

        Shape (ends of all pieces in order, columns), float32, on the network's device; normalised
        over the whole vocabulary.
        """
        layout = self._laid_out(pieces)
        hidden = self._read(layout, None)
        wanted = torch.tensor(columns, device=self.device)
        picked = [
            torch.log_softmax(self._head(tile).float(), dim=-1)[:, wanted]
            for tile in torch.split(hidden, ANSWERS)
        ]
        return torch.cat(picked)[: layout.asked]

    @torch.inference_mode()
    def read(self, pieces: Sequence[Piece]) -> tuple[Tensor, list[KeysValues]]:
        """Logits (ends, vocabulary) in float32 after every end, and each piece's keys and
        values."""
        kept: list[Layer] = []
        layout = self._laid_out(pieces)
        logits = self._logits(self._read(layout, kept))[: layout.asked]
        return logits, [tuple((k[rows], v[rows]) for k, v in kept) for rows in layout.rows]

    def step_rows(self, texts: int) -> int:
        """The number of rows, padding included, that `step` needs for this many texts."""
        return texts if self._steps else rounded_up(texts, ANSWERS)

    @torch.inference_mode()
    def step(self, tokens: Tensor, places: Tensor, furthest: int, mixing: Mixing) -> Tensor:
        """Logits (rows, vocabulary) in float32 after one more token of several texts.

        mixing: their attention. Takes as many rows as `step_rows` says.
        """
        rotary = self._rotary.at(places, furthest)
        hidden: Tensor = self._base.embed_tokens(tokens)
        if self._steps:
            return self._steps(hidden, rotary, mixing)
        return self._tiled_step(self._base.layers, hidden, rotary, mixing)

    def _tiled_step(
        self, layers: Any, hidden: Tensor, rotary: tuple[Tensor, Tensor], mixing: Mixing
    ) -> Tensor:
        for number, layer in enumerate(layers):
            inner = layer.input_layernorm(hidden)
            own = self._keys_values(layer.self_attn, inner, rotary, self.tiles.answers)
            queries = self._queries(layer.self_attn, inner, rotary, self.tiles.answers)
            mixed = mixing(number, queries, own, layer.self_attn.scaling)
            hidden = _finished(layer, hidden, mixed, self.tiles.answers)
        return self._logits(self._base.norm(hidden))

    @property
    def heads(self) -> tuple[int, int, int]:
        """Query heads, key heads, and the size of a head."""
        config, size = self._network.config, self._base.layers[0].self_attn.head_dim
        return config.num_attention_heads, config.num_key_value_heads, size

    @cached_property
    def _steps(self) -> Steps | None:
        """Faster steps, if the network has them and they pass their tests."""
        steps = prepare_steps(self._network)
        return steps if steps and self._passes(steps) else None

    @torch.inference_mode()
    def _passes(self, steps: Steps) -> bool:
        """Whether the steps agree with those on tiles, and are invariant if this pass is."""
        places = torch.arange(MOST, device=self.device)
        rotary = self._rotary.at(places, MOST)
        hidden = self._base.embed_tokens(places * 7 % self._network.config.vocab_size)
        exact = self._tiled_step(self._base.layers[:1], hidden, rotary, unmixed)
        if not agree(steps, exact, hidden, rotary):
            return False
        return not self.invariant or steady(steps, hidden, rotary)

    def _laid_out(self, pieces: Sequence[Piece]) -> Layout:
        return lay_out(pieces, self.tiles, self._like, self._at_once)

    def _read(self, layout: Layout, cache: list[Layer] | None) -> Tensor:
        """The last hidden row of every answer; appends each layer's keys and values to `cache`."""
        hidden: Tensor = self._base.embed_tokens(layout.tokens)
        rotary = self._rotary.at(layout.places, layout.furthest)
        attention, tile = layout.all, self.tiles.rows
        for number, layer in enumerate(self._base.layers):
            inner = layer.input_layernorm(hidden)
            own = self._keys_values(layer.self_attn, inner, rotary, self.tiles.rows)
            if cache is not None:
                cache.append(own)
            if number == len(self._base.layers) - 1:
                attention, tile = layout.ends, self.tiles.answers
                hidden, inner = hidden[layout.answers], inner[layout.answers]
                rotary = rotary[0][layout.answers], rotary[1][layout.answers]
            queries = self._queries(layer.self_attn, inner, rotary, tile)
            mixed = attention(queries, own, number, layer.self_attn.scaling)
            hidden = _finished(layer, hidden, mixed, tile)
        last: Tensor = self._base.norm(hidden)
        return last

    def _logits(self, hidden: Tensor) -> Tensor:
        return torch.cat([self._head(tile).float() for tile in torch.split(hidden, ANSWERS)])

    def _keys_values(
        self, attention: Any, inner: Tensor, rotary: tuple[Tensor, Tensor], tile: int | None
    ) -> Layer:
        keys = _heads(attention, linear(attention.k_proj, inner, tile))
        values = _heads(attention, linear(attention.v_proj, inner, tile))
        if hasattr(attention, "k_norm"):
            keys = attention.k_norm(keys)
        return apply_rotary_(keys, rotary), values

    def _queries(
        self, attention: Any, inner: Tensor, rotary: tuple[Tensor, Tensor], tile: int | None
    ) -> Tensor:
        queries = _heads(attention, linear(attention.q_proj, inner, tile))
        if hasattr(attention, "q_norm"):
            queries = attention.q_norm(queries)
        return apply_rotary_(queries, rotary)


def check_family(config: Any) -> None:
    """Raises Unsupported, naming the reason, unless `Flat` can run such a network."""
    rotary = (config.rope_parameters or {}).get("rope_type", "default")
    if config.model_type not in FAMILIES:
        raise Unsupported(f"model type {config.model_type!r}")
    if rotary not in STATIC:
        raise Unsupported(f"rotary frequencies of type {rotary!r}")
    if config.hidden_act != "silu":
        raise Unsupported(f"activation {config.hidden_act!r}")


def _finished(layer: Any, hidden: Tensor, mixed: Tensor, tile: int | None) -> Tensor:
    """A layer's output rows, from its input rows and its attention's output."""
    hidden = hidden + linear(layer.self_attn.o_proj, mixed, tile)
    inner = layer.post_attention_layernorm(hidden)
    gate = silu_(linear(layer.mlp.gate_proj, inner, tile))
    wide = gate.mul_(linear(layer.mlp.up_proj, inner, tile))
    return hidden + linear(layer.mlp.down_proj, wide, tile)


def _heads(attention: Any, rows: Tensor) -> Tensor:
    return rows.view(len(rows), -1, attention.head_dim)
