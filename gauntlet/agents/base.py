"""The agent interface: a generator that yields requests, is sent replies and returns a decision.

Agents therefore hold no model, no batching and no state between turns. A test drives one with
`next` and `send`; a scheduler runs thousands at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np

from gauntlet.games.base import Action, Game, Observation, TextAction
from gauntlet.games.capabilities import can_forfeit
from gauntlet.games.contract import are_chances, are_numbers, fault, legal_actions, observation
from gauntlet.models.base import Finish, Reply, Request

T = TypeVar("T")

Question = Request | tuple[Request, ...]
"""What an agent yields: one request, or several to be answered concurrently."""

Answer = Reply | tuple[Reply, ...]
"""What it is sent: the reply, or a tuple of replies in the order of the requests."""

Status = Literal[
    "ok",
    "malformed",
    "illegal",
    "ambiguous",
    "truncated",
    "context",
    "loop",
    "tool",
    "refused",
    "filtered",
    "paused",
    "failed",
    "unknown",
]
"""How a reply was read. ok: it settled something. malformed: not in the requested form. illegal: it
names no option. ambiguous: it names several. The others: it did not end by itself and held no
answer, see `models.base.Finish`; truncated is that of a "length"."""

WRONG_ANSWERS: tuple[Status, ...] = ("malformed", "illegal", "ambiguous")
"""The model answered, but not usably."""
NO_ANSWERS: tuple[Status, ...] = (
    *("truncated", "context", "loop", "tool", "refused", "filtered", "paused", "failed", "unknown"),
)
"""The reply held no answer."""


def finish_status(finish: Finish) -> Status:
    """The status of a reply without an answer that ended like this; "ok" if it ended by itself."""
    if finish == "stop" or finish == "stop_string":
        return "ok"
    return "truncated" if finish == "length" else finish


@dataclass(frozen=True, slots=True)
class Goal:
    """A seat's goal: its own win, or the win of the seat `helps`.

    points: what to collect, in the plural, in games where the score counts rather than the win.
    """

    helps: int | None = None
    points: str = ""

    def __str__(self) -> str:
        return "win" if self.helps is None else f"help:{self.helps}"


@dataclass(frozen=True)
class Turn:
    """One seat's turn: its legal actions, its goal and its observation, which is built lazily."""

    game: Game[Any]
    options: tuple[Action, ...]
    goal: Goal
    observe: Callable[[], Observation]

    @classmethod
    def at(cls, game: Game[Any], state: Any, seat: int, goal: Goal) -> Turn:
        """The turn of a seat to move. Raises UserError if the game breaks its contract."""
        options = legal_actions(game, state, seat)
        return cls(game, options, goal, partial(observation, game, state, seat, options))

    @cached_property
    def observation(self) -> Observation:
        return self.observe()


