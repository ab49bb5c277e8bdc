"""The games as a taskset of the verifiers library, with one or two learning seats.

A task is one seat of one deal, played by the agent `player`; the others are players of
`conf/player`, or with `opponent=["self"]` the agent `opponent`, whose trace is scored as well. The
library finds an environment by the name of its module, so this folder must be on the path:

    PYTHONPATH=.:gauntlet/training python -m verifiers.v1.cli.eval.main verifiers-env \
        --env.taskset.game uno --env.taskset.opponent '["rule"]'

Each prompt contains the whole situation, as in a sweep; earlier messages stay in the conversation.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, Literal

from gauntlet.common.errors import UserError, extra
from gauntlet.models.base import Dialogue, Prompt
from gauntlet.training.environment.credit import (
    Advantage,
    Credit,
    Result,
    require_advantage,
    result,
)
from gauntlet.training.environment.environment import PLAYOUTS
from gauntlet.training.environment.match import Match
from gauntlet.training.environment.setting import Setting, setting

try:
    extra("verifiers.v1", "verifiers")
except UserError as absent:
    sys.exit(f"gauntlet: {absent}")

import verifiers.v1 as vf  # type: ignore[import-not-found]
from openai import AsyncOpenAI
from verifiers.v1.dialects.chat import message_to_wire  # type: ignore[import-not-found]
from verifiers.v1.runtimes import ProgramResult  # type: ignore[import-not-found]

__all__ = ["Games", "GamesEnv", "Talk"]

HERE: dict[str, Any] = {"runtime": {"type": "subprocess"}}


class GamesConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Arguments of `training.environment.environment.Environment`; opponent may be ["self"]."""

    game: str = "uno"
    opponent: tuple[str, ...] = ("random",)
    prompt: str = "vanilla"
    reward: Literal["result", "advantage"] = "result"
    playouts: int = PLAYOUTS
    seed: int = 1
    words: tuple[str, ...] = ()


class GameData(vf.TaskData):  # type: ignore[misc]
    """The deal, and the seat of the agent `player`."""

    deal: int
    seat: int


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One seat of one deal."""


class Games(vf.Taskset[GameTask, GamesConfig]):  # type: ignore[misc]
    """Every deal from 0 on, once per seat; deals in which no learner has a choice are skipped."""

    INFINITE = True

    def __init__(self, config: GamesConfig) -> None:
        super().__init__(config)
        own = config.game, config.opponent, config.prompt, config.seed, config.words
        self.setting: Setting = setting(*own)
        if config.reward == "advantage":
            require_advantage(self.setting.cell)

    def load(self) -> Iterator[GameTask]:
        for deal in count():
            for seat in self.setting.seats:
                if Match(self.setting, self.setting.task(deal, seat)).request is not None:
                    name = f"{self.config.game} deal {deal} seat {seat}"
                    yield GameTask(GameData(name=name, deal=deal, seat=seat), self.config.task)


class TalkConfig(vf.HarnessConfig):  # type: ignore[misc]
    """No options."""


class Talk(vf.Harness[TalkConfig]):  # type: ignore[misc]
    """One chat completion per prompt, called from this process: a player needs no program."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
    ) -> Any:
        system, prompt = self.resolve_prompt(data)
        opening: list[Any] = [{"role": "system", "content": system}] if system else []
        said = [message_to_wire(message) for message in prompt or []]
        async with AsyncOpenAI(base_url=endpoint, api_key=secret, max_retries=0) as client:
            await client.chat.completions.create(model=ctx.model, messages=[*opening, *said])
        return ProgramResult(exit_code=0, stdout="", stderr="")


class GamesEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The agents of the seat and, with opponent=["self"], of the other one."""

    player: vf.AgentConfig = vf.AgentConfig(**HERE)
    opponent: vf.AgentConfig = vf.AgentConfig(**HERE)


class GamesEnv(vf.Env[GamesEnvConfig]):  # type: ignore[misc]
    """One match per episode; each agent's trace gets the reward of its seat."""

    async def run(self, task: GameTask, agents: Any) -> None:
        setting: Setting = self.taskset.setting
        match = Match(setting, setting.task(task.data.deal, task.data.seat))
        roles = dict(zip(setting.cell.subjects, (agents.player, agents.opponent), strict=False))
        talks: dict[int, Any] = {}
        gains = {number: self._credit(setting) for number in roles}
        async with AsyncExitStack() as stack:
            while (prompt := match.prompt) is not None:
                player = match.player
                if player not in talks:
                    talks[player] = await stack.enter_async_context(roles[player].interaction(task))
                segment = await talks[player].turn(new_message(prompt))
                if segment.terminated:
                    return
                await asyncio.to_thread(match.answer, segment.last_reply)
        for player, talk in talks.items():
            seat = match.seating.index(player)
            talk.trace.record_reward(self.taskset.config.reward, gains[player].due(match, seat))
            talk.trace.record_metric("result", result(match, seat))
            made = [one for one in match.decisions if one.seat == seat and one.asked]
            talk.trace.record_metric("fallbacks", sum(one.fallback for one in made) / len(made))

    def _credit(self, setting: Setting) -> Credit:
        config = self.taskset.config
        return Result() if config.reward == "result" else Advantage(setting, config.playouts)


def new_message(prompt: Prompt) -> str:
    """Return a prompt's new message, with the system text where a decision begins."""
    return prompt.system * (not isinstance(prompt, Dialogue)) + prompt.messages[-1]
