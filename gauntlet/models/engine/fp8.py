"""Linear layers in 8-bit floats, for devices that support them: half the memory of bfloat16.

Weights are e4m3 with one scale per output; input rows are rounded the same way, with one scale per
row. The head and the embedding stay unquantized, because they affect the answer directly.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor, nn

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.ragged_forward import FAMILIES

LOG = logging.getLogger("gauntlet")

E4M3 = torch.float8_e4m3fn
LARGEST = torch.finfo(E4M3).max
CAPABILITY = (8, 9)
"""The lowest compute capability with e4m3 matrix multiplication."""


class Linear8(nn.Module):
    """A linear layer with 8-bit weights; inputs and outputs are bfloat16."""

    weight: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = scaled(linear.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale.t().contiguous())
        self.bias = linear.bias

    def forward(self, rows: Tensor) -> Tensor:
        """(..., inputs) to (..., outputs)."""
        flat, scale = scaled(rows.flatten(0, -2))
        out: Tensor = torch._scaled_mm(
            flat, self.weight.t(), scale_a=scale, scale_b=self.scale, out_dtype=torch.bfloat16
        )
        if self.bias is not None:
            out = out + self.bias
        return out.view(*rows.shape[:-1], -1)


def scaled(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The rows in e4m3 and their scales, (rows, 1) in float32."""
    scale = rows.float().abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / LARGEST
    return (rows.float() / scale).to(E4M3), scale


def check_device(device: torch.device, name: str) -> None:
    has = torch.cuda.get_device_capability(device) if device.type == "cuda" else None
    if has is None or has < CAPABILITY:
        what = "this is a CPU" if has is None else f"this one has {has[0]}.{has[1]}"
        raise ModelError(
            f"model {name!r}: quantization 'fp8' needs a GPU of compute capability 8.9 or later, "
            f"{what}; set quantization to none"
        )


@torch.inference_mode()
def quantize(network: Any, name: str) -> None:
    """Quantize the network's layers to 8 bits in place, and log how a probe's scores changed.
    Raises ModelError for an unsupported architecture."""
    if network.config.model_type not in FAMILIES:
        raise ModelError(
            f"model {name!r}: quantization 'fp8' is known for {', '.join(FAMILIES)}, not for "
            f"{network.config.model_type}"
        )
    texts = torch.arange(16 * 24, device=network.device).view(16, 24) * 7
    texts %= network.config.vocab_size
    before = _scores(network, texts)
    for layer in network.model.layers:
        for part in (layer.self_attn, layer.mlp):
            for child, module in list(part.named_children()):
                if type(module) is nn.Linear:
                    setattr(part, child, Linear8(module))
    after = _scores(network, texts)
    LOG.warning(
        "model %r in fp8: log-probabilities of a probe moved by %.2g (root mean square; they "
        "spread by %.2g); the likeliest token changed in %d of %d texts",
        name,
        (after - before).square().mean().sqrt(),
        before.std(),
        (after.argmax(dim=-1) != before.argmax(dim=-1)).sum(),
        len(texts),
    )


def _scores(network: Any, texts: Tensor) -> Tensor:
    logits = network(input_ids=texts, use_cache=False, logits_to_keep=1).logits
    return torch.log_softmax(logits[:, -1].float(), dim=-1)
