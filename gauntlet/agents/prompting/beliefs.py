"""Side questions about what a player cannot know, asked beside a match.

A question is a prompt of its own, without memory: the situation of a decision, the move chosen
there, and the answers under letters. It is asked once for every rotation of the answers, like the
options of `cloze`, so that the model's favourite letters cancel.
"""

from __future__ import annotations

from dataclasses import replace

from gauntlet.agents.base import Goal
from gauntlet.agents.prompting.cloze import LETTERS, option_scores, prompts
from gauntlet.agents.prompting.wording import PLAIN
from gauntlet.games.base import Observation
from gauntlet.games.capabilities import BeliefQuestion
from gauntlet.models.base import Score, Scores

MOVES = 5
"""Number of recent moves in the prompt."""
MOST = len(LETTERS)
"""Most answers that a question may have."""
ASIDE = "You have just chosen: {move}\nA question beside the game, which changes nothing in it: "


def belief_request(
    observation: Observation, goal: Goal, move: str, question: BeliefQuestion
) -> Score:
    """The question after the seat of this observation has chosen the option `move`. Raises
    ValueError for a question without two to MOST different answers."""
    answers = question.answers
    if not 2 <= len(set(answers)) == len(answers) <= MOST:
        raise ValueError(
            f"{question.text!r} has the answers {', '.join(answers)}; it needs 2 to {MOST} "
            "different ones"
        )
    words = replace(
        PLAIN,
        options=f"{ASIDE.format(move=move)}{question.text}\n",
        letter="Which answer is right? Reply with its letter.\n",
    )
    shown = replace(observation, options=answers)
    asked = prompts(shown, goal, MOVES, range(len(answers)), words)
    return Score(asked, LETTERS[: len(answers)])


def belief_scores(reply: Scores) -> tuple[float, ...]:
    """The mean probability of each answer's letters over the rotations. They sum to the probability
    of all letters among all tokens, not to 1."""
    count = len(reply.logprobs)
    return tuple(score / count for score in option_scores(reply))
