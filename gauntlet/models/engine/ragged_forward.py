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

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gauntlet.common.errors import GauntletError
from gauntlet.models.engine.attention import (
    STATIC,
    KeysValues,
    Layer,
    Layout,
    Piece,
    RotaryTable,
    Tiles,
    apply_rotary_,
    lay_out,
    rounded_up,
)
from gauntlet.models.engine.equivalence_check import TOLERANCE
from gauntlet.models.engine.memory import is_offloaded, total_bytes
from gauntlet.models.engine.tokens import PromptTree, grow

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")

ROWS = {"cpu": 128, "cuda": 1024}
"""Rows of a linear layer's tile."""
ANSWERS = 64
"""Rows of a tile of the last layer and the head, where only answers are left."""
GRAIN = 32768
"""Up to this many elements torch runs an elementwise function in one piece and thread."""
Mixing = Callable[[int, Tensor, Layer, float], Tensor]
"""The attention of a layer, from its number, queries, keys and values, and the scaling."""


class Unsupported(GauntletError):
    """This forward pass does not support the network."""


class FlatPass(ABC):
    """Runs the pieces of many decisions as one row, without padding."""

    def __init__(self, network: Any, invariant: bool) -> None:
        """invariant: a row's bits do not depend on the rest of the batch."""
        self.device: torch.device = network.device
        self.dtype: torch.dtype = network.dtype
        self.invariant = invariant
        self.tiles = Tiles(ROWS[self.device.type], ANSWERS) if invariant else Tiles(None, None)
        self._at_once = not invariant and self.device.type == "cuda"
        self._like = torch.empty(0, device=self.device, dtype=self.dtype)

    def span(self, past: int, tree: PromptTree) -> int:
        """The text length to verify for a tree after `past` tokens: that of its longest text."""
        return past + int(tree.depths.max()) + 1

    @torch.inference_mode()
    def keys_values(self, tokens: Sequence[int]) -> KeysValues:
        """Keys and values of one text in every layer, computed alone."""
        layers: list[Layer] = []
        pieces = [Piece(replace(grow([list(tokens)]), ends=np.empty(0, dtype=np.int64)))]
        self._run(pieces, self._laid_out(pieces), layers)
        return tuple((k[: len(tokens)].clone(), v[: len(tokens)].clone()) for k, v in layers)

    @torch.inference_mode()
    def logprobs(self, pieces: Sequence[Piece], columns: Sequence[int]) -> Tensor:
        """Log-probabilities of the tokens `columns` after every end of every piece.

        Shape (ends of all pieces in order, columns), float32, on the network's device; normalised
        over the whole vocabulary.
        """
        layout, wanted = self._laid_out(pieces), torch.tensor(columns, device=self.device)
        tiles = self._run(pieces, layout, None)
        picked = [torch.log_softmax(tile.float(), dim=-1)[:, wanted] for tile in tiles]
        return torch.cat(picked)[: layout.count]

    def _laid_out(self, pieces: Sequence[Piece]) -> Layout:
        return lay_out(pieces, self.tiles, self._like, self._at_once)

    @abstractmethod
    def _run(
        self, pieces: Sequence[Piece], layout: Layout, layers: list[Layer] | None
    ) -> Iterable[Tensor]:
        """The logits of the answers, ANSWERS rows at a time, in the network's dtype. Appends each
        layer's keys and values to `layers`."""


