"""Reasoning via planning: tree search with the language model as the world model.

Sources: RAP (Hao et al. 2023), with the prompts of GameBench (Costarelli et al. 2024), Appendix H
and its published code. An action's estimate is P(its letter | which?) + P(yes | is it good?); once
it is visited, its reward is that + 2 P(yes | will you win?) - 1 at the position that the model
predicts.

The questions, their slots and their one example, the three doors, are those of GameBench, the
wording is ours: what do the others do, what comes next, what can be done then, which action would
it take, is one good, and does it win?
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from gauntlet.agents.base import Answer, Decision, Goal, Question, Turn, gather_all
from gauntlet.agents.lookahead import Note
from gauntlet.agents.mcts import Choice, Node, Search, Visit, best_total
from gauntlet.agents.prompting.base import (
    Asking,
    check_length,
    check_moves,
    role_and_rules,
    situation,
)
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.prompting.gamebench import null_action
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.agents.prompting.words import ATTEMPTS, MALFORMED, add_text
from gauntlet.games.base import Observation, TextAction
from gauntlet.models.base import Generate, Generation, Prompt, Score, Scores

SEEN = "What you see, between <state> and </state>:\n<state>\n{text}\n</state>\n"
ACTIONS = "Your actions, between <actions> and </actions>:\n<actions>\n{text}\n</actions>\n"
CHOSEN = "Your action: {text}\n"
OTHERS = "What the other players do: {text}\n"

WHICH = "Choose one: reply with its letter alone.\n"
GOOD = "Is this a good action? "
WILL_WIN = "Will {who} win from here in the end? "
YES_NO = "Reply with yes or no.\n"
A_B = "A) yes\nB) no\nReply with A or B.\n"
FORETELL = "As well as you can, foretell {what}, between <{tag}> and </{tag}>.\n"
WHAT = {
    "others": "what the other players do next",
    "state": "what you see after that",
    "actions": "which actions you have now, a line each",
}
"""What is predicted, by tag."""

EXAMPLE = "First an example, of another game.\n{asked}You answer: <{tag}>{answer}</{tag}>\n\n"
DOORS = (
    "Rules: A prize stands behind one of three doors. You point at a door, the host opens one of "
    "the other two, and you choose again. You win if you choose the door with the prize.\n"
) + SEEN.format(text="All three doors are shut.")
ANSWERED = {
    "others": ("", "The host opens one of the two doors that I do not point at."),
    "state": (
        CHOSEN.format(text="point at the left door")
        + OTHERS.format(text="The host opens the middle door."),
        "The left and the right door are shut. The middle one is open, and there is no prize "
        "behind it.",
    ),
    "actions": (
        "",
        "\npoint at the left door\npoint at the middle door\npoint at the right door\n",
    ),
}
"""The example's further input, and its answer."""

UNKNOWN = "unknown"
"""The others' moves if the model did not predict them."""
NUMBERED = re.compile(r"^(?:\d+[.):]|[A-Z][.)]|[-*])\s+")
MOST = len(LETTERS)
"""Maximum number of predicted actions; later ones are dropped."""


@dataclass(frozen=True)
class Questions:
    """The questions of one decision; positions and actions are text.

    letters: whether yes and no are asked for as A and B.
    """

    seen: Observation
    goal: Goal
    letters: bool

    @property
    def verdicts(self) -> tuple[str, str]:
        """The words for yes and for no."""
        return ("A", "B") if self.letters else ("yes", "no")

    def predict(self, tag: str, position: str, event: str = "") -> Prompt:
        """Ask for a prediction of what the tag names, after an example; `event` happens first."""
        before, answer = ANSWERED[tag]
        asked = FORETELL.format(what=WHAT[tag], tag=tag)
        example = EXAMPLE.format(asked=DOORS + before + asked, tag=tag, answer=answer)
        return self._prompt(position, event + asked, example + "Now your game.\n")

    def after(self, position: str, action: str, others: str) -> Prompt:
        """Ask for the position after the action and the others' moves."""
        told = CHOSEN.format(text=action) + OTHERS.format(text=others)
        return self.predict("state", position, told)

    def which(self, position: str, actions: Sequence[str]) -> Prompt:
        listed = "\n".join(
            f"{letter}) {action}" for letter, action in zip(LETTERS, actions, strict=False)
        )
        return self._prompt(position, ACTIONS.format(text=listed) + WHICH)

    def good(self, position: str, action: str) -> Prompt:
        return self._prompt(position, CHOSEN.format(text=action) + GOOD + self._verdict)

    def will_win(self, position: str) -> Prompt:
        """Ask whether the seat that the model plays for wins in the end."""
        who = "you" if self.goal.helps is None else f"player {self.goal.helps}"
        return self._prompt(position, WILL_WIN.format(who=who) + self._verdict)

    @property
    def _verdict(self) -> str:
        return f"\n{A_B}" if self.letters else YES_NO

    def _prompt(self, position: str, question: str, before: str = "") -> Prompt:
        static = before + role_and_rules(self.seen, self.goal)
        return Prompt(static, SEEN.format(text=position) + question, PLAIN.cue)


