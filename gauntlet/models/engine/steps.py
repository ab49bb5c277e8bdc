"""Steps of text generation on a CPU at the cost of reading the weights.

`Flat` pads a step to a tile of rows, whose products cost the same for one text as for a tile. Here
the weights of large networks are laid out once for oneDNN, whose products neither need a tile nor
change a row's bits with the number of rows or threads. Both properties are tested on the network's
own shapes before the first step; if one does not hold, `Flat` keeps its tiles. Small networks keep
them too: there calls cost more than products.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gauntlet.models.engine.attention import Layer
from gauntlet.models.engine.equivalence_check import TOLERANCE
from gauntlet.models.engine.memory import total_bytes
from gauntlet.models.engine.rotary import apply_rotary_

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
        queries, own = self._heads(self._project(_normed(self._norms[0], hidden)), rotary)
        hidden = hidden + self._out(mixing(number, queries, own, self._attention.scaling))
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
    """The layers and the head of a network of the flat pass."""

    def __init__(self, network: Any) -> None:
        """Raises RuntimeError if oneDNN cannot take the weights."""
        self._norm = network.model.norm
        self._layers = [LayerStep(layer) for layer in network.model.layers]
        self._head = Product(network.lm_head)

    def __call__(self, hidden: Tensor, rotary: tuple[Tensor, Tensor], mixing: Any) -> Tensor:
        """Logits (rows, vocabulary) in float32 from the embedded tokens."""
        return self.through(self._layers, hidden, rotary, mixing)

    def through(
        self, layers: Any, hidden: Tensor, rotary: tuple[Tensor, Tensor], mixing: Any
    ) -> Tensor:
        for number, layer in enumerate(layers):
            hidden = layer(number, hidden, rotary, mixing)
        return self._head(_normed(self._norm, hidden)).float()

    def probe(self, hidden: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
        """The logits of the first layer alone, without attention."""
        return self.through(self._layers[:1], hidden, rotary, unmixed)


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


def agree(steps: Steps, exact: Tensor, hidden: Tensor, rotary: tuple[Tensor, Tensor]) -> bool:
    """Whether `MOST` rows' probes are the expected ones up to rounding."""
    off = (steps.probe(hidden, rotary) - exact).square().mean().sqrt() / exact.std()
    return bool(off <= TOLERANCE[hidden.dtype])


def steady(steps: Steps, hidden: Tensor, rotary: tuple[Tensor, Tensor]) -> bool:
    """Whether a row's bits are the same in any number of rows, up to `MOST`."""
    every = steps.probe(hidden, rotary)
    for rows in PROBES:
        few = slice(MOST - rows, MOST)
        part = rotary[0][few], rotary[1][few]
        if not torch.equal(steps.probe(hidden[few], part), every[few]):
            return False
    return True


def _normed(norm: Any, rows: Tensor) -> Tensor:
    return functional.rms_norm(rows, norm.weight.shape, norm.weight, norm.variance_epsilon)
