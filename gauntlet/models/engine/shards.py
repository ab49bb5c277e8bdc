"""One rank of a network that several processes run together, each holding a part of the layers.

DeepSpeed's tensor parallelism splits the network; if it cannot, transformers' own does. Every rank
gets the same requests in the same order and takes the same steps, so that the all-reduces inside
the layers match; decisions that depend on a rank's memory use the minimum over ranks (`memory.py`).
The ranks' devices must be of one kind, or their rounding would differ.

Starting the ranks and sending them requests happens elsewhere.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gauntlet.common.errors import ModelError, counted
from gauntlet.models.engine.equivalence_check import TOLERANCE
from gauntlet.models.engine.local import choose_device, copy_weights, read_network
from gauntlet.models.engine.memory import Least, key_heads, layer_configs
from gauntlet.models.engine.ragged_forward import FAMILIES
from gauntlet.models.engine.reference import check_finite

LOG = logging.getLogger("gauntlet")

SLACK = 1.1
"""How much more than its fair share a rank may hold: norms and biases are on every rank."""
LOOPBACK = ("file:", "tcp://127.")
REFUSALS = (RuntimeError, ValueError, TypeError, AssertionError, AttributeError, ImportError)
"""What the libraries raise if they cannot split a network, or are not installed."""


@dataclass(frozen=True)
class Rank:
    """A process's rank, 0 to `ranks` - 1, and the URL of the rendezvous.

    meeting: tcp://address:port of rank 0, or file:///path if all are on one machine.
    one_card: the ranks share a GPU, so all-reduces go through main memory: NCCL needs one GPU each.
    """

    number: int
    ranks: int
    meeting: str
    one_card: bool = False


def load_part(folder: Path, name: str, dtype: str, device: str, rank: Rank) -> tuple[Any, Least]:
    """This rank's part of a checkpoint's network, and the minimum of a number over all ranks.

    All ranks must call it. `name` is the user's name for the checkpoint. Raises ModelError if the
    network cannot be split into that many parts.
    """
    place = choose_device(device)
    least = meet(rank, place)
    full = read_network(folder, name, dtype, torch.device("cpu"))
    unsharded = _Unsharded(full, rank.ranks, name)
    reasons: list[str] = []
    for by, cut in (("DeepSpeed", _by_deepspeed), ("transformers", _by_transformers)):
        try:
            network = cut(
                full,
                rank.ranks,
                lambda further: read_network(folder, name, dtype, place, **further),
            )
            reason = unsharded.objection(network)
        except REFUSALS as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if reason is None:
            if reasons and rank.number == 0:
                LOG.warning("model %r is cut by %s: %s", name, by, "; ".join(reasons))
            return copy_weights(network), least
        reasons.append(f"{by} cannot ({reason})")
        # The first attempt may have split some layers already.
        full = None
    raise ModelError(f"model {name!r} cannot be cut into {rank.ranks} shards: {'; '.join(reasons)}")


def meet(rank: Rank, place: torch.device) -> Least:
    """Join the other ranks, once per process; returns the minimum over ranks."""
    if not torch.distributed.is_initialized():
        _join(rank, place)
    # Over the CPU's network, so that it never waits for a GPU.
    group: Any = torch.distributed.new_group(backend="gloo")

    def least(number: int) -> int:
        box = torch.tensor([number], dtype=torch.int64)
        torch.distributed.all_reduce(box, op=torch.distributed.ReduceOp.MIN, group=group)
        return int(box)

    return least


def _join(rank: Rank, place: torch.device) -> None:
    """DeepSpeed reads most of this from the environment, some of it on import."""
    os.environ.update(
        RANK=str(rank.number),
        WORLD_SIZE=str(rank.ranks),
        LOCAL_RANK="0",  # each process sees only its own device
        MASTER_ADDR="unused",
        MASTER_PORT="0",
    )
    if place.type == "cpu":
        os.environ["DS_ACCELERATOR"] = "cpu"
    if rank.meeting.startswith(LOOPBACK):
        os.environ.update(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo")
    torch.distributed.init_process_group(
        backend="gloo" if place.type == "cpu" or rank.one_card else "nccl",
        init_method=rank.meeting,
        rank=rank.number,
        world_size=rank.ranks,
    )


Read = Callable[[dict[str, Any]], Any]
"""Reads the network again, with further options of the library."""


def _by_deepspeed(model: Any, ranks: int, read: Read) -> Any:
    """The network with its layers replaced by parts, in place, on this rank's device."""
    import deepspeed
    import deepspeed.ops

    # Its shared-memory all-reduce crashes unless all ranks are declared to be on one machine.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed(auto_mpi_discovery=False, verbose=False)  # reuses the existing group
    engine = deepspeed.init_inference(
        model,
        tensor_parallel={"tp_size": ranks, "tp_grain_size": 1},
        dtype=model.dtype,
        replace_with_kernel_inject=False,
    )
    network = engine.module
    if hasattr(network, "lm_head"):
        network.lm_head = _Head(network.lm_head)
    return network


def _by_transformers(model: Any, ranks: int, read: Read) -> Any:
    from transformers.distributed.configuration_utils import DistributedConfig

    return read({"distributed_config": DistributedConfig(tp_size=ranks)})


class _Head(nn.Module):
    """Extends DeepSpeed's part of the last layer, which takes only batches of texts, to rows."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, rows: Tensor) -> Tensor:
        """(..., width) to (..., vocabulary)."""
        out: Tensor = self.inner(rows) if rows.dim() == 3 else self.inner(rows[None])[0]
        return out


class _Unsharded:
    """Properties of the whole network, to check a part against."""

    def __init__(self, network: Any, ranks: int, name: str) -> None:
        """Raises ModelError if there are fewer key heads than ranks."""
        config = network.config.get_text_config()
        heads = min(key_heads(layer)[0] for layer in layer_configs(config))
        if ranks > heads:
            raise ModelError(
                f"model {name!r} has {counted(heads, 'key head')}: it can be cut into at most "
                f"{heads} "
                f"shards, not {ranks}"
            )
        self._most = SLACK * -(-heads // ranks) / heads * layer_weights(network)
        # The known families are tested; for others the scores of a text are compared.
        known = config.model_type in FAMILIES
        self._answers = None if known else _probe(network)
        if self._answers is not None:
            check_finite(self._answers.max(), network.dtype, name)
        self._tolerance = TOLERANCE[network.dtype]

    def objection(self, part: Any) -> str | None:
        """Why this is not a valid part of the network, or None."""
        held = layer_weights(part)
        if held > self._most:
            return f"a rank would hold {held:,} weights of the layers, not {self._most:,.0f}"
        if self._answers is not None:
            off = (_probe(part) - self._answers).square().mean().sqrt() / self._answers.std()
            if not off <= self._tolerance:
                return f"the answers would be off by {float(off):.2g}"
        return None


def layer_weights(network: Any) -> int:
    """The number of layer weights in this process, without embedding and head."""
    ends = (network.get_input_embeddings(), network.get_output_embeddings())
    apart = {id(weight) for end in ends for weight in end.parameters()}
    weights = [weight for weight in network.parameters() if id(weight) not in apart]
    return sum((w.to_local() if hasattr(w, "to_local") else w).numel() for w in weights)


@torch.inference_mode()
def _probe(network: Any) -> Tensor:
    """Log-probabilities after a text of a dozen tokens, on the CPU in float32."""
    text = torch.arange(12, device=network.device)[None] * 7 % network.config.vocab_size
    logits = network(input_ids=text, use_cache=False, logits_to_keep=1).logits
    return torch.log_softmax(logits[0, -1].float(), dim=-1).cpu()
