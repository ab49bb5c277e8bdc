"""A checkpoint in this process: loads the network and dispatches requests to its engine.

Of a network larger than memory, accelerate keeps as many modules in memory as fit and reads the
others from the checkpoint's files for every pass. Scores keep their bits.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Event, Lock, RLock
from typing import Any
from weakref import WeakValueDictionary

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM
from transformers.utils.logging import disable_progress_bar, enable_progress_bar

from gauntlet.common.errors import ModelError, Stopped
from gauntlet.models.base import Done, Generate, More, Reply, Request, Score
from gauntlet.models.engine.equivalence_check import FIRST, probe
from gauntlet.models.engine.files import Stamp, weight_files
from gauntlet.models.engine.generate import Generator
from gauntlet.models.engine.memory import (
    WEIGHTS_SHARE,
    Least,
    alone,
    free_bytes,
    is_offloaded,
    total_bytes,
)
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.reference import Reference
from gauntlet.models.engine.tokens import Tokens


@dataclass
class Source:
    """The files that an offloaded network reads its weights from, as they were at loading.

    scratch: where accelerate writes weights that it has to convert; it goes with the network.
    """

    name: str
    stamps: tuple[Stamp, ...]
    scratch: str = field(default_factory=tempfile.mkdtemp)
    lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.scratch, ignore_errors=True)

    def check(self) -> None:
        """Raises Stopped if a file has changed or is gone."""
        if not all(map(_is_unchanged, self.stamps)):
            raise Stopped(
                f"the files of model {self.name!r} changed while its weights were read from them; "
                "put the old ones back and start the run again, or play the new ones as new cells"
            )


def _is_unchanged(stamp: Stamp) -> bool:
    try:
        return Stamp.from_file(Path(stamp.file)) == stamp
    except FileNotFoundError:
        return False


SOURCES: weakref.WeakKeyDictionary[Any, Source] = weakref.WeakKeyDictionary()
"""The files of each offloaded network in this process."""


def options(place: torch.device, scratch: str) -> dict[str, Any]:
    """Options of transformers that leave half of the device's free memory free."""
    places: dict[str | int, torch.device] = {"cpu": torch.device("cpu")}
    if place.type == "cuda":
        places[place.index or 0] = place
    memory = {key: int(WEIGHTS_SHARE * free_bytes(device)) for key, device in places.items()}
    return {"device_map": "auto", "max_memory": memory, "offload_folder": scratch}


@contextmanager
def turn(network: Any) -> Iterator[None]:
    """Let one thread at a time run an offloaded network, whose weights come and go. Raises Stopped
    if its files changed meanwhile."""
    source = SOURCES.get(network)
    if source is None:
        yield
        return
    with source.lock:
        yield
    source.check()


_LOADED: WeakValueDictionary[Any, Any] = WeakValueDictionary()
"""The networks in this process, by files, dtype, kind of device and offload."""
_LOADING = Lock()
LOG = logging.getLogger("gauntlet")

WIDE_SHARE = 1 / 4
"""The largest share of the machine's memory for a bfloat16 network that is held in float32."""

OF_OTHER_SENSES = re.compile(r"(^|\.)(vision|visual|image|audio|multi_modal|mm_|speech)")
"""Names of weights for what is seen or heard, which no text needs."""
NAMED = 3
"""Weights that a message names."""


