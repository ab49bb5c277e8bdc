"""The portable path: a decision's tree through the library's own forward pass.

Runs any decoder that takes positions and a four-dimensional mask, which `ragged_forward.py` cannot.
A decision is a separate row, so it does not depend on the other requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from gauntlet.models.engine.attention import KeysValues
from gauntlet.models.engine.layout import Piece, mask_of, places_of
from gauntlet.models.engine.ragged_forward import Unsupported
from gauntlet.models.engine.trie import PromptTree


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