class Flat(FlatPass):
    """Runs pieces through a causal language model of a known family with full attention."""

    def __init__(self, network: Any, invariant: bool = True) -> None:
        """Raises Unsupported."""
        check_family(network.config)
        if is_offloaded(network):
            raise Unsupported("weights that come module by module")
        super().__init__(network, invariant)
        self._base = network.model
        self._head = network.lm_head
        self._rotary = RotaryTable(network.model.rotary_emb, self.device, self.dtype)
        self._network = network

    @torch.inference_mode()
    def read(self, pieces: Sequence[Piece]) -> tuple[Tensor, list[KeysValues]]:
        """Logits (ends, vocabulary) in float32 after every end, and each piece's keys and
        values."""
        layers: list[Layer] = []
        layout = self._laid_out(pieces)
        logits = torch.cat([tile.float() for tile in self._run(pieces, layout, layers)])
        return logits[: layout.count], [
            tuple((k[rows], v[rows]) for k, v in layers) for rows in layout.rows
        ]

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
            fresh = self._keys_values(layer.self_attn, inner, rotary, self.tiles.answers)
            queries = self._queries(layer.self_attn, inner, rotary, self.tiles.answers)
            mixed = mixing(number, queries, fresh, layer.self_attn.scaling)
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
        """Whether the first layer's steps, without attention, agree with those on tiles, and are
        the same bits in any number of rows if this pass is invariant."""
        places = torch.arange(MOST, device=self.device)
        rotary = self._rotary.at(places, MOST)
        hidden = self._base.embed_tokens(places * 7 % self._network.config.vocab_size)

        def probe(rows: slice) -> Tensor:
            return steps(hidden[rows], (rotary[0][rows], rotary[1][rows]), unmixed, depth=1)

        every = probe(slice(MOST))
        exact = self._tiled_step(self._base.layers[:1], hidden, rotary, unmixed)
        if not (every - exact).square().mean().sqrt() / exact.std() <= TOLERANCE[self.dtype]:
            return False
        parts = [slice(MOST - rows, MOST) for rows in PROBES if self.invariant]
        return all(torch.equal(probe(part), every[part]) for part in parts)

    def _run(
        self, pieces: Sequence[Piece], layout: Layout, layers: list[Layer] | None
    ) -> Iterable[Tensor]:
        hidden = self._read(layout, layers)
        return (self._head(tile) for tile in torch.split(hidden, ANSWERS))

    def _read(self, layout: Layout, cache: list[Layer] | None) -> Tensor:
        """The last hidden row of every answer."""
        hidden: Tensor = self._base.embed_tokens(layout.tokens)
        rotary = self._rotary.at(layout.places, layout.furthest)
        attention, tile = layout.all, self.tiles.rows
        for number, layer in enumerate(self._base.layers):
            inner = layer.input_layernorm(hidden)
            fresh = self._keys_values(layer.self_attn, inner, rotary, self.tiles.rows)
            if cache is not None:
                cache.append(fresh)
            if number == len(self._base.layers) - 1:
                attention, tile = layout.ends, self.tiles.answers
                hidden, inner = hidden[layout.answers], inner[layout.answers]
                rotary = rotary[0][layout.answers], rotary[1][layout.answers]
            queries = self._queries(layer.self_attn, inner, rotary, tile)
            mixed = attention(queries, fresh, number, layer.self_attn.scaling)
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


def linear(module: Any, rows: Tensor, tile: int | None) -> Tensor:
    """`module` of (rows, width), `tile` rows at a time (rows must be whole tiles), or at once."""
    if tile is None:
        out: Tensor = module(rows)
        return out
    if type(module) is not nn.Linear:
        return torch.cat([module(part) for part in torch.split(rows, tile)])
    return product(rows, module.weight.t(), module.bias, tile)


def product(rows: Tensor, matrix: Tensor, bias: Tensor | None, tile: int) -> Tensor:
    """rows @ matrix + bias, `tile` rows at a time; rows must be whole tiles."""
    out = rows.new_empty(len(rows), matrix.shape[1])
    for part, result in zip(torch.split(rows, tile), torch.split(out, tile), strict=True):
        if bias is None:
            torch.mm(part, matrix, out=result)
        else:
            torch.addmm(bias, part, matrix, out=result)
    return out


def silu_(rows: Tensor) -> Tensor:
    """x * sigmoid(x) in place."""
    if rows.device.type != "cpu":
        return nn.functional.silu(rows, inplace=True)
    for part in torch.split(rows.view(-1), GRAIN):
        nn.functional.silu(part, inplace=True)
    return rows


LARGE = 32 << 20
"""Bytes of weights from which on steps are worth it: about what a processor's caches hold."""
MEMORY_SHARE = 1 / 4
"""The share of the machine's memory that the second copy of the weights may take."""
PROBES = (1, 2, 3, 7, 16, 33)
"""Numbers of rows that must give the same bits as `MOST`."""
MOST = 64


