"""The flat pass through a network's own modules.

Works for every family whose attention goes through transformers' attention interface, and so
generalises what `ragged_forward.py` does by hand for four families: many decisions are concatenated
in one row, the library's modules run on that row, and at the attention call each piece attends to
its own past and branches. Windows, soft caps and sinks come with the call, as the library passes
them to any kernel. The modules are a copy that shares the network's weights, so the plain forward
pass is unchanged.

`Portable` is for decoders of which neither knows the attention: a decision's tree is a row of the
library's own forward pass, by its positions and a four-dimensional mask.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import local
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import DynamicCache
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from gauntlet.models.engine.attention import (
    Attention,
    KeysValues,
    Layer,
    Layout,
    Piece,
    mask_of,
    places_of,
    rounded_up,
    windowed,
)
from gauntlet.models.engine.memory import Least, alone
from gauntlet.models.engine.ragged_forward import (
    ANSWERS,
    GRAIN,
    ROWS,
    FlatPass,
    Unsupported,
    product,
)
from gauntlet.models.engine.tokens import PromptTree, grow

NAME = "gauntlet"
"""The name under which this attention is registered with the library."""
PROBES = (3, 21, 50, 7)
"""Lengths of the texts that test whether bits are batch-invariant."""


@dataclass
class Pass:
    """A forward pass in progress: the attention for every window that a layer has.

    states: where each layer's keys and values go, if anywhere.
    calls: number of layers that have attended.
    """

    layout: Layout
    windowed: Callable[[int], Attention]
    states: list[Layer] | None
    calls: int = 0

    def attention(self, window: int | None) -> Attention:
        return self.layout.all if window is None else self.windowed(window)


class _Going(local):
    """The pass of this thread."""

    now: Pass | None = None


_GOING = _Going()


class General(FlatPass):
    """Runs pieces through a causal language model with its own modules."""

    def __init__(self, network: Any, invariant: bool = True, least: Least = alone) -> None:
        """Raises Unsupported, saying why, or what the network raises. Invariance is tested."""
        if least is not alone:
            raise Unsupported("parts, which lie in several processes")
        if getattr(network, "_is_stateful", False):
            raise Unsupported("state, which is not keys and values")
        super().__init__(network, invariant)
        self._network = weight_sharing_copy(network)
        head = network.get_output_embeddings()
        self._tiled = Tiled(ROWS[self.device.type], ANSWERS, None if head is None else head.weight)
        if invariant and not self._steady():
            raise Unsupported("bits, which depend on what else is asked")

    def _run(
        self, pieces: Sequence[Piece], layout: Layout, layers: list[Layer] | None
    ) -> Iterable[Tensor]:
        like, at_once = self._like, self._at_once
        going = Pass(
            layout, cache(lambda window: windowed(layout, pieces, window, like, at_once)), layers
        )
        with _pass(going), self._tiled if self.invariant else nullcontext():
            logits: Tensor = self._network(
                input_ids=layout.tokens[None],
                position_ids=layout.places[None],
                use_cache=False,
                logits_to_keep=layout.answers,
            ).logits[0]
        if not going.calls:
            raise Unsupported("attention, which asks no interface")
        return torch.split(logits[: layout.count], ANSWERS)

    @torch.inference_mode()
    def _steady(self) -> bool:
        """Whether the bits of some texts are the same one by one and together."""
        vocabulary = self._network.config.get_text_config(decoder=True).vocab_size
        drawn = np.random.default_rng(0).integers(vocabulary, size=(len(PROBES), max(PROBES)))
        texts = [row[:length].tolist() for row, length in zip(drawn, PROBES, strict=True)]
        past = self.keys_values(texts[0])
        pieces = [Piece(grow([text, text[::-1]]), past) for text in texts]
        passes = [pieces, *([piece] for piece in pieces)]
        logits = [torch.cat([*self._run(batch, self._laid_out(batch), None)]) for batch in passes]
        return bool(torch.equal(logits[0], torch.cat(logits[1:])))


@contextmanager
def _pass(going: Pass) -> Iterator[None]:
    _GOING.now = going
    try:
        yield
    finally:
        _GOING.now = None


def attention(
    _module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _mask: Tensor | None = None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """The library's attention interface. Takes queries, keys and values as (1, heads, rows, size);
    returns (1, rows, heads, value size)."""
    going = _GOING.now
    assert going is not None, "asked outside a pass"
    fresh = key[0].transpose(0, 1), value[0].transpose(0, 1)
    if going.states is not None:
        going.states.append(fresh)
    number, going.calls = going.calls, going.calls + 1
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    queries = query[0].transpose(0, 1)
    mixed = going.attention(sliding_window)(queries, fresh, number, scale, softcap, s_aux)
    return mixed.view(1, len(queries), queries.shape[1], -1), None


ALL_ATTENTION_FUNCTIONS.register(NAME, attention)


def weight_sharing_copy(network: Any) -> Any:
    """A copy of the network's modules and settings that shares its weights and uses this
    attention."""
    weights = (*network.parameters(), *network.buffers())
    other = copy.deepcopy(network, {id(weight): weight for weight in weights})
    for module in other.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = NAME
            module.config._experts_implementation = "eager"
    return other


PRODUCTS = (torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.mm, Tensor.mm)
CURVES = (
    *(functional.silu, functional.gelu, functional.sigmoid, functional.tanh),
    *(torch.sigmoid, Tensor.sigmoid, torch.tanh, Tensor.tanh),
)


class Tiled(TorchFunctionMode):
    """A context in which matrix products with weights and activation functions run on tiles.

    It does for foreign modules what `linear` and `silu_` do by hand.

    rows: tile size where all rows of a pass meet a weight.
    answers: tile size where only some do: in the head, whose weight is `head`, and in experts,
        whose weights are parts of larger ones.
    """

    def __init__(self, rows: int, answers: int, head: Tensor | None) -> None:
        super().__init__()
        self._rows, self._answers, self._head = rows, answers, head

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        options = kwargs or {}
        if func is functional.linear and not options:
            return self._product(args[0], args[1], args[1].t(), *args[2:])
        if func in PRODUCTS and args[0].dim() == args[1].dim() == 2:
            return self._product(args[0], args[1], args[1])
        if func in CURVES and args[0].device.type == "cpu" and args[0].is_contiguous():
            parts = [
                func(part, *args[1:], **options) for part in torch.split(args[0].view(-1), GRAIN)
            ]
            return torch.cat(parts).view_as(args[0])
        return func(*args, **options)

    def _product(
        self, rows: Tensor, weight: Tensor, matrix: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        full = isinstance(weight, nn.Parameter) and weight is not self._head
        tile = self._rows if full else self._answers
        flat = rows.reshape(-1, rows.shape[-1])
        wanted = rounded_up(len(flat), tile) if len(flat) else 0
        padded = functional.pad(flat, (0, 0, 0, wanted - len(flat))) if wanted > len(flat) else flat
        out = product(padded, matrix, bias, tile)[: len(flat)]
        return out.view(*rows.shape[:-1], matrix.shape[1])


class Portable:
    """Runs pieces one at a time; has the same scoring methods as `Flat`."""

    def __init__(self, network: Any) -> None:
        """Raises Unsupported, saying why."""
        if getattr(network, "_is_stateful", False):
            raise Unsupported("state, which is not keys and values")
        self.dtype: torch.dtype = network.dtype
        self._network = network

    def span(self, past: int, tree: PromptTree) -> int:
        """The length to verify for a tree after `past` tokens: all its tokens, because a
        network may apply a window to the rows of a pass instead of to positions."""
        return past + len(tree.tokens)

    @torch.inference_mode()
    def keys_values(self, tokens: Sequence[int]) -> KeysValues:
        """Keys and values of one text in every layer."""
        cache = DynamicCache()
        ids = torch.tensor([list(tokens)], device=self._network.device)
        self._network(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        layers: list[Any] = list(cache.layers)
        return tuple(
            (keys[0].transpose(0, 1), values[0].transpose(0, 1))
            for keys, values in ((layer.keys, layer.values) for layer in layers)
        )

    @torch.inference_mode()
    def logprobs(self, pieces: Sequence[Piece], columns: Sequence[int]) -> Tensor:
        """Log-probabilities of the tokens `columns` after every end of every piece.

        Shape (ends of all pieces in order, columns), float32, on the network's device; normalised
        over the whole vocabulary.
        """
        wanted = torch.tensor(columns, device=self._network.device)
        return torch.cat([self._after(piece)[:, wanted] for piece in pieces])

    def _after(self, piece: Piece) -> Tensor:
        device = self._network.device
        cache = DynamicCache()
        for number, (keys, values) in enumerate(piece.past):
            cache.update(keys.transpose(0, 1)[None], values.transpose(0, 1)[None], number)
        logits = self._network(
            input_ids=torch.from_numpy(piece.tree.tokens)[None].to(device),
            position_ids=torch.from_numpy(places_of(piece))[None].to(device),
            attention_mask=torch.from_numpy(mask_of(piece))[None, None].to(device, self.dtype),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=torch.from_numpy(piece.tree.ends).to(device),
        ).logits
        return torch.log_softmax(logits[0].float(), dim=-1)
