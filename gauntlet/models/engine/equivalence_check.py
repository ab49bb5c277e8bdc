"""Checks up to which length a fast path agrees with the network's own forward pass.

A network may attend only to a window or chunk, or scale its positions for long texts; some say so
in their config, under many names, and some only in code. So nothing is taken on trust: a path is
compared with the plain forward pass on whole texts.

Lengths fall into classes, from the third on at most twice as long as the previous one, with extra
class ends at lengths that the config names. The first text of a class triggers its check, on
synthetic texts on both sides of every boundary the class may contain; this costs a few texts, and
only lengths that occur are checked. Results on a CPU are kept for later processes. Classes are
checked in order of length, and after a failure no more are tried: longer texts take the slow path.
The result depends only on the network, not on earlier requests; so does the path of each text, and
with it its last bits.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.attention import Piece
from gauntlet.models.engine.files import user_cache
from gauntlet.models.engine.memory import Memory, is_offloaded
from gauntlet.models.engine.reference import REFUSALS, Reference, longest
from gauntlet.models.engine.tokens import grow

LOG = logging.getLogger("gauntlet")

TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.1}
"""Allowed root-mean-square error of log-probabilities, relative to their standard deviation.
Rounding stays well below it; a wrong mask or position gives about 1."""
LEAST, GROWTH = 2 / 3, 4
"""The tolerance shrinks to GROWTH times the error of the first class, but not below LEAST of
itself. That error is the network's rounding, so a window with a small effect is detected in 16 bits
too. It may also be 0, as on a GPU, where short texts take the same kernels either way: SmolLM2 in
bfloat16 has 0, then .025 to .034; on a CPU .035, then .028 to .054."""
FIRST, SECOND, STEP = 16, 256, 4096
"""Lengths at which the first two classes end, and the maximum growth from one to the next."""
LENGTHS = re.compile(r"window|chunk|local|block|context|position|length|seq")
"""Matches setting names that may hold a length."""
ECHO = 4
"""A probe ends with the tokens it began with, because networks that learnt to copy look back
there."""
STEPS = 4
"""Single tokens that a text read in parts ends with."""
APART = 3
"""Number of tokens at the end of the second text of a probe's tree that differ from the first."""

Difference = Callable[[int, int], float]
"""The error of a path against the plain forward pass, for texts longer than the first and up to
the second number of tokens; raises one of `REFUSALS` if it cannot run them."""


class EquivalenceCheck:
    """What has been verified about one path of one network.

    proven: the length up to which all texts are verified.
    objection: why longer texts are not; None while that is open.
    """

    def __init__(
        self,
        network: Any,
        difference: Difference,
        memory: Memory,
        slow: str,
        stored: KeptDifferences | None = None,
    ) -> None:
        """slow: for the log, what happens to texts that are not verified.
        stored: the results of earlier processes."""
        self.proven = 0
        self.objection: str | None = None
        self._difference = difference
        self._memory = memory
        self._tolerance = TOLERANCE[network.dtype]
        self._slow = slow
        self._kept = stored
        self._ends = class_ends(network.config)

    def covers(self, length: int) -> bool:
        """Whether texts of this length are verified, checking further classes as needed."""
        while self.proven < length and self.objection is None:
            self._try(next(self._ends, None))
        return length <= self.proven

    def _try(self, end: int | None) -> None:
        if end is None:
            self.objection = "can hold no more"
            return
        self.objection = self._objection(end)
        if self.objection is None:
            self.proven = end
        elif self.proven:
            LOG.warning(
                "texts of more than %d tokens of %s: at %d tokens the fast way %s",
                self.proven,
                self._slow,
                end,
                self.objection,
            )

    def _objection(self, end: int) -> str | None:
        """Why the class up to `end` fails, or None."""
        try:
            difference = self._known_difference(end)
        except REFUSALS as error:
            return f"cannot run it ({type(error).__name__})"
        except ModelError as error:
            if not self.proven:
                raise
            return f"cannot be compared ({error})"
        if self._memory.any(not difference <= self._tolerance):
            return f"is off by {difference:.2g}"
        if not self.proven:
            self._tolerance *= min(1.0, max(LEAST, GROWTH * difference / self._tolerance))
        return None

    def _known_difference(self, end: int) -> float:
        """The difference in the class up to `end`: measured, unless it is kept."""
        difference = self._kept.get(end) if self._kept else None
        if difference is None:
            # All processes that run the network together must agree to go on.
            self._memory.claim(end)
            difference = self._difference(self.proven, end)
            if self._kept:
                self._kept.put(end, difference)
        return difference


def class_ends(config: Any) -> Iterator[int]:
    """Where the classes of lengths end, up to the longest text that the network reads."""
    limit, end = longest(config), 0
    named = sorted(n for n in lengths(config.to_dict()) if FIRST < n < limit)
    while end < limit:
        after = [n for n in named if n > end][:1]
        usual = max(SECOND, min(2 * end, end + STEP)) if end else FIRST
        end = min(usual, limit, *after)
        yield end


def lengths(settings: Any, name: str = "") -> Iterator[int]:
    """The integers in the settings, nested ones too, whose name suggests a length."""
    if isinstance(settings, dict):
        for key, value in settings.items():
            yield from lengths(value, str(key))
    elif isinstance(settings, (list, tuple)):
        for value in settings:
            yield from lengths(value, name)
    elif type(settings) is int and LENGTHS.search(name):
        yield settings


def probe(length: int, vocabulary: int) -> list[int]:
    """A fixed pseudo-random text of this length."""
    drawn = np.random.default_rng(length).integers(vocabulary, size=max(1, length - ECHO))
    return [int(token) for token in np.resize(drawn, length)]


