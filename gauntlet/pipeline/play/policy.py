"""A player's policy: its decision in every state given, asked through the models' ordinary queues.

The questions are those of a match. A fallback is part of the policy: a match plays a random legal
move then, so the policy is uniform there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from gauntlet.agents.base import Decision, Turn, decide, scripted_policy
from gauntlet.agents.human import Human
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.wording import WORDINGS, HasWording
from gauntlet.agents.reordered import Reordered
from gauntlet.common.errors import UserError
from gauntlet.games.contract import seats_to_move
from gauntlet.games.playouts import RANDOM
from gauntlet.models.base import Model, ModelSource
from gauntlet.models.exchanges import Exchange, ScoreExchange
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.plan.cells import Cell, Player
from gauntlet.pipeline.plan.rng import CHOICE, streams
from gauntlet.pipeline.play.chains import Chain, answer_questions, run_concurrently
from gauntlet.pipeline.play.prepare import prepare
from gauntlet.pipeline.play.queues import run_queued

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
    """A decision, whether it would be the same again (a fallback is uniform each time), and what
    was asked for it."""

    decision: Decision
    exact: bool
    asked: Sequence[Exchange] = ()


def subject_cell(cell: Cell) -> Cell:
    """The cell with its subject in every seat. Raises UserError if it plays for another seat or is
    a person."""
    player = cell.players[cell.subjects[0]]
    if isinstance(player.agent, Human):
        raise UserError("agent=human: no person answers so many questions; name another agent")
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
    started = time.perf_counter()
    ready = run_queued(prepare(cell), models, asking.at_once)

    def decided(replies: range) -> list[_Decided]:
        deciding = _decisions(ready.cell, states, asking, replies)
        return run_queued(deciding, models, asking.at_once)

    found = decided(range(asking.replies or 1))
    exact = all(one.exact for one in found)
    if not exact and asking.replies is None:
        found += decided(range(1, asking.default))
    made = [one.decision for one in found]
    exchanges = [each for prepared in ready.asked for each in prepared.asked]
    exchanges += [each for one in found for each in one.asked]
    replies = np.array([_distribution(one, row, uniform) for one, row in _numbered(made, states)])
    replies = replies.reshape(-1, len(states), legal.shape[1]).swapaxes(0, 1)
    return AskedPolicy(
        replies,
        exact,
        _scores(made, legal) if exact else None,
        asked=int((legal.sum(1) > 1).sum()) * replies.shape[1],
        fallbacks=sum(one.fallback for one in made),
        requests=len(exchanges),
        prompts=sum(_prompts(one) for one in exchanges),
        seconds=time.perf_counter() - started,
    )


def _decisions(
    cell: Cell, states: Sequence[Any], asking: Asking, replies: range
) -> Chain[list[_Decided]]:
    """The decisions in all states, reply by reply; tells the number of states as they are done."""
    makers = [streams(asking.seed, cell.game, reply) for reply in replies]
    pairs = [(make, row) for make in makers for row in range(len(states))]
    done = count(1)

    def decision(row: int, rng: np.random.Generator) -> Chain[_Decided]:
        found = yield from _decision(cell, states[row], rng)
        asking.on_progress(next(done), len(pairs))
        return found

    return run_concurrently([decision(row, make(CHOICE, row)) for make, row in pairs])


def _decision(cell: Cell, state: Any, rng: np.random.Generator) -> Chain[_Decided]:
    """The decision in a state, as in a match."""
    (seat,) = seats_to_move(cell.game, state)
    player, turn = cell.players[seat], Turn.at(cell.game, state, seat, cell.goal(seat, 0))
    if len(turn.options) == 1:
        return _Decided(Decision(0), exact=True)
    asked, fresh = list[Exchange](), rng.bit_generator.state
    thinking = decide(player.agent, turn, rng)
    decision = yield from answer_questions(thinking, player, asked, {}, thoughts=False)
    settled = decision.fallback or decision.chances or rng.bit_generator.state == fresh
    exact = bool(settled) and all(isinstance(one, ScoreExchange) for one in asked)
    return _Decided(decision, exact, asked)


def _prompts(exchange: Exchange) -> int:
    return len(exchange.logprobs) if isinstance(exchange, ScoreExchange) else 1


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
