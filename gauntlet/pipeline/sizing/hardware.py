"""Devices and networks as numbers: what fits on what.

Nothing here queries a machine or a hub: the named models are planned without their weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.common.errors import ModelError, UserError, suggest
from gauntlet.common.sanitize import one_line
from gauntlet.models.engine import hub
from gauntlet.models.engine.files import local_folder, read_json

GIB = 1 << 30
MOST_DEVICES = 100_000


@dataclass(frozen=True)
class Device:
    """One device. memory: GiB."""

    name: str
    memory: float


DEVICES = {
    device.name: device
    for device in (
        Device("H200", 131.3),
        Device("H100", 74.5),
        Device("A100-80", 74.5),
        Device("A100-40", 37.3),
        Device("L40S", 44.7),
        Device("A6000", 44.7),
        Device("4090", 22.4),
        Device("cpu", 4.0),
    )
}
"""From the vendors' data sheets (SXM where there are several variants): the 141 GB of an H200 are
131.3 GiB. `cpu` is one server core with its share of memory, for one worker per core."""


def devices(text: str) -> tuple[int, Device]:
    """Parse a number of devices: "8xH100", "H200". Raises UserError for an unknown device."""
    match = re.fullmatch(r"(?:0*(\d{1,9})\s*[xX*])?\s*(.+)", text.strip())
    names = {name.lower(): device for name, device in DEVICES.items()}
    count = int(match.group(1) or 1) if match else 1
    name = one_line(match.group(2) if match else "", 40)
    argument = f"--hardware {one_line(text, 40)!r}"
    if re.match(r"\d{10}", name) or not 1 <= count <= MOST_DEVICES:
        raise UserError(f"{argument}: there may be 1 to {MOST_DEVICES:,} devices")
    if name.lower() not in names:
        longer = [known for known in DEVICES if known.lower().startswith(name.lower())]
        hint = suggest(name, longer if name and longer else DEVICES)
        raise UserError(f"{argument}: no device {name!r}{hint}")
    return count, names[name.lower()]


@dataclass(frozen=True)
class Shape:
    """A dense Llama-style decoder, with the field names of its config.json."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    tie_word_embeddings: bool = False

    @property
    def layer_parameters(self) -> int:
        """Parameters of all layers: four projections, a gated MLP of three, two norms."""
        queries = self.num_attention_heads * self.head_dim
        keys = self.num_key_value_heads * self.head_dim
        attention = self.hidden_size * 2 * (queries + keys)
        layer = attention + 3 * self.hidden_size * self.intermediate_size + 2 * self.hidden_size
        return self.num_hidden_layers * layer

    @property
    def parameters(self) -> int:
        """All parameters: layers, embedding, the head if not tied, and the last norm."""
        tables = 1 if self.tie_word_embeddings else 2
        return self.layer_parameters + (tables * self.vocab_size + 1) * self.hidden_size


SHAPES = {
    "meta-llama/Llama-3.2-1B": Shape(2048, 16, 32, 8, 64, 8192, 128256, True),
    "meta-llama/Llama-3.1-8B": Shape(4096, 32, 32, 8, 128, 14336, 128256),
    "mistralai/Mistral-Small-24B-Instruct-2501": Shape(5120, 40, 32, 8, 128, 32768, 131072),
    "meta-llama/Llama-3.3-70B-Instruct": Shape(8192, 80, 64, 8, 128, 28672, 128256),
}
"""From their config.json files on the Hugging Face hub."""


def shape_of(path: str) -> Shape:
    """The shape of the model at `path` (see models.checkpoint.Checkpoint). Raises UserError."""
    if path in SHAPES:
        return SHAPES[path]
    try:
        folder = local_folder(path) or hub.cached_folder(path, None)
        if folder is None:
            names = ", ".join(sorted(SHAPES))
            raise UserError(
                f"model {path!r} is not on this machine, so its shape is not known; fetch its "
                f"config.json into a folder and give that, or plan with one of {names}"
            )
        return _from_config(read_json(Path(folder) / "config.json", path), path)
    except ModelError as error:
        raise UserError(str(error)) from error


def _from_config(config: Mapping[str, Any], path: str) -> Shape:
    config = config.get("text_config", config)
    experts = [key for key in config if "expert" in key and config[key]]
    if experts:
        raise UserError(f"model {path!r} has {experts[0]}; only dense models are planned")
    try:
        heads = int(config["num_attention_heads"])
        return Shape(
            hidden_size=int(config["hidden_size"]),
            num_hidden_layers=int(config["num_hidden_layers"]),
            num_attention_heads=heads,
            num_key_value_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or config["hidden_size"] // heads),
            intermediate_size=int(config["intermediate_size"]),
            vocab_size=int(config["vocab_size"]),
            tie_word_embeddings=bool(config.get("tie_word_embeddings", False)),
        )
    except KeyError as error:
        raise UserError(f"model {path!r}: its config.json has no {error.args[0]}") from error
    except TypeError as error:
        raise UserError(
            f"model {path!r} has layers of several widths; only models with one are planned"
        ) from error