def between(tag: str, reply: str) -> str | None:
    """The text after an opening tag, up to the closing one if present; None if empty."""
    _, _, behind = reply.partition(f"<{tag}>")
    text, _, _ = behind.partition(f"</{tag}>")
    return text.encode(errors="replace").decode().strip() or None


def actions_in(text: str) -> tuple[str, ...]:
    """The distinct actions of a text, one per line, without numbering."""
    lines = (NUMBERED.sub("", line.strip()).strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))[:MOST]


@dataclass(frozen=True)
class Rap(Search):
    """Takes the first action of the branch with the largest sum of rewards.

    moves: number of recent moves in the prompt.
    max_tokens: limit on a prediction's length.
    temperature: of the predictions, seeded by the decision's rng.
    letters: whether yes and no are asked for as A and B, for models in which they are not single
        tokens.

    Text actions get their text first, an example if the model gives none. Predictions are used as
    they stand between their tags; an unreadable position or action list ends the branch. If neither
    a letter nor a verdict is possible at the root, the null action is taken.

    A decision's notes hold, per option: "visits", the runs through it; "guesses"; "totals", the
    largest sum of a fully visited branch through it, None without one. "answers" lists how each
    text reply was read: "ok", or what was wrong.
    """

    moves: int = 10
    max_tokens: int = 256
    temperature: float = 0.0
    letters: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_moves(self.moves)
        check_length(self.max_tokens)
        if not 0 <= self.temperature <= 2:
            raise ValueError(f"temperature is {self.temperature:g}; it lies from 0 to 2")

    def labels(self) -> tuple[str, ...]:
        return LETTERS if self.letters else (*LETTERS, "yes", "no")

    def ask(self, turn: Turn, rng: np.random.Generator) -> Asking:
        said, answers = yield from fill_texts(turn, rng)
        model = LanguageWorldModel(self, turn, int(rng.integers(2**31)), answers)
        start = situation(turn.observation, self.moves).rstrip("\n")
        options = [
            name + (f': "{said[number].text}"' if number in said else "")
            for number, name in enumerate(turn.observation.options)
        ]
        choices = yield from model.guessed(start, options)
        if not any(choice.guess for choice in choices):
            return null_action(turn, "malformed", model.asked, model.notes, rng)
        root = yield from self.grow(model, start, choices)
        totals = [best_total(child) for child in root.children]
        option = totals.index(max(totals))
        return replace(
            said.get(option, Decision(option)),
            attempts=model.asked,
            notes={**model.notes, **tree(root, totals)},
        )