class Product:
    """Linear layers that read the same rows, as one product with weights laid out for oneDNN."""

    def __init__(self, *layers: nn.Linear) -> None:
        self.widths = [layer.weight.shape[0] for layer in layers]
        weights: list[Tensor] = [layer.weight for layer in layers]
        weight = torch.cat(weights)
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
        self._bias = torch.cat(biases) if len(biases) == len(layers) else None

    def __call__(self, rows: Tensor) -> Tensor:
        """(rows, width) to (rows, all layers' widths)."""
        out: Tensor = torch.ops.mkldnn._linear_pointwise(
            rows, self._weight, self._bias, "none", [], ""
        )
        return out


class LayerStep:
    """One layer of the network."""

    def __init__(self, layer: Any) -> None:
        self._norms = layer.input_layernorm, layer.post_attention_layernorm
        self._attention = inner = layer.self_attn
        self._project = Product(inner.q_proj, inner.k_proj, inner.v_proj)
        self._out = Product(inner.o_proj)
        self._widen = Product(layer.mlp.gate_proj, layer.mlp.up_proj)
        self._narrow = Product(layer.mlp.down_proj)

    def __call__(
        self, number: int, hidden: Tensor, rotary: tuple[Tensor, Tensor], mixing: Any
    ) -> Tensor:
        queries, fresh = self._heads(self._project(_normed(self._norms[0], hidden)), rotary)
        hidden = hidden + self._out(mixing(number, queries, fresh, self._attention.scaling))
        wide = self._widen(_normed(self._norms[1], hidden))
        gate, up = wide.chunk(2, dim=-1)
        return hidden + self._narrow(functional.silu(gate).mul_(up))

    def _heads(self, projected: Tensor, rotary: tuple[Tensor, Tensor]) -> tuple[Tensor, Layer]:
        """Queries, keys and values of (rows, heads, size)."""
        size = self._attention.head_dim
        asking, seen, _ = (width // size for width in self._project.widths)
        heads = projected.view(len(projected), -1, size)
        turned, values = heads[:, : asking + seen], heads[:, asking + seen :]
        if hasattr(self._attention, "q_norm"):
            queries = _normed(self._attention.q_norm, turned[:, :asking])
            keys = _normed(self._attention.k_norm, turned[:, asking:])
            turned = torch.cat([queries, keys], dim=1)
        apply_rotary_(turned, rotary)
        return turned[:, :asking], (turned[:, asking:], values)


class Steps:
    """Steps of text generation on a CPU at the cost of reading the weights.

    `Flat` pads a step to a tile of rows, whose products cost the same for one text as for a tile.
    Here the weights of large networks are laid out once for oneDNN, whose products neither need a
    tile nor change a row's bits with the number of rows or threads; both is tested on the network's
    own shapes. Small networks keep tiles: there calls cost more than products.
    """

    def __init__(self, network: Any) -> None:
        """Raises RuntimeError if oneDNN cannot take the weights."""
        self._norm = network.model.norm
        self._layers = [LayerStep(layer) for layer in network.model.layers]
        self._head = Product(network.lm_head)

    def __call__(
        self, hidden: Tensor, rotary: tuple[Tensor, Tensor], mixing: Any, depth: int | None = None
    ) -> Tensor:
        """Logits (rows, vocabulary) in float32 from the embedded tokens. depth: only so many
        layers."""
        for number, layer in enumerate(self._layers[:depth]):
            hidden = layer(number, hidden, rotary, mixing)
        return self._head(_normed(self._norm, hidden)).float()


def unmixed(_number: int, queries: Tensor, _layer: Layer, _scaling: float) -> Tensor:
    """An attention that returns the queries."""
    return queries.flatten(1)


def prepare_steps(network: Any) -> Steps | None:
    """The network's steps, if they pay, fit in memory, and all products are plain ones."""
    held = sum(weight.nbytes for weight in network.parameters())
    if network.device.type != "cpu" or network.dtype == torch.float16 or held < LARGE:
        return None
    if held > MEMORY_SHARE * total_bytes():
        return None
    layers = [*network.model.layers.modules(), network.lm_head]
    if any(
        hasattr(m, "weight") and m.weight.dim() == 2 and type(m) is not nn.Linear for m in layers
    ):
        return None
    try:
        return Steps(network)
    except RuntimeError:
        return None


def _normed(norm: Any, rows: Tensor) -> Tensor:
    return functional.rms_norm(rows, norm.weight.shape, norm.weight, norm.variance_epsilon)
