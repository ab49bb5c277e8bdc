"""One match as a coroutine: it yields what its players ask and returns the finished record."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.base import Decision, Notified, Turn
from models.base import (
    Dialogue,
    Generate,
    Generation,
    ModelSource,
    Reply,
    Request,
    Score,
    Scores,
)
from pipeline.plan.cells import Cell, Task, digest
from pipeline.plan.chance import CHOICE, DEAL, stream


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, and the model that is to answer it."""

    source: ModelSource
    request: Request


Playing = Generator[Ask, Reply, dict[str, Any]]
Thought = TypeVar("Thought")


def play(cell: Cell, task: Task, seed: int) -> Playing:
    """Plays one match. Returns its record: plain data, statics of prompts under their hashes."""
    game, table = cell.game, Table(cell, task, seed)
    state = game.deal(stream(seed, game, task.deal, DEAL))
    while seats := game.to_move(state):
        moves = []
        for seat in seats:
            moves.append((yield from table.turn(state, seat)))
        state = game.play(state, moves)
    yield from table.tell(state)
    return table.record(game.returns(state))


def common_start(texts: Sequence[str]) -> str:
    """The longest text with which all of `texts` begin."""
    first, last = min(texts), max(texts)
    differing = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(differing, min(len(first), len(last)))]


def answered(
    thinking: Generator[Request, Reply, Thought],
    source: ModelSource | None,
    asked: list[dict[str, Any]],
    statics: dict[str, str],
) -> Generator[Ask, Reply, Thought]:
    """Passes an agent's requests on to its model and writes down each with its reply."""
    try:
        request = next(thinking)
        while True:
            assert source is not None, f"{thinking} asks a model but has none"
            reply = yield Ask(source, request)
            asked.append(exchange(request, reply, statics))
            request = thinking.send(reply)
    except StopIteration as stop:
        thought: Thought = stop.value
        return thought


def exchange(request: Request, reply: Reply, statics: dict[str, str]) -> dict[str, Any]:
    """A request and its reply as data; what the prompts share is written once, and the static
    part goes into `statics` under its hash."""
    if isinstance(request, Score) and isinstance(reply, Scores):
        prompt = request.prompts[0]
        texts = [prompt.changing for prompt in request.prompts]
        shared = common_start(texts)
        written: dict[str, Any] = {
            "shared": shared,
            "branches": [text[len(shared) :] for text in texts],
            "choices": request.choices,
            "logprobs": reply.logprobs,
            "tokens": reply.tokens,
            "logical_tokens": sum(reply.tokens),
            **_unreported(reply),
        }
    elif isinstance(request, Generate) and isinstance(reply, Generation):
        prompt = request.prompt
        written = {
            "shared": prompt.changing,
            "settings": [request.max_tokens, request.temperature, request.stop, request.seed],
            "text": reply.text,
            "tokens": [reply.prompt_tokens, reply.tokens],
            "logical_tokens": reply.prompt_tokens + reply.tokens,
        }
    else:
        raise TypeError(f"{type(reply).__name__} does not answer {type(request).__name__}")
    name = digest(prompt.static)
    statics[name] = prompt.static
    since = {"turns": prompt.turns} if isinstance(prompt, Dialogue) else {}
    return {"static": name, "cue": prompt.cue, **since, **written}


def _unreported(reply: Scores) -> dict[str, Any]:
    """How many choices the model did not report, and the most that each can have had."""
    if not reply.ceilings:
        return {}
    missing = sum(row.count(-math.inf) for row in reply.logprobs)
    return {"unreported": missing, "ceilings": reply.ceilings}


def margin(scores: Sequence[float]) -> float | None:
    """How far the best score lies above the second, or None where there are not two: a rounding
    difference larger than this could change the choice."""
    if len(scores) < 2:
        return None
    second, best = sorted(scores)[-2:]
    return best - second


class Table:
    """The players at their seats, and what has been written down so far."""

    def __init__(self, cell: Cell, task: Task, seed: int) -> None:
        self.cell, self.task, self.seed = cell, task, seed
        self.turns = [0] * len(cell.players)
        self.decisions: list[dict[str, Any]] = []
        self.statics: dict[str, str] = {}

    def turn(self, state: Any, seat: int) -> Generator[Ask, Reply, int]:
        """One seat's turn: asks its player where there is a choice. Returns the action."""
        game = self.cell.game
        options = game.legal(state, seat)
        number, self.turns[seat] = self.turns[seat], self.turns[seat] + 1
        player = self.cell.players[(seat - self.task.rotation) % len(self.cell.players)]
        goal = player.goal(self.task.rotation, len(self.cell.players))
        turn = Turn(game, options, goal, lambda: game.observe(state, seat))
        asked: list[dict[str, Any]] = []
        forced = len(options) == 1
        decision = Decision(0)
        if not forced or (self.cell.ask_forced and player.model is not None):
            rng = stream(self.seed, game, self.task.deal, CHOICE, seat, number)
            thinking = player.agent.decide(turn, rng)
            decision = yield from answered(thinking, player.model, asked, self.statics)
        self._write(seat, turn, decision, forced, asked)
        return options[decision.option]

    def _write(
        self, seat: int, turn: Turn, decision: Decision, forced: bool, asked: list[dict[str, Any]]
    ) -> None:
        self.decisions.append(
            {
                "seat": seat,
                "options": turn.observation.options,
                "scores": decision.scores,
                "margin": margin(decision.scores),
                "chosen": decision.option,
                "forced": forced,
                "status": decision.status,
                "fallback": decision.fallback,
                "attempts": decision.attempts,
                "tokens": sum(exchange["logical_tokens"] for exchange in asked),
                "asked": asked,
                **({"notes": decision.notes} if decision.notes else {}),
            }
        )

    def tell(self, state: Any) -> Generator[Ask, Reply, None]:
        """Tells the players that want to hear it how the match ended."""
        game = self.cell.game
        for number, player in enumerate(self.cell.players):
            if isinstance(player.agent, Notified):
                seat = (number + self.task.rotation) % len(self.cell.players)
                ending, returns = game.show(state), game.returns(state)
                telling = player.agent.on_end(seat, self._since(seat), ending, returns)
                yield from answered(telling, player.model, [], {})

    def _since(self, seat: int) -> list[str]:
        """The moves since the last decision of `seat`, that one left out."""
        own = [n for n, made in enumerate(self.decisions) if made["seat"] == seat and made["asked"]]
        last = self.decisions[own[-1] + 1 :] if own else self.decisions
        return [f"player {made['seat']}: {made['options'][made['chosen']]}" for made in last]

    def record(self, returns: tuple[float, ...]) -> dict[str, Any]:
        task, num_seats = self.task, len(self.cell.players)
        return {
            "match": task.match,
            "cell": task.cell,
            "deal": task.deal,
            "rotation": task.rotation,
            "subject": (self.cell.subject + task.rotation) % num_seats,
            "measured": (self.cell.measured + task.rotation) % num_seats,
            "returns": returns,
            "plies": sum(self.turns),
            "decisions": self.decisions,
            "statics": self.statics,
        }
