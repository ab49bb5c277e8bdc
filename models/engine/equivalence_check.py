"""Up to which length a fast way to run a network is known to do what the network itself does.

A network may see only a window or a chunk of a text, or turn its positions otherwise once a text
is long; some say so in their config, under many names, and some only in their code. So nothing is
believed: a way is compared with the network's plain forward pass on whole texts.

Lengths fall into classes, each at most twice as long as the one before, and each ending early where
the config names a length. The first text of a class has it proven, on texts made up for it that
lie on both sides of every border that the class may hide; so the cost is that of a few texts, and
nobody waits for lengths that never come. Classes are proven in order of length, and after one that
fails none is tried: texts beyond go the slow way. What is proven depends on the network alone, not
on what was asked before: so does the way of each text, and with it its last bits.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gauntlet.common.errors import ModelError
from gauntlet.models.engine.layout import Piece
from gauntlet.models.engine.memory import Memory
from gauntlet.models.engine.reference import REFUSALS, Reference, longest
from gauntlet.models.engine.trie import grow

LOG = logging.getLogger("gauntlet")

TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.1}
"""How far a log-probability may lie from the plain one, as a part of their spread. Rounding stays
well below; a wrong mask or position is near 1."""
LEAST, GROWTH = 1 / 3, 4
"""Of the tolerance always allowed, and how many times the difference of the first class: shows what
rounding does to the network at hand, so that a window which bites little is seen in 16 bits."""
FIRST, STEP = 16, 4096
"""Where the first class ends, and how many tokens longer than the one before a class may be."""
LENGTHS = re.compile(r"window|chunk|local|block|context|position|length|seq")
"""In the name of a setting: it may be a length."""
ECHO = 4
"""A probe ends with the tokens it began with: networks that learnt to copy look back to there."""
APART = 3
"""Tokens by which the second text of a probe's tree leaves the first."""

Difference = Callable[[int, int], float]
"""How far a way lies from the plain forward pass for texts of more than the one and at most the
other number of tokens; raises one of `REFUSALS` where it cannot run them."""


class Proof:
    """What is proven of one way to run one network.

    proven: the length up to which all texts are.
    objection: why no longer texts are proven; None while that is open.
    """

    def __init__(self, network: Any, difference: Difference, memory: Memory, slow: str) -> None:
        """slow: for the log, what happens to a text that is not proven."""
        self.proven = 0
        self.objection: str | None = None
        self._difference = difference
        self._memory = memory
        self._tolerance = TOLERANCE[network.dtype]
        self._slow = slow
        self._ends = class_ends(network.config)

    def covers(self, length: int) -> bool:
        """Whether texts of so many tokens are proven, after trying what was not yet tried."""
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
        """Why the class up to `end` is not proven, if it is not."""
        try:
            # All processes that run the network together go on, or none of them.
            self._memory.claim(end)
            difference = self._difference(self.proven, end)
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


def class_ends(config: Any) -> Iterator[int]:
    """Where the classes of lengths end, up to the longest text that the network reads."""
    limit, end = longest(config), 0
    named = sorted(n for n in lengths(config.to_dict()) if FIRST < n < limit)
    while end < limit:
        after = [n for n in named if n > end][:1]
        end = min(max(FIRST, min(2 * end, end + STEP)), limit, *after)
        yield end


def lengths(settings: Any, name: str = "") -> Iterator[int]:
    """The integers among the settings, nested ones too, whose name speaks of a length."""
    if isinstance(settings, dict):
        for key, value in settings.items():
            yield from lengths(value, str(key))
    elif isinstance(settings, (list, tuple)):
        for value in settings:
            yield from lengths(value, name)
    elif type(settings) is int and LENGTHS.search(name):
        yield settings


def probe(length: int, vocabulary: int) -> list[int]:
    """A text of so many tokens, always the same one."""
    drawn = np.random.default_rng(length).integers(vocabulary, size=max(1, length - ECHO))
    return [int(token) for token in np.resize(drawn, length)]


def tree_difference(engine: Any, plain: Reference, low: int, high: int) -> float:
    """How far an engine's scores of two decisions of the class (low, high] lie from the plain
    ones: the largest root mean square of a text, over the standard deviation of them all.

    The static head ends before `low`. What follows it is one text of `high` tokens; then a tree of
    `high` tokens all told, with texts on both sides of every border within the class.
    """
    text = probe(high, plain.vocabulary)
    head = max(low - FIRST, min(high // 8, 8))
    past = engine.keys_values(text[:head])
    worst, spread = 0.0, 0.0
    for texts in ([text], branches(text, low or head + 4, plain.vocabulary)):
        pieces = [Piece(grow([one[head:] for one in texts]), past)]
        scored = engine.logprobs(pieces, range(plain.vocabulary))
        exact = torch.stack([plain.next_token(one) for one in texts])
        worst = max(worst, _largest(scored - exact))
        spread = max(spread, float(exact.std()))
    return worst / spread


def branches(text: list[int], short: int, vocabulary: int) -> list[list[int]]:
    """`text` all but its end, and one that leaves it to end after `short` tokens; the tree of both
    has as many tokens as `text`."""
    long = len(text) - APART
    short = min(short, long)
    other = [(token + 1) % vocabulary for token in text[short - APART : short]]
    return [text[:long], text[: short - APART] + other]


def step_difference(plain: Reference, low: int, high: int) -> float:
    """How far the scores of a text that is read part by part lie from the plain ones, as above:
    one token beyond `low`, and after `high` tokens.

    It is read up to `low`, then by a token, then to nearly `high`, then again token by token.
    """
    text = probe(high, plain.vocabulary)
    first = low or high // 2
    cuts = sorted({0, first, first + 1, max(first + 1, high - 2), max(first + 1, high - 1), high})
    feed, worst, spread = plain.begin(), 0.0, 0.0
    for start, stop in pairwise(cuts):
        logits = feed(text[start:stop])
        if stop in (first + 1, high):
            exact = plain.next_token(text[:stop])
            worst = max(worst, _largest(torch.log_softmax(logits, dim=-1)[None] - exact))
            spread = max(spread, float(exact.std()))
    return worst / spread


def _largest(differences: Tensor) -> float:
    return float(differences.square().mean(dim=1).sqrt().max())