@dataclass(frozen=True, slots=True)
class Decision:
    """An agent's decision and how it came about.

    option: index into the turn's options.
    status: "ok", or what was wrong with the model's reply before the fallback was used.
    fallback: whether a fallback chose the option.
    attempts: how many times the model was queried for this decision.
    scores: one number per option, higher is better; () for agents that do not score.
    notes: further plain data to record with the decision; usually empty.
    text: the free text of the move, for a text action.
    forfeit: whether the seat gives the match up instead of moving.
    chances: if the option was drawn by the agent from known probabilities, these, one per option.
    """

    option: int
    status: Status = "ok"
    fallback: bool = False
    attempts: int = 0
    scores: tuple[float, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    forfeit: bool = False
    chances: tuple[float, ...] = ()


Thinking = Generator[Question, Answer, Decision]


class Agent(Protocol):
    """A player. Implementations are frozen dataclasses whose fields are their settings."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        """Yields requests, is sent the reply to each, returns the decision.

        Called only when there is a choice to make. `rng` belongs to this turn: every agent in this
        seat gets the same one at this decision of this deal.
        """
        ...


def questions(
    part: object, method: str, asking: Generator[Question, Answer, T]
) -> Generator[Question, Answer, T]:
    """Pass on the questions of an agent, or of a part of one, whose `method` this generator is.
    Raises UserError if it asks anything but requests."""
    if not isinstance(asking, Generator):
        allowed = "a generator: a function with `yield`, if only after its return"
        raise fault(part, method, asking, allowed)
    try:
        question = next(asking)
        while True:
            requests = question if isinstance(question, tuple) else (question,)
            if not all(isinstance(request, Request) for request in requests):
                allowed = "a request (Score, Generate), or a tuple of them"
                raise fault(part, method, question, allowed, verb="yielded")
            question = asking.send((yield question))
    except StopIteration as stop:
        result: T = stop.value
        return result


def decide(agent: Agent, turn: Turn, rng: np.random.Generator) -> Thinking:
    """The agent's questions and its decision. Raises UserError if either is not allowed."""
    decision = yield from questions(agent, "decide", agent.decide(turn, rng))
    check_decision(agent, "decide", turn, decision)
    return decision


def check_decision(part: object, method: str, turn: Turn, decision: Any) -> None:
    """Raises UserError if `method` of an agent, or of a part of one, returned what is no decision
    of this turn."""
    count = len(turn.options)
    if not isinstance(decision, Decision):
        raise fault(part, method, decision, "a Decision")
    option, text = decision.option, decision.text
    if type(option) is not int or not 0 <= option < count:
        raise fault(part, method, option, f"an int from 0 to {count - 1}", "the option")
    if decision.status not in get_args(Status):
        allowed = f"one of {', '.join(get_args(Status))}"
        raise fault(part, method, decision.status, allowed, "the status")
    if type(decision.attempts) is not int or decision.attempts < 0:
        raise fault(part, method, decision.attempts, "an int from 0 on", "the attempts")
    scores, drawn = decision.scores, decision.chances
    few = f"(), or a tuple of {count}"
    below = are_numbers(scores, count) and all(one < math.inf for one in scores)
    if not (isinstance(scores, Sequence) and (below or len(scores) == 0)):
        raise fault(part, method, scores, f"{few} numbers, one per option", "scores")
    if not (isinstance(drawn, Sequence) and (are_chances(drawn, count) or len(drawn) == 0)):
        raise fault(
            part, method, drawn, f"{few} probabilities, one per option, of sum 1", "chances"
        )
    for name, flag in (("fallback", decision.fallback), ("forfeit", decision.forfeit)):
        if type(flag) is not bool:
            raise fault(part, method, flag, "True or False", name)
    if not isinstance(decision.notes, Mapping):
        raise fault(part, method, decision.notes, "a mapping", "notes")
    taken = turn.options[option]
    if not isinstance(text, str):
        raise fault(part, method, text, "a text", "the text")
    if text and isinstance(taken, TextAction) and taken.text.fault(text):
        raise fault(part, method, text, taken.text.ask, "the text")
    if decision.forfeit and not can_forfeit(turn.game):
        allowed = "False: only games of two seats that are judged by wins can be given up"
        raise fault(part, method, decision.forfeit, allowed, "forfeit")


@runtime_checkable
class Checked(Protocol):
    """An agent that cannot play every game."""

    def check(self, game: Game[Any]) -> None:
        """Raises ValueError if the agent cannot play `game`; the message says why."""
        ...


def check(part: object, game: Game[Any]) -> None:
    """Raises ValueError if an agent, or a component of one, cannot play the game."""
    if isinstance(part, Checked):
        part.check(game)


@runtime_checkable
class Aimed(Protocol):
    """An agent that can play for or against another seat."""

    def aimed(self, game: Game[Any], seat: int, goal: Goal) -> Agent:
        """Return the agent for this seat and goal. Raises ValueError if the goal must name another
        seat and does not."""
        ...


def aimed(agent: Agent, game: Game[Any], seat: int, goal: Goal) -> Agent:
    """The agent for this seat and goal. Raises ValueError as `Aimed.aimed` does."""
    return agent.aimed(game, seat, goal) if isinstance(agent, Aimed) else agent


def scripted_policy(agent: Agent) -> str | None:
    """The name of the game's scripted policy that the agent follows, or None."""
    return getattr(agent, "scripted", None)


@runtime_checkable
class Prepared(Protocol):
    """An agent that queries its model once, before its first match."""

    def prepare(self, game: Game[Any], seat: int, goal: Goal) -> Generator[Question, Answer, Agent]:
        """Yields requests, is sent the reply to each, returns the agent that will play.

        The result depends only on the arguments, the agent's settings and the replies, so every
        worker gets the same agent. Yields nothing if there is nothing to ask.
        """
        ...


def prepared(
    agent: Any, game: Game[Any], seat: int, goal: Goal
) -> Generator[Question, Answer, Any]:
    """The agent, or a part of one, as it will play: prepared if it is `Prepared`. Raises UserError
    if its questions are not allowed."""
    if not isinstance(agent, Prepared):
        return agent
    return (yield from questions(agent, "prepare", agent.prepare(game, seat, goal)))


@runtime_checkable
class Notified(Protocol):
    """An agent that is notified when a match ends."""

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        """Yields requests whose replies are ignored and not recorded.

        seat: the agent's seat.
        moves: the moves since its last decision.
        ending: the final state, drawn for a person.
        returns: as `Game.returns` gives them.
        """
        ...


Thought = TypeVar("Thought")


def gather_all(
    thoughts: Sequence[Generator[Question, Answer, Thought]],
) -> Generator[Question, Answer, list[Thought]]:
    """Run the generators in lockstep and return their results in order. Each round yields the
    requests of all unfinished ones as a single tuple."""
    results: dict[int, Thought] = {}
    asking: dict[int, Question] = {}

    def step(number: int, answer: Answer | None) -> None:
        try:
            thought = thoughts[number]
            asking[number] = next(thought) if answer is None else thought.send(answer)
        except StopIteration as stop:
            results[number] = stop.value

    for number in range(len(thoughts)):
        step(number, None)
    while asking:
        questions, sizes = dict(asking), {n: len(_listed(q)) for n, q in asking.items()}
        asking.clear()
        replies = yield tuple(one for question in questions.values() for one in _listed(question))
        assert isinstance(replies, tuple)
        left: list[Reply] = list(replies)
        for number, question in questions.items():
            own, left = tuple(left[: sizes[number]]), left[sizes[number] :]
            step(number, own if isinstance(question, tuple) else own[0])
    return [results[number] for number in range(len(thoughts))]


def _listed(question: Question) -> tuple[Request, ...]:
    return question if isinstance(question, tuple) else (question,)
