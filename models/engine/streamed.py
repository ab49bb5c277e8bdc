"""Networks larger than memory: their layers stay in files, and each pass reads them.

Embeddings, norms and the head are loaded as usual. The weights of even layers are views of one
block of memory, those of odd layers of another; whoever goes through the list of layers finds each
in its block when its turn comes, while a thread reads the next one into the other block. So no way
to run a network knows of it, there are never more than two layers in memory, and the floats and
what is done with them are the same.

A pass over so many tokens that a layer's products take longer than reading it costs no more time
than with all weights in memory: `Stream.hiding` says how many those are.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:  # whoever only plans needs no transformers
    from gauntlet.models.engine.weight_index import Files, Recipe, Stored

LOG = logging.getLogger("gauntlet")

BLOCKS = 2
ATTRIBUTE = "layer_stream"
"""Under which name a network has its stream."""
TELLING, LONG = 0.2, 5.0
"""Waiting is worth a line from this share of the time on, where a call takes so many seconds."""
TRIES = 3
"""Products that are timed; the fastest counts."""


@dataclass(frozen=True)
class Lying:
    """A layer's weights by name, as views of its block, and what they are made of."""

    weights: Mapping[str, Tensor]
    recipes: Sequence[Recipe]

    @property
    def stored(self) -> list[Stored]:
        return [part.stored for recipe in self.recipes for part in recipe.parts]

    @property
    def bytes(self) -> int:
        """In the files."""
        return sum(one.bytes for one in self.stored)


class Stream:
    """Brings the layers of one network into two blocks of memory, round and round.

    waited: seconds for which passes waited for a layer. bytes: read so far. reading: the seconds
    that took. held: the layers that the blocks hold.
    """

    def __init__(self, reader: Reader, layers: Sequence[Lying]) -> None:
        self.waited, self.reading, self.bytes = 0.0, 0.0, 0
        self.held: list[int | None] = [None] * BLOCKS
        self.layers = layers
        self._asking = RLock()
        self._told = False
        self._read = reader
        self._coming: list[tuple[int, Future[None]] | None] = [None] * BLOCKS
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="layers")
        self._walk: object = None

    def __deepcopy__(self, memo: object) -> Stream:
        """Modules that are copied and share their weights share the blocks too."""
        return self

    @contextmanager
    def turn(self, requests: int) -> Iterator[None]:
        """Keeps others from going through the layers. Says once where reading them took much of
        the time, and what would help."""
        with self._asking:
            waited, started = self.waited, time.perf_counter()
            yield
            took = time.perf_counter() - started
            share = (self.waited - waited) / took
        if requests and took > LONG and share > TELLING and not self._told:
            self._told = True
            LOG.warning(
                "model %r waited for its layers %.0f%% of the time that %d requests took: with "
                "about %.0f times as large a width, each reading serves more of them",
                *(
                    self._read.files.name,
                    100 * share,
                    requests,
                    math.ceil(1 / max(1 - share, 0.01)),
                ),
            )

    def walk(self) -> Iterator[int]:
        """The numbers of the layers in order, each once it lies in its block. Raises what reading
        raises: ModelError, Stopped."""
        mine = self._walk = object()
        count = len(self.layers)
        for number in range(count):
            self._wait_for(number)
            after = (number + 1) % count
            if after % BLOCKS != number % BLOCKS:
                self._fetch(after)
            yield number
            if self._walk is not mine:
                raise RuntimeError("the layers of one network were gone through twice at a time")
            self._read.let_go()
        self._fetch(0)

    @cached_property
    def hiding(self) -> int:
        """Tokens of a pass whose products take as long as reading a layer does: measured by one
        layer from the disk and some products."""
        return max(1, round(self.layer_seconds() / self._read.token_seconds(self.layers[0])))

    def layer_seconds(self) -> float:
        """What reading the first layer from the disk takes."""
        with self._asking:
            self._read.files.forget(self.layers[0].stored)
            self._coming[0] = None
            before = self.reading
            self._wait_for(0)
            return self.reading - before

    def _fetch(self, number: int) -> None:
        """Begins to read the layer, unless its block holds it or is to hold it next."""
        coming = self._coming[number % BLOCKS]
        if coming is None or coming[0] != number:
            self._coming[number % BLOCKS] = number, self._thread.submit(self._bring, number)

    def _wait_for(self, number: int) -> None:
        self._fetch(number)
        coming = self._coming[number % BLOCKS]
        assert coming is not None
        started = time.perf_counter()
        try:
            coming[1].result()
        except BaseException:
            self._coming[number % BLOCKS] = None
            raise
        self.waited += time.perf_counter() - started

    def _bring(self, number: int) -> None:
        """Fills the layer's block; in the thread that reads."""
        started = time.perf_counter()
        self.held[number % BLOCKS] = None
        # The disk goes on meanwhile, whenever this thread's turn comes.
        self._read.files.expect(self.layers[(number + 1) % len(self.layers)].stored)
        self._read.fill(self.layers[number])
        self.held[number % BLOCKS] = number
        self.bytes += self.layers[number].bytes
        self.reading += time.perf_counter() - started


