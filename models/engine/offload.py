"""Opens a checkpoint whose layers stay in its files (`streamed.py`) while all else is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import accelerate  # type: ignore[import-untyped]
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.files import weight_files
from gauntlet.models.engine.streamed import ATTRIBUTE, BLOCKS, Lying, Reader, Stream, Streamed
from gauntlet.models.engine.weight_index import Files, Recipe, recipes

GRAIN = 64
"""Each weight begins at a multiple of so many bytes of its block, as memory of its own would: on
where it begins the last bits of a product may depend."""


def open_network(folder: Path, name: str, dtype: str, place: torch.device) -> Any:
    """The checkpoint's network, ready to run, with no more than two of its layers in memory.

    Raises ModelError, in one line, where it cannot be run so.
    """
    network = _skeleton(folder, name, getattr(torch, dtype))
    _check(network, name)
    files = Files(weight_files(folder, name), name)
    reader = Reader(files, network.config, place)
    path, layers = _layers(network, name)
    found = [_matched(network, recipe, name) for recipe in recipes(network, files.tensors)]
    made = {weight: recipe for recipe, weights in found for weight in weights}
    lying = _lay_out(network, path, made, place)
    _load_ends(network, path, made, reader, place)
    _tie(network, made, name)
    parent, _, last = path.rpartition(".")
    stream = Stream(reader, lying)
    setattr(network.get_submodule(parent), last, Streamed(list(layers), stream))
    setattr(network, ATTRIBUTE, stream)
    return network.eval().requires_grad_(False)


def _skeleton(folder: Path, name: str, dtype: torch.dtype) -> Any:
    """The network's modules, without memory for their weights."""
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        made: Any = AutoModelForCausalLM.from_config
        with accelerate.init_empty_weights(include_buffers=False):
            network = made(config, dtype=dtype)
        if (folder / "generation_config.json").is_file():
            network.generation_config = GenerationConfig.from_pretrained(folder)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"model {name!r} cannot be loaded: {why}") from error
    return network


def _check(network: Any, name: str) -> None:
    """Raises ModelError where the library does more with weights than their names and types say."""
    objection = None
    if getattr(network.config, "quantization_config", None) is not None:
        objection = "its weights are quantized"
    elif network._get_dtype_plan(network.dtype):
        objection = f"some of its weights stay in float32 beside {network.dtype}"
    if objection:
        raise _refusal(name, objection)


def _layers(network: Any, name: str) -> tuple[str, nn.ModuleList]:
    """The list of the network's decoder layers, and its name."""
    count = network.config.get_text_config(decoder=True).num_hidden_layers
    lists = [
        (path, module)
        for path, module in network.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count
    ]
    if not lists:
        raise _refusal(name, f"it has no list of {count} layers")
    path, layers = max(lists, key=lambda one: sum(p.numel() for p in one[1].parameters()))
    tied = [key for pair in network.all_tied_weights_keys.items() for key in pair]
    if any(key.startswith(f"{path}.") for key in tied):
        raise _refusal(name, "its layers share weights")
    return path, layers


def _matched(network: Any, recipe: Recipe, name: str) -> tuple[Recipe, tuple[str, ...]]:
    """The recipe with the weights that it makes, whose shapes are as they should be."""
    empty = [torch.empty(p.stored.shape, device="meta") for p in recipe.parts]
    made = {recipe.name: empty[0]}
    if recipe.conversion is not None:
        try:
            made = recipe.converted(network.config, empty)
        except Exception as error:  # whatever the library's operations raise
            raise _refusal(name, f"{recipe.name} is made by more than its config") from error
    for key, tensor in made.items():
        wanted = network.get_parameter_or_buffer(key).shape
        if tensor.shape != wanted:
            raise ModelError(
                f"model {name!r}: {key} has the shape {tuple(tensor.shape)} in its files, and "
                f"{tuple(wanted)} by its config"
            )
    return recipe, tuple(made)


def _lay_out(
    network: Any, path: str, recipes: Mapping[str, Recipe], place: torch.device
) -> list[Lying]:
    """Gives the layers' weights, as far as the files have them, their places in the blocks."""
    layers = network.get_submodule(path)
    wanted = [
        {
            f"{path}.{number}.{key}": weight
            for key, weight in layer.named_parameters()
            if f"{path}.{number}.{key}" in recipes
        }
        for number, layer in enumerate(layers)
    ]
    size = max(sum(map(_room, weights.values())) for weights in wanted)
    count = min(BLOCKS, len(wanted))
    blocks = [torch.empty(size, dtype=torch.uint8, device=place) for _ in range(count)]
    lying = []
    for number, weights in enumerate(wanted):
        views = _views(blocks[number % BLOCKS], weights)
        for key, view in views.items():
            _put(network, key, view)
        used = {id(recipes[key]): recipes[key] for key in weights}
        lying.append(Lying(views, tuple(used.values())))
    return lying


def _views(block: Tensor, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A part of the block for each of the weights."""
    views, start = {}, 0
    for key, weight in weights.items():
        part = block[start : start + weight.nbytes]
        views[key] = part.view(weight.dtype).view(weight.shape)
        start += _room(weight)
    return views


def _room(weight: Tensor) -> int:
    return -(-weight.nbytes // GRAIN) * GRAIN


def _load_ends(
    network: Any, path: str, recipes: Mapping[str, Recipe], reader: Reader, place: torch.device
) -> None:
    """Loads what is of no layer, and the buffers of layers, which are small."""
    held = dict(network.named_parameters()) | dict(network.named_buffers())
    ends = {
        key: torch.empty(held[key].shape, dtype=held[key].dtype, device=place)
        for key in recipes
        if held[key].device.type == "meta" or key in dict(network.named_buffers())
    }
    used = {id(recipes[key]): recipes[key] for key in ends}
    reader.fill(Lying(ends, tuple(used.values())))
    for key, tensor in ends.items():
        _put(network, key, tensor)
    for key, buffer in list(network.named_buffers()):
        _put(network, key, buffer.to(place))


def _put(network: Any, key: str, tensor: Tensor) -> None:
    """Makes the tensor the parameter or the buffer of that name."""
    owner, _, leaf = key.rpartition(".")
    module = network.get_submodule(owner)
    if leaf in module._parameters:
        module._parameters[leaf] = nn.Parameter(tensor, requires_grad=False)
    else:
        module._buffers[leaf] = tensor


def _tie(network: Any, recipes: Mapping[str, Recipe], name: str) -> None:
    """Lets weights that are one be one. Raises ModelError where some are nowhere."""
    absent = {key for key in network.state_dict() if key not in recipes}
    network.tie_weights(missing_keys=absent, recompute_mapping=False)
    lacking = sorted(k for k, weight in network.named_parameters() if weight.is_meta)
    if lacking:
        raise ModelError(f"model {name!r} lacks {len(lacking)} weights, such as {lacking[0]}")


def _refusal(name: str, why: str) -> ModelError:
    return ModelError(
        f"model {name!r} cannot be run with offload=layers, as {why}; set model.offload=none"
    )
