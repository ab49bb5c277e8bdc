"""The flat pass through a network's own modules.

Works for every family whose attention goes through transformers' attention interface, and so
generalises what `ragged_forward.py` does by hand for four families: many decisions are concatenated
in one row, the library's modules run on that row, and at the attention call each piece attends to
its own past and branches. Windows, soft caps and sinks come with the call, as the library passes
them to any kernel. The modules are a copy that shares the network's weights, so the plain forward
pass is unchanged.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import local
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from gauntlet.models.engine.attention import Attention, KeysValues, Layer
from gauntlet.models.engine.layout import Layout, Piece, Tiles, lay_out, windowed
from gauntlet.models.engine.memory import Least, alone
from gauntlet.models.engine.ragged_forward import ANSWERS, ROWS, Unsupported
from gauntlet.models.engine.tiles import Tiled
from gauntlet.models.engine.trie import PromptTree, chain, grow

NAME = "gauntlet"
"""The name under which this attention is registered with the library."""
PROBES = (3, 21, 50, 7)
"""Lengths of the texts that test whether bits are batch-invariant."""


@dataclass
class Pass:
    """A forward pass in progress: the attention for every window that a layer has.

    kept: where each layer's keys and values go, if anywhere.
    calls: number of layers that have attended.
    """

    layout: Layout
    windowed: Callable[[int], Attention]
    kept: list[Layer] | None
    calls: int = 0

    def attention(self, window: int | None) -> Attention:
        return self.layout.all if window is None else self.windowed(window)


class _Going(local):
    """The pass of this thread."""

    now: Pass | None = None


_GOING = _Going()


class General:
    """Runs pieces through a causal language model with its own modules.

    Has the same scoring methods as `Flat`.
    """

    def __init__(self, network: Any, invariant: bool = True, least: Least = alone) -> None:
        """invariant: a row's bits do not depend on the rest of the batch; this is tested. Raises
        Unsupported, saying why, or what the network raises."""
        if least is not alone:
            raise Unsupported("parts, which lie in several processes")
        if getattr(network, "_is_stateful", False):
            raise Unsupported("state, which is not keys and values")
        self.device: torch.device = network.device
        self.dtype: torch.dtype = network.dtype
        self._network = weight_sharing_copy(network)
        rows = ROWS[self.device.type]
        self._tiles = Tiles(rows, ANSWERS) if invariant else Tiles(None, None)
        self._at_once = not invariant and self.device.type == "cuda"
        self._like = torch.empty(0, device=self.device, dtype=self.dtype)
        head = network.get_output_embeddings()
        self._tiled = Tiled(rows, ANSWERS, None if head is None else head.weight)
        self._invariant = invariant
        if invariant and not self._steady():
            raise Unsupported("bits, which depend on what else is asked")

    def span(self, past: int, tree: PromptTree) -> int:
        """The text length to verify for a tree after `past` tokens: that of its longest text."""
        return past + int(tree.depths.max()) + 1

    @torch.inference_mode()
    def keys_values(self, tokens: Sequence[int]) -> KeysValues:
        """Keys and values of one text in every layer, computed alone."""
        kept: list[Layer] = []
        self._logits([Piece(chain(tokens))], kept)
        return tuple((k[: len(tokens)].clone(), v[: len(tokens)].clone()) for k, v in kept)

    @torch.inference_mode()
    def logprobs(self, pieces: Sequence[Piece], columns: Sequence[int]) -> Tensor:
        """Log-probabilities of the tokens `columns` after every end of every piece.

        Shape (ends of all pieces in order, columns), float32, on the network's device; normalised
        over the whole vocabulary.
        """
        wanted = torch.tensor(columns, device=self.device)
        picked = [
            torch.log_softmax(tile.float(), dim=-1)[:, wanted]
            for tile in torch.split(self._logits(pieces, None), ANSWERS)
        ]
        return torch.cat(picked)

    def _logits(self, pieces: Sequence[Piece], layers: list[Layer] | None) -> Tensor:
        """The logits after every end, in the network's dtype."""
        like, at_once = self._like, self._at_once
        layout = lay_out(pieces, self._tiles, like, at_once)
        going = Pass(
            layout, cache(lambda window: windowed(layout, pieces, window, like, at_once)), layers
        )
        with _pass(going), self._tiled if self._invariant else nullcontext():
            logits: Tensor = self._network(
                input_ids=layout.tokens[None],
                position_ids=layout.places[None],
                use_cache=False,
                logits_to_keep=layout.answers,
            ).logits[0]
        if not going.calls:
            raise Unsupported("attention, which asks no interface")
        return logits[: layout.asked]

    @torch.inference_mode()
    def _steady(self) -> bool:
        """Whether the bits of some texts are the same one by one and together."""
        vocabulary = self._network.config.get_text_config(decoder=True).vocab_size
        drawn = np.random.default_rng(0).integers(vocabulary, size=(len(PROBES), max(PROBES)))
        texts = [row[:length].tolist() for row, length in zip(drawn, PROBES, strict=True)]
        past = self.keys_values(texts[0])
        pieces = [Piece(grow([text, text[::-1]]), past) for text in texts]
        together = self._logits(pieces, None)
        alone = torch.cat([self._logits([piece], None) for piece in pieces])
        return bool(torch.equal(together, alone))


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
    own = key[0].transpose(0, 1), value[0].transpose(0, 1)
    if going.kept is not None:
        going.kept.append(own)
    number, going.calls = going.calls, going.calls + 1
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    queries = query[0].transpose(0, 1)
    mixed = going.attention(sliding_window)(queries, own, number, scale, softcap, s_aux)
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
