"""Layers in 8 bits, with the CPU's own product of 8-bit floats where there is no GPU."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.equivalence_check import TOLERANCE_OF_8_BITS, tolerance
from gauntlet.models.engine.fp8 import E4M3, LARGEST, Linear8, quantize, scaled


def test_a_row_is_scaled_to_the_whole_range_and_rounded_by_a_sixteenth_at_most():
    rows = torch.randn(9, 64) * torch.logspace(-6, 6, 9)[:, None]
    eight, scale = scaled(rows)
    assert eight.dtype == E4M3
    assert eight.float().abs().amax(dim=-1).tolist() == pytest.approx([LARGEST] * 9)
    large = rows.abs() > rows.abs().amax(dim=-1, keepdim=True) / 1000
    relative = ((eight.float() * scale - rows) / rows).abs()[large]
    assert float(relative.max()) <= 1 / 16 + 1e-6


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_in_8_bits_is_near_the_layer(bias):
    torch.manual_seed(0)
    layer = nn.Linear(128, 64, bias=bias, dtype=torch.bfloat16)
    rows = torch.randn(3, 16, 128, dtype=torch.bfloat16)
    with torch.no_grad():
        exact, eight = layer(rows).float(), Linear8(layer)(rows).float()
    assert float((eight - exact).std() / exact.std()) < 0.06


def test_the_change_of_scores_is_told(make_checkpoint, caplog):
    folder = make_checkpoint("llama", initializer_range=0.1, hidden_size=64, intermediate_size=96)
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    quantize(network, "small")
    assert "'small' in fp8: log-probabilities of a probe moved by 0." in caplog.text
    assert isinstance(network.model.layers[2].mlp.up_proj, Linear8)
    assert type(network.lm_head) is nn.Linear
    assert tolerance(network) == TOLERANCE_OF_8_BITS


def test_an_unknown_architecture_is_refused(make_checkpoint):
    network = AutoModelForCausalLM.from_pretrained(make_checkpoint("gpt2"))
    with pytest.raises(ModelError, match="not for gpt2"):
        quantize(network, "other")
