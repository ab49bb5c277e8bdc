"""What a player asked and was answered, in the form in which the log holds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from models.base import Dialogue, Generate, Generation, Reply, Request, Score, Scores
from pipeline.plan.cells import digest


def exchange(request: Request, reply: Reply, statics: dict[str, str]) -> dict[str, Any]:
    """A request and its reply as data; what the prompts share is written once, and the static
    part goes into `statics` under its hash."""
    if isinstance(request, Score) and isinstance(reply, Scores):
        prompt = request.prompts[0]
        texts = [prompt.changing for prompt in request.prompts]
        shared = common_start(texts)
        written: dict[str, Any] = {
            "shared": shared,
            "branches": [text[len(shared) :] for text in texts],
            "choices": request.choices,
            "logprobs": reply.logprobs,
            "tokens": reply.tokens,
            "logical_tokens": sum(reply.tokens),
            **_unreported(reply),
        }
    elif isinstance(request, Generate) and isinstance(reply, Generation):
        prompt = request.prompt
        written = {
            "shared": prompt.changing,
            "settings": [request.max_tokens, request.temperature, request.stop, request.seed],
            **_unusual(request),
            "text": reply.text,
            **({"others": reply.others} if reply.others else {}),
            "tokens": [reply.prompt_tokens, reply.tokens],
            "logical_tokens": reply.prompt_tokens + reply.tokens,
        }
    else:
        raise TypeError(f"{type(reply).__name__} does not answer {type(request).__name__}")
    name = digest(prompt.static)
    statics[name] = prompt.static
    system = {"system": prompt.system} if prompt.system else {}
    since = {"turns": prompt.turns} if isinstance(prompt, Dialogue) else {}
    return {"static": name, "cue": prompt.cue, **system, **since, **written}


def _unusual(request: Generate) -> dict[str, Any]:
    """What is not asked of most requests, and stands only where it is."""
    several = {"n": request.n} if request.n != 1 else {}
    return {**several, **({"json": True} if request.json else {})}


def _unreported(reply: Scores) -> dict[str, Any]:
    """How many choices the model did not report, and the most that each can have had."""
    if not reply.ceilings:
        return {}
    missing = sum(row.count(-math.inf) for row in reply.logprobs)
    return {"unreported": missing, "ceilings": reply.ceilings}


def margin(scores: Sequence[float]) -> float | None:
    """How far the best score lies above the second, or None where there are not two: a rounding
    difference larger than this could change the choice."""
    if len(scores) < 2:
        return None
    second, best = sorted(scores)[-2:]
    return best - second


def common_start(texts: Sequence[str]) -> str:
    """The longest text with which all of `texts` begin."""
    first, last = min(texts), max(texts)
    differing = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(differing, min(len(first), len(last)))]
