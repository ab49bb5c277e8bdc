"""Serve an environment to OpenEnv clients: `python -m gauntlet.training.openenv_server --game uno`.

A session plays one seat in successive matches. `reset(seed=N)` deals deal N, `reset()` the next one
not yet used by any session; `reset(seat=S)` chooses the seat. An action is the text of a reply; the
observation holds the next prompt, the options by name, and how the reply was read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

from gauntlet.common.errors import UserError, extra
from gauntlet.common.process import as_process
from gauntlet.training.environment.environment import PLAYOUTS, Environment

try:
    extra("openenv.core", "openenv")
except UserError as absent:
    sys.exit(f"gauntlet: {absent}")

from openenv.core.env_server import (  # type: ignore[import-not-found]
    Action,
    Observation,
    State,
    create_fastapi_app,
)
from openenv.core.env_server import Environment as Served
from pydantic import Field


class GameAction(Action):  # type: ignore[misc]
    """text: the reply to the prompt."""

    text: str


class GameObservation(Observation):  # type: ignore[misc]
    """text: the prompt, "" once the match is over. options: the current options by name. info: as
    returned by `Environment.step`; after a reset the deal and the seat."""

    text: str
    options: tuple[str, ...] = ()
    info: dict[str, Any] = Field(default_factory=dict)


class GameState(State):  # type: ignore[misc]
    """deal, seat: of the current match. result: once it is over."""

    deal: int | None = None
    seat: int | None = None
    result: float | None = None


class GameServer(Served):  # type: ignore[misc]
    """One session. own: its environment. deals: the shared counter of deals."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, environment: Environment, deals: count[int]) -> None:
        super().__init__()
        self.own, self.deals = environment, deals
        self._state = GameState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        seat: int | None = None,
        **further: Any,
    ) -> GameObservation:
        deal = next(self.deals) if seed is None else seed
        text = self.own.reset(deal, seat)
        task, sits = self.own.match.table.task, self.own.seat
        name = episode_id or task.match
        self._state = GameState(episode_id=name, step_count=0, deal=deal, seat=sits)
        return self._observation(text, 0.0, {"deal": deal, "seat": sits, "match": task.match})

    def step(
        self, action: GameAction, timeout_s: float | None = None, **further: Any
    ) -> GameObservation:
        text, reward, _, info = self.own.step(action.text)
        self._state.step_count += 1
        self._state.result = info.get("result")
        return self._observation(text, reward, info)

    @property
    def state(self) -> GameState:
        return self._state

    def _observation(self, text: str, reward: float, info: dict[str, Any]) -> GameObservation:
        return GameObservation(
            done=self.own.done, reward=reward, text=text, options=self.own.options, info=info
        )


def application(environment: Environment, sessions: int) -> Any:
    """Return the FastAPI application: up to `sessions` concurrent sessions, each with an
    environment like `environment`."""
    deals = count()

    def session() -> GameServer:
        return GameServer(environment.another(), deals)

    return create_fastapi_app(session, GameAction, GameObservation, max_concurrent_envs=sessions)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m gauntlet.training.openenv_server",
        description=(__doc__ or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("words", nargs="*", help="of a sweep's command line, as game.size=4")
    parser.add_argument("--game", default="uno", help="a file of conf/game")
    parser.add_argument(
        "--opponent", nargs="+", default=["random"], help="players of conf/player, one a seat"
    )
    parser.add_argument("--prompt", default="vanilla", help="a method of conf/prompt")
    parser.add_argument("--reward", default="result", choices=("result", "advantage"))
    parser.add_argument("--playouts", type=int, default=PLAYOUTS, help="an option, for advantages")
    parser.add_argument("--seed", type=int, default=1, help="settles every deal")
    parser.add_argument("--sessions", type=int, default=64, help="side by side")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    import uvicorn

    try:
        environment = Environment(
            *(options.game, options.opponent, options.prompt, options.reward, options.seed),
            words=options.words,
            playouts=options.playouts,
        )
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    uvicorn.run(application(environment, options.sessions), host=options.host, port=options.port)
    return 0


if __name__ == "__main__":
    as_process(main)
