"""Questions for a language model that serves as world model.

What do the others do, what comes next, what can be done then, which action would it take, is one
good, and does it win? The questions, their slots and their one example, the three doors, are those
of GameBench (Costarelli et al. 2024), Appendix H. The wording is ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.agents.base import Goal
from gauntlet.agents.prompting.base import role_and_rules
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.games.base import Observation
from gauntlet.models.base import Prompt

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
