"""Exchanges to teach: the methods' prompts on a turn, and the tutor's replies.

The methods themselves are run, so their prompts are taught verbatim. Some of the replies sent to
them are not the tutor's, so that plans differ, leaves have weak moves, and retries occur. The reply
taught is always the tutor's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gauntlet.agents.base import Turn
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.react import React
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.prompting.tot import Tot
from gauntlet.models.base import Dialogue, Generate, Generation, Prompt
from gauntlet.training.pocket.duel.prompt_parsing import parse_prompt
from gauntlet.training.pocket.duel.tutor import reply

METHODS: tuple[tuple[Method, float], ...] = (
    (Direct(), 1.0),
    (Cot(), 0.7),
    (React(), 0.3),
    (Tot(), 0.3),
    (Talaga(), 0.2),
    (Talaga(reward="move"), 0.04),
    (Talaga(llm_terminal=True), 0.03),
    (Talaga(k=1), 0.03),
    (Talaga(k=3), 0.02),
)
"""The methods, and the probability of teaching each on a turn."""
LEAVES = 3
"""Maximum number of parallel prompts taught."""
WHIM = 0.4
"""Probability that a sample sent to a method names a random legal move."""
DUMB = 0.1
"""Probability that a single reply sent to a method names no legal move."""
NOTHING = " I do not know."


class Exchange(NamedTuple):
    prompt: Prompt
    reply: str


def exchanges(turn: Turn, rng: np.random.Generator) -> Iterator[list[Exchange]]:
    """Yield the exchanges taught on a turn, in groups whose prompts share a prefix."""
    batch: list[Exchange] = []
    for method, often in METHODS:
        if rng.random() < often:
            for level in levels(method, turn, rng):
                if len(level) == 1 and isinstance(method, Direct | Cot | React | Tot):
                    batch += level
                else:
                    yield [level[at] for at in rng.permutation(len(level))[:LEAVES]]
    yield list(dict.fromkeys(batch))


def levels(method: Method, turn: Turn, rng: np.random.Generator) -> Iterator[list[Exchange]]:
    """Yield the exchanges of one method on one turn; parallel ones in one list."""
    asking = method.ask(turn, rng)
    question = next(asking)
    while True:
        requests = question if isinstance(question, tuple) else (question,)
        asked = [one for one in requests if isinstance(one, Generate)]
        yield [Exchange(one.prompt, reply(one.prompt)) for one in asked]
        replies = tuple(sampled_reply(one, rng) for one in asked)
        try:
            question = asking.send(replies if isinstance(question, tuple) else replies[0])
        except StopIteration:
            return


def sampled_reply(request: Generate, rng: np.random.Generator) -> Generation:
    """Return the reply sent to the method: samples, some with random legal moves or none."""
    first, *others = (sample(request, rng) for _ in range(request.n))
    return Generation(first, 0, 0, tuple(others))


def sample(request: Generate, rng: np.random.Generator) -> str:
    prompt = request.prompt
    dumb = request.n == 1 and prompt.cue != "Answer:" and not isinstance(prompt, Dialogue)
    if dumb and rng.random() < DUMB:
        return NOTHING
    text = reply(prompt, random_move(prompt, rng) if rng.random() < WHIM else None)
    for stop in request.stop:
        text = text.partition(stop)[0]
    return text


def random_move(prompt: Prompt, rng: np.random.Generator) -> str | None:
    """Return a random one of the moves listed in the prompt, if any."""
    legal = parse_prompt(prompt).legal
    return legal[rng.integers(len(legal))] if legal else None
