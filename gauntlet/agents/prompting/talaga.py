"""TALAGA: a tree of moves, replies and values, all from the model, backed up by max and min.

Source: "Large language models as gaming agents" (ICLR 2024 submission iS3fQooCaa), sections 4 and
5.1, Appendix A. Its hallucination control samples M_R several times, and again with a reworded
question. The wording is ours. `agents/lookahead.py` builds the tree.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from gauntlet.agents.actors import Perfect, Playouts, Scripted
from gauntlet.agents.base import Answer, Question, Turn
from gauntlet.agents.lookahead import DRAWS, Judge, Judged, Mover, Node, Note, Proposed, Tree
from gauntlet.agents.lookahead import side as side_of
from gauntlet.agents.prompting.answers import move_in, share_in
from gauntlet.agents.prompting.base import Asking, aim
from gauntlet.agents.prompting.cot_base import (
    MOVE,
    MOVE_CUE,
    SYSTEM,
    ReasoningMethod,
    head,
    majority_decision,
)
from gauntlet.agents.prompting.direct import CHOOSE
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.games.base import Game, Observation
from gauntlet.games.capabilities import move_format_of, nothing_hidden
from gauntlet.models.base import Generate, Generation, Prompt

Reward = Literal["situation", "move"]

BEAT = "Goal: beat player {seat}, and take from that player what it is about to win.\n"
YOURS = "It is your turn.\n"
SUPPOSED = "Suppose that play goes on so: {line}\n"
NEXT = "Suppose that player {seat} makes this move next: {move}\n"
QUESTIONS = {
    "situation": "How likely is it, from 0 to 100, that you reach your goal from here?",
    "move": "How great is the advantage, from 0 to 100, that this move brings whoever makes it?",
}
CLOSING = {
    "situation": "Analyse it in short, and end with the line\nThe winning rate is N\n",
    "move": "Analyse it in short, and end with the line\nThe advantage score is N\n",
}
OTHERWISE = (
    "Say this question in other words that mean the same, and answer with the question alone.\n"
    "Question: {question}\n"
)

BAD, REWORDED = ("malformed", "illegal"), "reworded"
"""How a reply without a move or a value was read."""


@dataclass(frozen=True)
class Talaga(ReasoningMethod, Tree):
    """Look-ahead with model actors: candidates of M, replies of M_O, values of the leaves by M_R.

    mover, opponent, judge: scripted M, M_O and M_R; None for the model.
    votes: samples of M_R per leaf.
    perturbations: how many rewordings of the question.
    samples: samples per rewording. 0 perturbations and 1 vote disable hallucination control.
    reward: what M_R is asked for: the winning chances in the leaf's "situation", or the advantage
        of the last "move" before it, which counts against the player if an opponent made it.

    All samples of M are requested at once, `DRAWS` per candidate; then those of M_O; then all of
    M_R. Nothing is asked again: missing candidates of M are filled up with other moves, and a leaf
    without a value counts one half. A fallback decides only if no reply at all can be read.
    """

    votes: int = 3
    perturbations: int = 1
    samples: int = 2
    reward: Reward = "situation"
    mover: Scripted | None = None
    opponent: Scripted | None = None
    judge: Playouts | Perfect | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_tree()
        self.check_samples(votes=self.votes, samples=self.samples)
        if self.perturbations < 0:
            raise ValueError(f"perturbations is {self.perturbations}; it is 0 or more")
        if self.reward not in QUESTIONS:
            raise ValueError(f"reward is {self.reward!r}; it is situation or move")
        if not self.temperature and not (self.mover and self.opponent):
            raise ValueError("temperature is 0, where a mover has one candidate; set it above 0")

    def check(self, game: Game[Any]) -> None:
        for actor in (self.mover, self.opponent, self.judge):
            if actor is not None:
                actor.check(game)

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        mover: Mover = self.mover or ModelMover(self, turn)
        opponent: Mover = self.opponent or ModelMover(self, turn)
        judge: Judge = self.judge or ModelJudge(self)
        thought = yield from self.think(turn, mover, opponent, judge, rng)
        answers = thought.answers
        unread = answers and all(note in (*BAD, REWORDED) for note in answers)
        best = [] if unread else [thought.best.option]
        return majority_decision(turn, answers, best, candidates=thought.candidates)


@dataclass(frozen=True)
class ModelMover:
    """M on the player's turns; on the others' M_O, which plays against the player, or for its team.

    It uses direct prompting. For another seat's turn the prompt holds what that seat may know; with
    hidden information, only what is public.
    """

    method: Talaga
    root: Turn

    def propose(
        self, turns: Sequence[Turn], wanted: int, rng: np.random.Generator
    ) -> Generator[Question, Answer, list[Proposed]]:
        if not turns:
            return []
        count = DRAWS * wanted if self.method.temperature else 1
        replies = yield tuple(
            self.method.generate_request(self._prompt(t), rng, count) for t in turns
        )
        assert isinstance(replies, tuple)
        return [self._read(turn, reply) for turn, reply in zip(turns, replies, strict=True)]

    def _prompt(self, turn: Turn) -> Prompt:
        seen, own = turn.observation, self.root.observation.seat
        goal = aim(turn.goal)
        if seen.seat != own:
            goal = goal if seen.seat in side_of(self.root) else BEAT.format(seat=own)
            seen = seen if nothing_hidden(turn.game) else public(seen)
        return self.method.prompt_of(seen, goal, CHOOSE, MOVE, MOVE_CUE)

    def _read(self, turn: Turn, reply: object) -> Proposed:
        assert isinstance(reply, Generation), reply
        options, form = turn.observation.options, move_format_of(turn.game)
        answers = [move_in(text, options, form) for text in reply.texts]
        return Proposed(tuple(one for one in answers if isinstance(one, int)), tuple(answers))


@dataclass(frozen=True)
class ModelJudge:
    """M_R.

    questions: the rewordings, once generated.
    """

    method: Talaga
    questions: tuple[str, ...] = ()

    def prepare(
        self, turn: Turn, rng: np.random.Generator
    ) -> Generator[Question, Answer, tuple[ModelJudge, tuple[Note, ...]]]:
        """Have the question reworded. It is the same at every leaf."""
        method = self.method
        if not method.perturbations:
            return self, ()
        told = OTHERWISE.format(question=QUESTIONS[method.reward])
        prompt = Prompt(_head(turn), told, PLAIN.cue, SYSTEM)
        reply = yield method.generate_request(prompt, rng, method.perturbations)
        assert isinstance(reply, Generation), reply
        said = [" ".join(text.split()) for text in reply.texts]
        answers = tuple(REWORDED if text else "malformed" for text in said)
        return replace(self, questions=tuple(text for text in said if text)), answers

    def judge(
        self, turn: Turn, leaves: Sequence[Node], rng: np.random.Generator
    ) -> Generator[Question, Answer, list[Judged]]:
        if not leaves:
            return []
        own, each = QUESTIONS[self.method.reward], 1 + len(self.questions)
        asked: list[Generate] = []
        for leaf in leaves:
            asked.append(self._request(turn, leaf, own, self.method.votes, rng))
            for question in self.questions:
                asked.append(self._request(turn, leaf, question, self.method.samples, rng))
        replies = yield tuple(asked)
        assert isinstance(replies, tuple)
        texts = [reply.texts for reply in replies if isinstance(reply, Generation)]
        read = [texts[at * each : (at + 1) * each] for at in range(len(leaves))]
        return [self._judged(turn, *pair) for pair in zip(leaves, read, strict=True)]

    def _request(
        self, turn: Turn, leaf: Node, question: str, n: int, rng: np.random.Generator
    ) -> Generate:
        reward, told = self.method.reward, self._describe_position(turn, leaf)
        if reward == "move":
            assert leaf.before is not None
            seat, move = leaf.line[-1]
            told = self._describe_position(turn, leaf.before) + NEXT.format(seat=seat, move=move)
        prompt = Prompt(_head(turn), f"{told}{question}\n{CLOSING[reward]}", PLAIN.cue, SYSTEM)
        return self.method.generate_request(prompt, rng, n)

    def _describe_position(self, turn: Turn, node: Node) -> str:
        """The position itself on the player's turns; else the root and the supposed moves."""
        seat = turn.observation.seat
        if node.turn is not None and node.mover == seat:
            return self.method.situation(node.turn.observation) + YOURS
        line = "; ".join(f"player {mover}: {move}" for mover, move in node.line)
        return self.method.situation(turn.observation) + SUPPOSED.format(line=line)

    def _judged(self, turn: Turn, leaf: Node, texts: Sequence[Sequence[str]]) -> Judged:
        """The mean of all values that can be parsed."""
        figures = [share_in(text) for several in texts for text in several]
        answers = tuple("malformed" if figure is None else "ok" for figure in figures)
        read = [figure for figure in figures if figure is not None]
        value = sum(read) / len(read) if read else None
        if value is not None and self.method.reward == "move":
            value = value if leaf.line[-1][0] in side_of(turn) else 1 - value
        return Judged(value, answers)


def public(observation: Observation) -> Observation:
    """The public part of an observation, with its options."""
    return replace(observation, facts=tuple(fact for fact in observation.facts if not fact.own))


def _head(turn: Turn) -> str:
    return head(turn.observation, aim(turn.goal))
