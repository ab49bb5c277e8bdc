"""Tree of thoughts: plans, a vote on them, moves by the best plan, a vote on those.

Sources: Yao et al. 2023, the two steps of its text task; TALAGA, Appendix C; the numbers of samples
and votes are those of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gauntlet.agents.base import Answer, Question, Turn
from gauntlet.agents.lookahead import Note
from gauntlet.agents.prompting.answers import vote_in
from gauntlet.agents.prompting.base import Asking, aim
from gauntlet.agents.prompting.cot import THINK
from gauntlet.agents.prompting.cot_base import (
    MOVE,
    MOVE_CUE,
    SYSTEM,
    THOUGHT,
    THOUGHT_CUE,
    Retrying,
    head,
    legal,
    majority_decision,
)
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.models.base import Generation, Prompt

PLANS, ANSWERS = "Plans for this turn:\n", "Answers for this turn:\n"
VOTE = (
    "Compare them: which one serves your goal best? Give your reasons in short, and end with the "
    "line\nThe best choice is N\nwhere N is its number.\n"
)
PLAN = "Your plan:\n"


@dataclass(frozen=True)
class Tot(Retrying):
    """Four questions per decision: plans, votes, continuations of the best plan, votes.

    samples: number of plans and of continuations.
    votes: on either.

    All answers to one question are samples of one prompt. The candidate with most votes is kept,
    ties and unreadable votes to the first. Continuations that name no legal move are not
    candidates, and a single one is taken without a vote.
    """

    samples: int = 3
    votes: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_samples(samples=self.samples, votes=self.votes)

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        prompt = self.prompt(turn, THINK, THOUGHT + MOVE, THOUGHT_CUE)
        reply = yield self.generate_request(prompt, rng, self.samples, stop=(MOVE_CUE,))
        assert isinstance(reply, Generation), reply
        answers: list[Note] = ["ok" if text.strip() else "malformed" for text in reply.texts]
        kept, votes = yield from self._voted(turn, PLANS, reply.texts, rng)
        answers += votes
        told = f"{prompt.changing}{PLAN}{reply.texts[kept].strip()}\n"
        further = replace(prompt, changing=told, cue=MOVE_CUE)
        heard = yield from self.sample_replies(turn, further, rng, self.samples)
        answers += [answer for _, answer in heard]
        moves = [(text, answer) for text, answer in heard if isinstance(answer, int)]
        if not moves:
            return majority_decision(turn, answers, ())
        best = 0
        if len(moves) > 1:
            best, votes = yield from self._voted(turn, ANSWERS, [text for text, _ in moves], rng)
            answers += votes
        return majority_decision(turn, answers, moves[best][1:], plan=kept)

    def _voted(
        self, turn: Turn, above: str, candidates: Sequence[str], rng: np.random.Generator
    ) -> Generator[Question, Answer, tuple[int, list[Note]]]:
        """The candidate with most votes, and how each vote was read."""
        seen = turn.observation
        listed = "".join(f"{n}) {text.strip()}\n" for n, text in enumerate(candidates, 1))
        told = f"{self.situation(seen)}{legal(seen)}{above}{listed}{VOTE}"
        prompt = Prompt(head(seen, aim(turn.goal)), told, PLAIN.cue, SYSTEM)
        reply = yield self.generate_request(prompt, rng, self.votes)
        assert isinstance(reply, Generation), reply
        votes = [vote_in(text, len(candidates)) for text in reply.texts]
        return elected(votes), ["malformed" if vote is None else "ok" for vote in votes]


def elected(votes: Sequence[int | None]) -> int:
    """The candidate with most votes, ties to the first; 0 without votes."""
    counts = Counter(vote for vote in votes if vote is not None)
    return min(counts, key=lambda candidate: (-counts[candidate], candidate), default=0)