class Streamed(nn.ModuleList):
    """A network's list of layers, each of which is there only while it is gone through in order."""

    def __init__(self, layers: Sequence[nn.Module], stream: Stream) -> None:
        super().__init__(layers)
        self.stream = stream

    def __iter__(self) -> Iterator[nn.Module]:
        modules = list(self._modules.values())
        for number in self.stream.walk():
            yield modules[number]

    def __getitem__(self, key: Any) -> Any:
        """All layers. Raises RuntimeError where some are asked for: they may not be there."""
        if isinstance(key, slice) and len(range(len(self))[key]) == len(self) and key.step is None:
            return self
        raise RuntimeError("a layer is asked for out of turn")


class Reader:
    """Reads weights into their places on a device, one at a time."""

    def __init__(self, files: Files, config: Any, device: torch.device) -> None:
        self.files = files
        self._config, self._device = config, device
        self._scratch = torch.empty(0, dtype=torch.uint8)
        side: Any = torch.cuda.Stream
        self._side = side(device) if device.type == "cuda" else None

    def fill(self, lying: Lying) -> None:
        """Reads all of it. Raises ModelError, and Stopped where the files are others by now."""
        with torch.cuda.stream(self._side) if self._side else nullcontext():
            for recipe in lying.recipes:
                self._make(recipe, lying.weights)
        self.files.check()

    def let_go(self) -> None:
        """Waits until the device is done with the layer that was gone through last."""
        if self._side:
            now: Any = torch.cuda.current_stream(self._device)
            now.synchronize()

    def token_seconds(self, lying: Lying) -> float:
        """What a layer's products take for a token, computed from one with its largest matrix. Of
        experts, whose matrices lie in one weight, those count that a token meets."""
        from gauntlet.models.engine.ragged_forward import ROWS

        rows = ROWS[self._device.type]
        largest = max(
            (matrix for weight in lying.weights.values() for matrix in _matrices(weight)[:1]),
            key=Tensor.numel,
        )
        given = torch.ones(rows, largest.shape[1], dtype=largest.dtype, device=self._device)
        took = min(self._timed(given, largest) for _ in range(TRIES))
        met = sum(_met(weight, self._config) for weight in lying.weights.values())
        return took / rows * met / largest.numel()

    def _timed(self, rows: Tensor, matrix: Tensor) -> float:
        self.let_go()
        started = time.perf_counter()
        torch.mm(rows, matrix.t())
        self.let_go()
        return time.perf_counter() - started

    def _make(self, recipe: Recipe, weights: Mapping[str, Tensor]) -> None:
        if recipe.conversion is None:
            self._into(recipe.parts[0].stored, weights[recipe.name])
            return
        like = weights[recipe.name]
        tensors = [torch.empty(p.stored.shape, dtype=like.dtype) for p in recipe.parts]
        for part, tensor in zip(recipe.parts, tensors, strict=True):
            self._into(part.stored, tensor)
        for name, made in recipe.converted(self._config, tensors).items():
            weights[name].copy_(made)

    def _into(self, stored: Stored, weight: Tensor) -> None:
        """Fills the weight straight from the file, or by way of memory that is used again."""
        if weight.device.type == "cpu" and weight.dtype == stored.dtype:
            self.files.read(stored, weight)
            return
        if len(self._scratch) < stored.bytes:
            pinned = self._side is not None
            self._scratch = torch.empty(stored.bytes, dtype=torch.uint8, pin_memory=pinned)
        read = self._scratch[: stored.bytes].view(stored.dtype).view(stored.shape)
        self.files.read(stored, read)
        weight.copy_(read)


def _matrices(weight: Tensor) -> list[Tensor]:
    """The matrices that a weight is: none, itself, or one an expert."""
    if weight.dim() == 3:
        return [weight[number] for number in range(len(weight))]
    return [weight] if weight.dim() == 2 else []


def _met(weight: Tensor, config: Any) -> float:
    """How many of the weight's numbers a token is multiplied with."""
    asked = getattr(config.get_text_config(decoder=True), "num_experts_per_tok", None)
    share = asked / len(weight) if weight.dim() == 3 and asked else 1.0
    return weight.numel() * share if weight.dim() > 1 else 0.0


def stream_of(network: Any) -> Stream | None:
    """What brings the network's layers, if they are not in memory."""
    stream: Stream | None = getattr(network, ATTRIBUTE, None)
    return stream


def turn_of(network: Any, requests: int = 0) -> AbstractContextManager[None]:
    """Entered by whoever asks the network so many requests; waits until nobody else does."""
    stream = stream_of(network)
    return nullcontext() if stream is None else stream.turn(requests)