class Local:
    """Answers requests with a network in this process's memory."""

    def __init__(
        self,
        network: Any,
        tokens: Tokens,
        engine: str,
        invariant: bool = True,
        least: Least = alone,
        thinking_room: int = 0,
        end_loops: int = 0,
    ) -> None:
        self.tokens = tokens
        self._network = network
        self._cancelled = Event()
        self._go_on = partial(_raise_if_set, self._cancelled)
        with turn(network):
            packed, plain = None, Reference(network, tokens, self._go_on)
            if engine == "packed":
                packed = Packed(network, tokens, invariant, least, self._go_on)
            else:
                plain.next_token(probe(FIRST, plain.vocabulary))  # raises if it is unusable
            self._scorer = packed or plain
            self._writer = Generator(
                network, tokens, packed, least, thinking_room, self._go_on, end_loops
            )

    def answer(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies: dict[int, Reply] = {}
        self.answer_on(requests, list, replies.__setitem__)
        return [replies[number] for number in range(len(requests))]

    def answer_on(self, requests: Sequence[Request], more: More, done: Done) -> None:
        """Answer the requests and those that `more` returns while texts are written."""
        numbers = count()

        def to_write(new: Sequence[Request]) -> list[tuple[int, Generate]]:
            """Answer what asks for scores; return the rest."""
            self._go_on()
            numbered = list(zip(new, numbers, strict=False))
            scores = [
                (request, number) for request, number in numbered if isinstance(request, Score)
            ]
            replies = self._scorer.score([request for request, _ in scores])
            for (_, number), reply in zip(scores, replies, strict=True):
                done(number, reply)
            return [(n, request) for request, n in numbered if isinstance(request, Generate)]

        with turn(self._network):
            self._writer.write_on(to_write(requests), lambda: to_write(more()), done)

    def cancel(self) -> None:
        """Answers in progress and later ones raise ModelError. May be called from any thread."""
        self._cancelled.set()

    def close(self) -> None:
        """Free the network; the model cannot answer afterwards."""
        del self._scorer, self._writer, self._network
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _raise_if_set(cancelled: Event) -> None:
    if cancelled.is_set():
        raise ModelError("the run ends")


def load_network(
    folder: Path,
    name: str,
    dtype: str,
    device: str,
    offload: str = "none",
    may_widen: bool = False,
) -> Any:
    """The checkpoint's causal language model, ready to run. Raises ModelError. Weights that this
    process already holds are shared, not loaded again.

    may_widen: compute in a wider dtype where that is faster.
    """
    place = choose_device(device)
    with _LOADING:
        key = (_stamp(folder, name), dtype, place.type, offload, may_widen)
        network = _LOADED.get(key)
        if network is None:
            source = Source(name, _stamp(folder, name)) if offload == "disk" else None
            further = options(place, source.scratch) if source else {}
            network = copy_weights(read_network(folder, name, dtype, place, **further))
            if may_widen and not source:
                widen(network)
            if source and network.device.type == "meta":
                raise ModelError(
                    f"model {name!r} cannot be offloaded: its embeddings do not fit in memory"
                )
            if source and is_offloaded(network):
                SOURCES[network] = source
            _LOADED[key] = network
    return network


def widen(network: Any) -> None:
    """Compute a bfloat16 network in float32 on a processor whose bfloat16 products are slow: they
    take several times as long. The weights keep their bfloat16 values. A network that would take
    more than `WIDE_SHARE` of the memory stays as it is."""
    if network.device.type != "cpu" or network.dtype != torch.bfloat16 or fast_bfloat16():
        return
    if 2 * sum(weight.nbytes for weight in network.parameters()) <= WIDE_SHARE * total_bytes():
        network.float()


def fast_bfloat16() -> bool:
    """Whether this processor has instructions for which torch has bfloat16 products."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _stamp(folder: Path, name: str) -> tuple[Stamp, ...]:
    return tuple(map(Stamp.from_file, (folder / "config.json", *weight_files(folder, name))))


def copy_weights(network: Any) -> Any:
    """The network with its CPU weights copied to private memory. The library maps them from the
    file, so overwriting the file would change them under the model."""
    for weight in (*network.parameters(), *network.buffers()):
        if weight.device.type == "cpu":
            weight.data = weight.data.clone()
    return network


def read_network(folder: Path, name: str, dtype: str, place: torch.device, **further: Any) -> Any:
    """Read the checkpoint's network; `further` options go to the library. Raises ModelError."""
    show_progress = enable_progress_bar if sys.stderr.isatty() else disable_progress_bar
    show_progress()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, **further}
    # Straight to the device, weight by weight; without accelerate through main memory.
    if place.type != "cpu" and find_spec("accelerate") and not further:
        options["device_map"] = {"": place}
    load: Any = AutoModelForCausalLM.from_pretrained
    try:
        network, report = load(
            str(folder),
            dtype=getattr(torch, dtype),
            use_safetensors=True,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # below they are an error in one line
            **options,
        )
    except torch.OutOfMemoryError as error:
        raise ModelError(f"model {name!r} does not fit in the memory of device {place}") from error
    except (
        *(OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError),
        SafetensorError,
    ) as error:
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"model {name!r} cannot be loaded: {why}") from error
    if report["missing_keys"]:
        absent = sorted(report["missing_keys"])
        raise ModelError(f"model {name!r} lacks {len(absent)} weights, such as {absent[0]}")
    if report["mismatched_keys"]:
        weight, stored, expected = min(report["mismatched_keys"])
        raise ModelError(
            f"model {name!r}: config.json does not fit its weights: {weight} has the shape "
            f"{tuple(stored)}, and should have {tuple(expected)}"
        )
    _warn_of_unused(name, frozenset(report["unexpected_keys"]))
    network = network.eval().requires_grad_(False)
    return network if hasattr(network, "hf_device_map") else network.to(place)


@cache
def _warn_of_unused(name: str, weights: frozenset[str]) -> None:
    unused = sorted(weight for weight in weights if not OF_OTHER_SENSES.search(weight))
    if unused:
        LOG.warning(
            "model %r: its config.json leaves %d weights of its files unused, such as %s; it may "
            "not be the model that was trained",
            name,
            len(unused),
            ", ".join(unused[:NAMED]),
        )


def choose_device(device: str) -> torch.device:
    """Resolve the device setting; among several GPUs the one with the fewest of this process's
    networks. Raises ModelError."""
    if device == "cuda" and not torch.cuda.is_available():
        raise ModelError("device 'cuda' was asked for, but this machine has no usable GPU")
    wanted = "cuda" if torch.cuda.is_available() else "cpu"
    place = torch.device(wanted if device == "auto" else device)
    if place.type == "cuda" and torch.cuda.device_count() > 1:
        # Spreads several models of a process over its GPUs.
        held = [network.device.index for network in list(_LOADED.values())]
        place = torch.device("cuda", min(range(torch.cuda.device_count()), key=held.count))
    return place
