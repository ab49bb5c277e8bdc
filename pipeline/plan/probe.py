"""All that a player asks in a few seeded deals, as one hash.

No model is needed: its replies are made up, good ones and bad ones, so that what a player asks
after a bad reply counts too. What is drawn hangs on fixed seeds alone, and nothing that is hashed
on a rounded number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from agents.base import Agent, Answer, Goal, Notified, Prepared, Question, Turn
from games.base import Action, Game, Open, Said
from models.base import Reply
from pipeline.plan.made_up import made_up

DEALS = 4
"""Few, but enough for the rarer questions: UNO Arena's challenges, and reflections on them."""
PLIES = 300
"""The most that is played of a deal; most games are over before."""
MOST = 3000
"""The most that is hashed, so that a player who asks much is probed in a second too."""
SEED = 20_240_608
"""Two numbers seed a probe's deals, and more than two those of a sweep: no deal is both."""
DEAL, MOVES, CHOICE, REPLIES, PREPARATION, ENDING = range(6)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Role:
    """A seat, and what its player plays for."""

    seat: int
    goal: Goal


def probe(game: Game[Any], agent: Agent, roles: Sequence[Role], ask_forced: bool = False) -> str:
    """16 hex digits of what `agent` asks and decides in these roles: before the first match (in
    the first of them), on every turn with a choice, after each match.

    ask_forced: whether it is asked too where there is one option.
    """
    found = hashlib.sha256()
    for told in islice(_Probe(game, agent, roles, ask_forced).told(), MOST):
        found.update(f"{told}\n".encode(errors="surrogatepass"))
    return found.hexdigest()[:16]


@dataclass
class _Probe:
    game: Game[Any]
    agent: Agent
    roles: Sequence[Role]
    ask_forced: bool
    since: dict[Role, list[str]] = field(default_factory=dict)

    def told(self) -> Iterator[str]:
        first = self.roles[0]
        if isinstance(self.agent, Prepared):
            preparing = self.agent.prepare(self.game, first.seat, first.goal)
            self.agent = yield from _heard(preparing, _replies((), PREPARATION))
        for deal in range(DEALS):
            yield from self._deal(deal)

    def _deal(self, deal: int) -> Iterator[str]:
        game, draw = self.game, _rng(MOVES, deal)
        state, self.since = game.deal(_rng(DEAL, deal)), {role: [] for role in self.roles}
        for ply in range(PLIES):
            seats = game.to_move(state)
            for role in self.roles:
                if role.seat in seats:
                    yield from self._turn(state, role, (deal, ply))
            taken = [_drawn(game.legal(state, seat), draw) for seat in seats]
            for seat, (option, _) in zip(seats, taken, strict=True):
                self._note(f"player {seat}: {game.observe(state, seat).options[option]}")
            if not seats:
                yield from self._ending(state, deal)
                return
            state = game.play(state, [move for _, move in taken])

    def _turn(self, state: Any, role: Role, at: tuple[int, int]) -> Iterator[str]:
        options = self.game.legal(state, role.seat)
        if len(options) == 1 and not isinstance(options[0], Open) and not self.ask_forced:
            return
        self.since[role] = []
        turn = Turn(self.game, options, role.goal, partial(self.game.observe, state, role.seat))
        here = (*at, self.roles.index(role))
        thinking = self.agent.decide(turn, _rng(CHOICE, *here))
        names = turn.observation.options
        decision = yield from _heard(thinking, _replies(names, REPLIES, *here, wanted=options))
        yield repr((decision.option, decision.status, decision.fallback, decision.text))

    def _ending(self, state: Any, deal: int) -> Iterator[str]:
        if not isinstance(self.agent, Notified):
            return
        shown, returns = self.game.show(state), self.game.returns(state)
        for number, role in enumerate(self.roles):
            ended = self.agent.on_end(role.seat, self.since[role], shown, returns)
            yield from _heard(ended, _replies((), ENDING, deal, number))

    def _note(self, move: str) -> None:
        for moves in self.since.values():
            moves.append(move)


def _heard(
    thinking: Generator[Question, Answer, Result], reply: Callable[[Any], Reply]
) -> Generator[str, None, Result]:
    """Yields every question as text and answers it; returns what comes of it."""
    try:
        question = next(thinking)
        while True:
            yield repr(question)
            several = isinstance(question, tuple)
            replies = tuple(map(reply, question if isinstance(question, tuple) else (question,)))
            question = thinking.send(replies if several else replies[0])
    except StopIteration as stop:
        result: Result = stop.value
        return result


def _replies(
    names: Sequence[str], *at: int, wanted: Sequence[Action] = ()
) -> Callable[[Any], Reply]:
    """Made-up replies about the options of these names, settled by where they are given."""
    texts = tuple(example for o in wanted if isinstance(o, Open) for example in o.text.examples)
    return partial(made_up, names=names, texts=texts, rng=_rng(*at))


def _drawn(options: Sequence[Action], rng: np.random.Generator) -> tuple[int, Action]:
    """An option's place and the move, with words where it wants some."""
    at = int(rng.integers(len(options)))
    option = options[at]
    if isinstance(option, Open):
        examples = option.text.examples
        return at, Said(option, examples[int(rng.integers(len(examples)))])
    return at, option


def _rng(purpose: int, *at: int) -> np.random.Generator:
    """The chance of one purpose at one place."""
    number = purpose
    for part in at:
        number = number * 1009 + part + 1
    return np.random.default_rng([SEED, number])
