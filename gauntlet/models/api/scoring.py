"""The probabilities of first tokens: as listed by a server, or as counted from samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gauntlet.models.base import Finish

ROUNDING = 1e-3
"""How far rounding may lift a log-probability above 0."""

SPACES = ("Ġ", "▁")
"""How vocabularies write a leading space, and some servers their tokens."""


@dataclass(frozen=True, slots=True)
class Reported:
    """The most likely first tokens, as listed by a server.

    logprobs: by token; among tokens that look alike the most likely counts.
    ceiling: upper bound on the logprob of a token that is not listed.
    """

    logprobs: Mapping[str, float]
    ceiling: float

    def logprobs_of(self, words: Sequence[str]) -> tuple[float, ...]:
        """The logprob of each word, with or without a leading space; minus infinity if unlisted."""
        found = self.logprobs
        spelt = ((found.get(word), found.get(f" {word}")) for word in words)
        return tuple(
            max((one for one in pair if one is not None), default=-math.inf) for pair in spelt
        )


@dataclass(frozen=True, slots=True)
class ScoredPrompt:
    """A server's answer to one prompt of a Score: reported tokens, or sampled texts.

    finish: why there are none, if the prompt was not answered.
    """

    said: Reported | tuple[str, ...]
    tokens: int
    finish: Finish = "stop"

    def logprobs(self, choices: Sequence[str]) -> tuple[float, ...]:
        """The logprob of each choice; for sampled texts the log of its share, ignoring
        whitespace."""
        if isinstance(self.said, Reported):
            return self.said.logprobs_of(choices)
        drawn = Counter(text.strip() for text in self.said)
        shares = (drawn[choice] / len(self.said) for choice in choices)
        return tuple(math.log(share) if share else -math.inf for share in shares)

    @property
    def likeliest(self) -> list[str]:
        """The tokens or texts, the most likely first."""
        if isinstance(self.said, Reported):
            logprobs = self.said.logprobs
            return sorted(logprobs, key=lambda token: -logprobs[token])
        return [text for text, _ in Counter(self.said).most_common()]

    @property
    def ceiling(self) -> float:
        return self.said.ceiling if isinstance(self.said, Reported) else 0.0


def reported(listed: Sequence[tuple[str, float]], sampled: Sequence[str] | None) -> Reported:
    """The tokens listed for a position.

    Some servers add the sampled token, `sampled[0]`, to the most likely ones; it therefore does not
    bound the unlisted tokens. Raises ValueError for a log-probability that is not finite or is
    above 0.
    """
    listed = [(_text(token), logprob) for token, logprob in listed]
    logprobs: dict[str, float] = {}
    for token, logprob in listed:
        if not math.isfinite(logprob) or logprob > ROUNDING:
            raise ValueError(f"it gives the token {token!r} a log-probability of {logprob:g}")
    for token, logprob in sorted(listed, key=lambda pair: -pair[1]):
        logprobs.setdefault(token, float(logprob))
    drawn = _text(sampled[0]) if sampled else None
    others = [value for token, value in logprobs.items() if token != drawn]
    return Reported(logprobs, min(others, default=0.0))


def _text(token: str) -> str:
    return f" {token[1:]}" if token.startswith(SPACES) else token