@dataclass
class LanguageWorldModel:
    """The language model as world model: the `agents.mcts.World` of one decision.

    answers: how each text reply so far was read.
    asked: number of requests made.
    """

    rap: Rap
    turn: Turn
    seed: int
    answers: list[Note]

    def __post_init__(self) -> None:
        self.asked = len(self.answers)
        self.others: dict[str, str] = {}
        self.questions = Questions(self.turn.observation, self.turn.goal, self.rap.letters)

    @property
    def notes(self) -> dict[str, Any]:
        return {"answers": tuple(self.answers)}

    def visit(
        self, position: str, choice: Choice[str], last: bool
    ) -> Generator[Question, Answer, Visit[str, str]]:
        """The position the model predicts after an action, and how it judges it."""
        others = self.others.get(position)
        if others is None:
            asked = self._generate("others", self.questions.predict("others", position))
            others = (yield from self._read("others", asked)) or UNKNOWN
            self.others[position] = others
        prompt = self.questions.after(position, choice.action, others)
        after = yield from self._read("state", self._generate("state", prompt))
        if after is None:
            return Visit(position, choice.guess, ())
        wins = Score((self.questions.will_win(after),), self.questions.verdicts)
        if last:
            reply = yield wins
            self.asked += 1
            return Visit(after, self._reward(choice, reply), ())
        replies = yield wins, self._generate("actions", self.questions.predict("actions", after))
        assert isinstance(replies, tuple)
        self.asked += 2
        listed = self._heard("actions", replies[1])
        choices = (yield from self.guessed(after, actions_in(listed))) if listed else ()
        return Visit(after, self._reward(choice, replies[0]), choices)

    def guessed(
        self, position: str, actions: Sequence[str]
    ) -> Generator[Question, Answer, tuple[Choice[str], ...]]:
        """The actions with the estimates of their rewards.

        An estimate adds the probability that the model chooses the action, asked in groups of about
        equal size if there are more actions than letters, and the probability that it calls the
        action good.
        """
        groups = grouped(actions)
        letters = LETTERS[: len(groups[0])]
        which = Score(tuple(self.questions.which(position, group) for group in groups), letters)
        good = Score(
            tuple(self.questions.good(position, action) for action in actions),
            self.questions.verdicts,
        )
        replies = yield which, good
        assert isinstance(replies, tuple)
        self.asked += 2
        taken, called = replies
        assert isinstance(taken, Scores), taken
        assert isinstance(called, Scores), called
        chances = [
            chance / len(groups)
            for group, row in zip(groups, taken.logprobs, strict=True)
            for chance in shares(row[: len(group)]) or (0.0,) * len(group)
        ]
        verdicts = [shares(row) or (0.0, 0.0) for row in called.logprobs]
        return tuple(
            Choice(action, chance + yes)
            for action, chance, (yes, _) in zip(actions, chances, verdicts, strict=True)
        )

    def _read(self, tag: str, request: Generate) -> Generator[Question, Answer, str | None]:
        reply = yield request
        self.asked += 1
        return self._heard(tag, reply)

    def _generate(self, tag: str, prompt: Prompt) -> Generate:
        rap = self.rap
        return Generate(prompt, rap.max_tokens, rap.temperature, (f"</{tag}>",), self.seed)

    def _heard(self, tag: str, reply: Answer) -> str | None:
        assert isinstance(reply, Generation), reply
        text = between(tag, reply.text)
        self.answers.append("malformed" if text is None else "ok")
        return text

    def _reward(self, choice: Choice[str], reply: Answer) -> float:
        """The full reward; an impossible verdict counts one half."""
        assert isinstance(reply, Scores), reply
        yes, _ = shares(reply.logprobs[0]) or (0.5, 0.5)
        return choice.guess + 2 * yes - 1


def fill_texts(
    turn: Turn, rng: np.random.Generator
) -> Generator[Question, Answer, tuple[dict[int, Decision], list[Note]]]:
    """Every text action with its text, by option index, and how the replies were read, in order.
    The options are asked about concurrently."""
    wanting = [
        number for number, option in enumerate(turn.options) if isinstance(option, TextAction)
    ]
    told = yield from gather_all([add_text(turn, Decision(number), rng) for number in wanting])
    came: list[list[Note]] = []
    for decision in told:
        faults = decision.notes.get("faults", ())
        notes: list[Note] = ["malformed" if one == MALFORMED else "illegal" for one in faults]
        came.append([*notes, *([] if decision.fallback else ["ok"])])
    answers = [notes[n] for n in range(ATTEMPTS) for notes in came if n < len(notes)]
    return {decision.option: decision for decision in told}, answers


def grouped(actions: Sequence[str]) -> list[Sequence[str]]:
    """The actions in order, in as few groups as the letters allow, largest first. Group sizes
    differ by at most one."""
    count = -(-len(actions) // len(LETTERS))
    size, more = divmod(len(actions), count)
    ends = [size * n + min(n, more) for n in range(count + 1)]
    return [actions[start:end] for start, end in pairwise(ends)]


def shares(logprobs: Sequence[float]) -> tuple[float, ...] | None:
    """Probabilities normalised over these words; None if none is possible."""
    top = max(logprobs)
    if top == -math.inf:
        return None
    weights = [math.exp(logprob - top) for logprob in logprobs]
    return tuple(weight / math.fsum(weights) for weight in weights)


def tree(root: Node[str, str], totals: Sequence[float]) -> dict[str, Any]:
    """The tree's statistics to record."""
    children = root.children
    return {
        "visits": tuple(len(child.totals) for child in children),
        "guesses": tuple(round(child.choice.guess, 4) for child in children if child.choice),
        "totals": tuple(None if t == -math.inf else round(t, 4) for t in totals),
    }
