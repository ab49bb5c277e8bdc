"""Answers the prompts of the reasoning methods, for the model to learn: what each asks for, in its
form, in few words that lead to the answer."""

from __future__ import annotations

from typing import Any, Protocol

from gauntlet.agents.prompting.cot_base import MOVE_CUE, THOUGHT_CUE
from gauntlet.agents.prompting.react import ACTION
from gauntlet.agents.prompting.reading import move_in
from gauntlet.agents.prompting.talaga import CLOSING, QUESTIONS
from gauntlet.agents.prompting.tot import PLAN, VOTE
from gauntlet.models.base import Prompt
from gauntlet.training.pocket.duel.cards import Cards
from gauntlet.training.pocket.duel.marks import Marks
from gauntlet.training.pocket.duel.told import PromptFacts, read


class Knowledge(Protocol):
    """What a tutor knows of the position that a prompt tells."""

    @property
    def facts(self) -> PromptFacts: ...

    @property
    def form(self) -> str:
        """How the game writes a move, as a regular expression."""
        ...

    def best(self) -> str:
        """The best of the legal moves."""
        ...

    def worth(self, move: str) -> Any:
        """What sorts moves, the best one last."""
        ...

    def thought(self, move: str) -> str:
        """A line that leads to the move and ends with it."""
        ...

    def intent(self, move: str) -> str:
        """The one of the game's intents that the move carries out."""
        ...

    def analysis(self) -> str:
        """A line on who is ahead."""
        ...

    def rate(self) -> int:
        """How likely the player wins, from 0 to 100."""
        ...

    def advantage(self) -> int:
        """What the move that is made next is worth to whoever makes it, from 0 to 100."""
        ...


KNOWLEDGE: dict[str, type[Marks] | type[Cards]] = {"Tic-Tac-Toe": Marks, "Texas hold'em": Cards}
OTHERWISE = {
    "situation": " From 0 to 100, how good are your chances to reach your goal from here?",
    "move": " From 0 to 100, how much does this move help whoever makes it?",
}
"""The judge's questions in other words."""


def knowing(prompt: Prompt) -> Knowledge:
    told = read(prompt)
    return KNOWLEDGE[told.game](told)


def reply(prompt: Prompt, move: str | None = None) -> str:
    """The answer to a prompt; where it is to name a move, `move` in place of the best one."""
    if PLAN in prompt.changing:
        return f" <{planned(prompt)}>"
    for reward, question in QUESTIONS.items():
        if prompt.changing.endswith(f"Question: {question}\n"):
            return OTHERWISE[reward]
    known = knowing(prompt)
    if prompt.changing.endswith(CLOSING["situation"]):
        return f"{known.analysis()}\nThe winning rate is {known.rate()}"
    if prompt.changing.endswith(CLOSING["move"]):
        return f" It is {known.facts.next.move}.\nThe advantage score is {known.advantage()}"
    if prompt.changing.endswith(VOTE):
        return vote(known)
    return name_move(prompt, known, move or known.best())


def name_move(prompt: Prompt, knowledge: Knowledge, move: str) -> str:
    """A move in the form that is asked for."""
    if prompt.cue == MOVE_CUE:
        return f" <{move}>"
    assert prompt.cue == THOUGHT_CUE, prompt.cue
    action = f"Action: {knowledge.intent(move)}\n" if ACTION in prompt.changing else ""
    return f"{knowledge.thought(move)}{action}Move: <{move}>"


def vote(knowledge: Knowledge) -> str:
    """For the candidate with the best move, of equals the first."""
    moves = knowledge.facts.candidates(knowledge.form)
    able = [move for move in moves if move is not None]
    if not able:
        return " None names a move.\nThe best choice is 1"
    best = max(able, key=knowledge.worth)
    return f" {best} is best.\nThe best choice is {moves.index(best) + 1}"


def planned(prompt: Prompt) -> str:
    """The move that the plan below the question comes to; the best one where it names none."""
    known = knowing(prompt)
    legal, plan = known.facts.legal, prompt.changing.partition(PLAN)[2]
    move = move_in(plan, legal, known.form)
    return legal[move] if isinstance(move, int) else known.best()
