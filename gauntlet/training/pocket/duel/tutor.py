"""The tutor: answers the prompts of the reasoning methods in their required form, with a few words
of reasoning."""

from __future__ import annotations

from typing import Any, Protocol

from gauntlet.agents.prompting.answers import move_in
from gauntlet.agents.prompting.cot_base import MOVE_CUE, THOUGHT_CUE
from gauntlet.agents.prompting.react import ACTION
from gauntlet.agents.prompting.talaga import CLOSING, QUESTIONS
from gauntlet.agents.prompting.tot import PLAN, VOTE
from gauntlet.models.base import Prompt
from gauntlet.training.pocket.duel.cards import Cards
from gauntlet.training.pocket.duel.marks import Marks
from gauntlet.training.pocket.duel.prompt_parsing import PromptFacts, parse_prompt


class Knowledge(Protocol):
    """A tutor's knowledge of the position in a prompt."""

    @property
    def facts(self) -> PromptFacts: ...

    @property
    def form(self) -> str:
        """The game's move format, a regular expression."""
        ...

    def best(self) -> str:
        """Return the best legal move."""
        ...

    def worth(self, move: str) -> Any:
        """Return a sort key for moves, the best one last."""
        ...

    def thought(self, move: str) -> str:
        """Return a line of reasoning that ends with the move."""
        ...

    def intent(self, move: str) -> str:
        """Return the game's intent that the move carries out."""
        ...

    def analysis(self) -> str:
        """Return a line on who is ahead."""
        ...

    def rate(self) -> int:
        """Return the player's winning chances, 0 to 100."""
        ...

    def advantage(self) -> int:
        """Return the value of the next move for the player who makes it, 0 to 100."""
        ...


KNOWLEDGE: dict[str, type[Marks] | type[Cards]] = {"Tic-Tac-Toe": Marks, "Texas hold'em": Cards}
OTHERWISE = {
    "situation": " From 0 to 100, how good are your chances to reach your goal from here?",
    "move": " From 0 to 100, how much does this move help whoever makes it?",
}
"""The judge's questions rephrased."""


def knowing(prompt: Prompt) -> Knowledge:
    told = parse_prompt(prompt)
    return KNOWLEDGE[told.game](told)


def reply(prompt: Prompt, move: str | None = None) -> str:
    """Return the answer to a prompt; if it names a move, `move` instead of the best one."""
    if PLAN in prompt.changing:
        return f" <{planned(prompt)}>"
    for reward, question in QUESTIONS.items():
        if prompt.changing.endswith(f"Question: {question}\n"):
            return OTHERWISE[reward]
    knowledge = knowing(prompt)
    if prompt.changing.endswith(CLOSING["situation"]):
        return f"{knowledge.analysis()}\nThe winning rate is {knowledge.rate()}"
    if prompt.changing.endswith(CLOSING["move"]):
        return (
            f" It is {knowledge.facts.next.move}.\nThe advantage score is {knowledge.advantage()}"
        )
    if prompt.changing.endswith(VOTE):
        return vote(knowledge)
    return name_move(prompt, knowledge, move or knowledge.best())


def name_move(prompt: Prompt, knowledge: Knowledge, move: str) -> str:
    """Format a move as the prompt requires."""
    if prompt.cue == MOVE_CUE:
        return f" <{move}>"
    assert prompt.cue == THOUGHT_CUE, prompt.cue
    action = f"Action: {knowledge.intent(move)}\n" if ACTION in prompt.changing else ""
    return f"{knowledge.thought(move)}{action}Move: <{move}>"


def vote(knowledge: Knowledge) -> str:
    """Vote for the candidate with the best move, the first of equals."""
    moves = knowledge.facts.candidates(knowledge.form)
    able = [move for move in moves if move is not None]
    if not able:
        return " None names a move.\nThe best choice is 1"
    best = max(able, key=knowledge.worth)
    return f" {best} is best.\nThe best choice is {moves.index(best) + 1}"


def planned(prompt: Prompt) -> str:
    """Return the move that the plan in the prompt names, or the best one if it names none."""
    knowledge = knowing(prompt)
    legal, plan = knowledge.facts.legal, prompt.changing.partition(PLAN)[2]
    move = move_in(plan, legal, knowledge.form)
    return legal[move] if isinstance(move, int) else knowledge.best()