def tree_difference(engine: Any, plain: Reference, low: int, high: int) -> float:
    """The error of an engine's scores for decisions of the class (low, high].

    It is the largest root mean square error of a text, over the standard deviation of the exact
    scores. The static head ends before `low`. It is followed by a tree with a text of `high` tokens
    and one that leaves it soon after `low`, so they lie on both sides of every boundary within the
    class. If what counts for the engine is all tokens of the tree, they follow one after the other,
    and the tree has `high` tokens in total.
    """
    text = probe(high, plain.vocabulary)
    head = max(low - FIRST, min(high // 8, 8))
    past = engine.keys_values(text[:head])
    first, second = branches(text, low or head + 4, plain.vocabulary)
    passes = [[text, second]]
    if engine.span(head, grow([text[head:], second[head:]])) > high:
        passes = [[text], [first, second]]
    worst, spread = 0.0, 0.0
    for texts in passes:
        pieces = [Piece(grow([sequence[head:] for sequence in texts]), past)]
        scored = engine.logprobs(pieces, range(plain.vocabulary))
        exact = torch.stack([plain.next_token(sequence) for sequence in texts])
        worst = max(worst, _largest(scored - exact))
        spread = max(spread, float(exact.std()))
    return _share(worst, spread)


def branches(text: list[int], short: int, vocabulary: int) -> list[list[int]]:
    """`text` without its end, and a variant that diverges to end after `short` tokens. Their tree
    has as many tokens as `text`."""
    long = len(text) - APART
    short = min(short, long)
    other = [(token + 1) % vocabulary for token in text[short - APART : short]]
    return [text[:long], text[: short - APART] + other]


def step_difference(plain: Reference, low: int, high: int) -> float:
    """The error of scores for a text read in parts, as in `tree_difference`.

    The text is read up to `low`, then by one token, then to nearly `high`, then by STEPS tokens.
    The error is measured after each part but the first: it may come with the second single token
    and differ much from one to the next, as in state-space models.
    """
    text = probe(high, plain.vocabulary)
    first = low or high // 2
    cuts = sorted({0, first, *range(max(first + 1, high - STEPS), high + 1), first + 1})
    feed, worst, spread = plain.begin(), 0.0, 0.0
    for start, stop in pairwise(cuts):
        logits = feed(text[start:stop])
        if start >= first:
            exact = plain.next_token(text[:stop])
            worst = max(worst, _largest(torch.log_softmax(logits, dim=-1)[None] - exact))
            spread = max(spread, float(exact.std()))
    return _share(worst, spread)


def _share(worst: float, spread: float) -> float:
    """The error over the spread of the scores, which a network without weights has none of."""
    return worst / spread if spread else math.inf if worst else 0.0


def _largest(differences: Tensor) -> float:
    return float(differences.square().mean(dim=1).sqrt().max())


class KeptDifferences:
    """The differences of one path of one network on a CPU, by the length of the class, in a file of
    the user's cache. A damaged file counts as empty, and one that cannot be written is no error.

    They are read only by the same weights, settings, dtype, path and code on the same processor.
    The number of threads is not part of it: it moves the last bits of a difference, and a text's
    path must not depend on it. On a GPU a check is cheaper than reading all weights.
    """

    def __init__(self, network: Any, path: str) -> None:
        """path: names the fast path and its settings."""
        self._network, self._path = network, path

    def get(self, end: int) -> float | None:
        return self._read().get(str(end))

    def put(self, end: int, difference: float) -> None:
        if not math.isfinite(difference):
            return
        file, content = self._file, json.dumps({**self._read(), str(end): difference})
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            # Other processes may write the same file at the same time: each has its own partial.
            descriptor, partial = tempfile.mkstemp(dir=file.parent, prefix=".")
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(content)
            os.replace(partial, file)

    def _read(self) -> dict[str, float]:
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        sound = isinstance(content, dict) and all(
            type(value) is float and math.isfinite(value) for value in content.values()
        )
        return content if sound else {}

    @property
    def _file(self) -> Path:
        # The attention may be replaced after loading.
        facts = (self._fixed, self._network.config._attn_implementation, self._path)
        return kept_folder() / f"{hashlib.sha256(repr(facts).encode()).hexdigest()}.json"

    @cached_property
    def _fixed(self) -> tuple[str, ...]:
        network = self._network
        return (
            weights_hash(network),
            network.config.to_json_string(),
            str(network.dtype),
            code_hash(),
            *(torch.__version__, transformers.__version__),
            *(platform.machine(), torch.backends.cpu.get_cpu_capability(), processor()),
        )


def differences(network: Any, path: str, alone: bool) -> KeptDifferences | None:
    """What is kept about a path of a network, if anything may be.

    alone: whether this process runs the network without others, who would have to agree.
    """
    keeps = alone and network.device.type == "cpu" and not is_offloaded(network)
    return KeptDifferences(network, path) if keeps else None


def kept_folder() -> Path:
    """Where the results are."""
    return user_cache() / "equivalence"


def weights_hash(network: Any) -> str:
    """SHA-256 over names, shapes and bytes of all weights as they are in memory."""
    digest = hashlib.sha256()
    for name, weight in (*network.named_parameters(), *network.named_buffers()):
        digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}\n".encode())
        digest.update(weight.detach().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


@cache
def code_hash() -> str:
    """SHA-256 over this engine's source files."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + b"\n" + file.read_bytes())
    return digest.hexdigest()


@cache
def processor() -> str:
    """The processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith("model name")), platform.processor())
