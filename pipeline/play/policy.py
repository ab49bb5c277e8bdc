"""A player's policy: its decision in every state given, asked through the models' ordinary queues.

The questions are those of a match. A fallback is part of the policy: a match plays a random legal
move then, so the policy is uniform there.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gauntlet.agents.base import Decision, Turn, scripted_policy
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.wording import WORDINGS, HasWording
from gauntlet.agents.reordered import Reordered
from gauntlet.common.errors import UserError
from gauntlet.games.playouts import RANDOM
from gauntlet.models.base import Model, ModelSource, Score
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.plan.rng import CHOICE, streams
from gauntlet.pipeline.play.chains import Answered, Ask, Chain, answer_questions, run_concurrently
from gauntlet.pipeline.play.prepare import prepare
from gauntlet.pipeline.play.queues import Delivery, queue_for

Result = TypeVar("Result")
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class AskedPolicy:
    """What a player decides in each state.

    replies: for each state and reply the distribution of its move, shape (states, n, options): all
        on one option, or its chances if they are known, or uniform after a fallback.
    exact: whether the replies are the whole policy rather than a sample of it: no decision used
        randomness, except for a fallback or by known chances, or asked a model for text.
    scores: of each option, shape (states, options), if exact; None if the player gives none for
        some state. Of a state without a choice, or after a fallback, 1 for every option.
    asked, fallbacks: number of decisions with a choice, and of those by a fallback.
    requests, prompts: asked of the model.
    seconds: from the first question to the last reply.
    """

    replies: np.ndarray
    exact: bool
    scores: np.ndarray | None = None
    asked: int = 0
    fallbacks: int = 0
    requests: int = 0
    prompts: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Asking:
    """How to ask. replies: decisions per state; None for one if that is the whole policy, else
    `default`. at_once: the most requests in a batch."""

    seed: Seed
    replies: int | None
    default: int
    at_once: int
    on_progress: Progress


@dataclass(frozen=True)
class _Decided:
    """A decision, and whether it would be the same again (a fallback is uniform each time)."""

    decision: Decision
    exact: bool


class _Count:
    """Counts what the models are asked, and reports progress."""

    def __init__(self, models: Mapping[ModelSource, Model], asking: Asking) -> None:
        self.models, self.asking = models, asking
        self.requests = self.prompts = 0

    def run(self, chain: Chain[Result]) -> Result:
        """Run a chain; its asks wait in one queue per model."""
        arrivals: queue.SimpleQueue[Sequence[Delivery]] = queue.SimpleQueue()
        queues = {
            source: queue_for(model, self.asking.at_once, arrivals.put)
            for source, model in self.models.items()
        }
        done = asked = 0
        try:
            asks: tuple[Ask, ...] = next(chain)
            while True:
                asked += self._put(asks, queues)
                for each in queues.values():
                    each.flush()
                deliveries = arrivals.get()
                done += len(deliveries)
                self.asking.on_progress(done, asked)
                asks = ()
                for delivery in deliveries:  # a loop: the chain's end passes through no generator
                    asks += _resumed(chain, delivery)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        finally:
            for each in queues.values():
                each.close()

    def _put(self, asks: Sequence[Ask], queues: Mapping[ModelSource, Any]) -> int:
        for ask in asks:
            self.requests += 1
            self.prompts += len(ask.request.prompts) if isinstance(ask.request, Score) else 1
            queues[ask.source].put(ask)
        return len(asks)


def _resumed(chain: Chain[Any], delivery: Delivery) -> tuple[Ask, ...]:
    if isinstance(delivery.reply, Exception):
        raise delivery.reply
    return chain.send(Answered(delivery.ask, delivery.reply))


def subject_cell(cell: Cell) -> Cell:
    """The cell with its subject in every seat. Raises UserError if it plays for another seat."""
    player = cell.players[cell.subjects[0]]
    if player.helps is not None:
        raise UserError(f"{player.name} plays for another seat; exploitability is of its own win")
    return replace(cell, players=(player,) * len(cell.players))


def policy_of(
    cell: Cell,
    states: Sequence[Any],
    legal: np.ndarray,
    models: Mapping[ModelSource, Model],
    asking: Asking,
) -> AskedPolicy:
    """Ask the players of a cell for their decision in each state. legal: shape (states, options).

    A uniformly random player is not asked: its policy is known. Raises what a model raises.
    """
    uniform = legal / legal.sum(1, keepdims=True)
    if scripted_policy(cell.players[0].agent) == RANDOM:
        return AskedPolicy(uniform[:, None], exact=True)
    started, count = time.perf_counter(), _Count(models, asking)
    ready = count.run(prepare(cell)).cell
    first = count.run(_decisions(ready, states, asking.seed, range(asking.replies or 1)))
    exact = all(one.exact for one in first)
    if not exact and asking.replies is None:
        rest = range(1, asking.default)
        first += count.run(_decisions(ready, states, asking.seed, rest))
    made = [one.decision for one in first]
    replies = np.array([_distribution(one, row, uniform) for one, row in _numbered(made, states)])
    replies = replies.reshape(-1, len(states), legal.shape[1]).swapaxes(0, 1)
    return AskedPolicy(
        replies,
        exact,
        _scores(made, legal) if exact else None,
        asked=int((legal.sum(1) > 1).sum()) * replies.shape[1],
        fallbacks=sum(one.fallback for one in made),
        requests=count.requests,
        prompts=count.prompts,
        seconds=time.perf_counter() - started,
    )


def _decisions(
    cell: Cell, states: Sequence[Any], seed: Seed, replies: range
) -> Chain[list[_Decided]]:
    """The decisions in all states, reply by reply."""
    makers = [streams(seed, cell.game, reply) for reply in replies]
    pairs = [(make, row) for make in makers for row in range(len(states))]
    return run_concurrently(
        [_decision(cell, states[row], make(CHOICE, row)) for make, row in pairs]
    )


def _decision(cell: Cell, state: Any, rng: np.random.Generator) -> Chain[_Decided]:
    """The decision in a state, as in a match."""
    game, (seat,) = cell.game, cell.game.to_move(state)
    player, options = cell.players[seat], game.legal(state, seat)
    if len(options) == 1:
        return _Decided(Decision(0), exact=True)
    goal = cell.goal(seat, 0)
    turn = Turn(game, options, goal, lambda: game.observe(state, seat))
    asked, fresh = list[Exchange](), rng.bit_generator.state
    thinking = player.agent.decide(turn, rng)
    decision = yield from answer_questions(thinking, player.model, asked, {}, thoughts=False)
    settled = decision.fallback or decision.chances or rng.bit_generator.state == fresh
    return _Decided(
        decision, bool(settled) and all(isinstance(one, ScoreExchange) for one in asked)
    )


def _numbered(decisions: Sequence[Decision], states: Sequence[Any]) -> list[tuple[Decision, int]]:
    return [(one, number % len(states)) for number, one in enumerate(decisions)]


def _distribution(decision: Decision, row: int, uniform: np.ndarray) -> np.ndarray:
    if decision.fallback:
        return np.asarray(uniform[row])
    if decision.chances:
        return np.pad(decision.chances, (0, uniform.shape[1] - len(decision.chances)))
    return np.asarray(np.arange(uniform.shape[1]) == decision.option, float)


def _scores(decisions: Sequence[Decision], legal: np.ndarray) -> np.ndarray | None:
    """The scores of the first decision in each state; None if some has none."""
    found = np.where(legal, 1.0, 0.0)
    for row, decision in enumerate(decisions[: len(legal)]):
        if legal[row].sum() == 1 or decision.fallback:
            continue
        if not decision.scores:
            return None
        found[row, : len(decision.scores)] = decision.scores
    return found


def variants(player: Player) -> dict[str, Player]:
    """The player under each other wording of its method, if it has any, and with the options listed
    backwards."""
    found = {"options backwards": replace(player, agent=Reordered(player.agent))}
    agent = player.agent
    if isinstance(agent, LLM) and isinstance(agent.method, HasWording):
        for wording in WORDINGS:
            if wording != agent.method.wording:
                method: Any = replace(agent.method, wording=wording)
                found[f"wording {wording}"] = replace(player, agent=replace(agent, method=method))
    return found
