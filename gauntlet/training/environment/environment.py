"""One seat of a game as an environment: text in, text out, and a reward.

    environment = Environment("uno", opponent="rule")
    text = environment.reset(deal=7, seat=1)
    while not environment.done:
        text, reward, done, info = environment.step(answer(text))

Deal 7 is the same as in a sweep with the same game and seed; so are the prompts and the parser of
the replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from gauntlet.common.errors import UserError
from gauntlet.games.contract import observation
from gauntlet.models.base import Prompt
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.training.environment.credit import (
    Advantage,
    Credit,
    Result,
    reference,
    require_advantage,
    result,
)
from gauntlet.training.environment.match import Match
from gauntlet.training.environment.setting import SELF, Setting, setting

Reward = Literal["result", "advantage"]
Step = tuple[str, float, bool, dict[str, Any]]

PLAYOUTS = 20
"""Playouts per option: few, since a learner makes many decisions and the noise is unbiased."""


class Environment:
    """A learning seat against players of `conf/player`.

    game: a file of `conf/game`. opponent: a player's name, or one for each of the other seats.
    prompt: a method of `conf/prompt` that requests a single text ("vanilla", "direct", "letter").
    reward: "result", 0 until the end and then the seat's score in the measure (`measure=`, for most
    games 1 for a win); or "advantage", for each decision its advantage over the baseline
    (`baseline=`, usually a random player), from `playouts` per option. seed: determines every deal
    and the opponents' luck. words: further arguments of a sweep's command line ("game.size=4",
    "measure=match_score"). Raises UserError for unsupported settings.
    """

    def __init__(
        self,
        game: str = "uno",
        opponent: str | Sequence[str] = "random",
        prompt: str = "vanilla",
        reward: Reward = "result",
        seed: int = 1,
        words: Sequence[str] = (),
        playouts: int = PLAYOUTS,
    ) -> None:
        if reward not in get_args(Reward):
            raise UserError(f"reward is {reward!r}; it must be result or advantage")
        if playouts < 1:
            raise UserError(f"playouts is {playouts}; it is 1 or more")
        opponents = [opponent] if isinstance(opponent, str) else list(opponent)
        if SELF in opponents:
            raise UserError(
                "opponent=self: an environment plays one seat (see `match.Match` for all)"
            )
        self._set_up(setting(game, opponents, prompt, seed, words), reward, playouts)
        if reward == "advantage":
            require_advantage(self.setting.cell)

    def _set_up(self, setting: Setting, reward: Reward, playouts: int) -> None:
        self.setting, self.reward, self.playouts = setting, reward, playouts
        self._match: Match | None = None
        self._seat, self._told = 0, 0
        self._credit: Credit = Result()

    def another(self) -> Environment:
        """Another environment with the same setting, which shares its configuration and models."""
        made = Environment.__new__(Environment)
        made._set_up(self.setting, self.reward, self.playouts)
        return made

    @property
    def seats(self) -> tuple[int, ...]:
        """The learner's possible seats, the one of a sweep without rotation first."""
        return self.setting.seats

    @property
    def match(self) -> Match:
        """The current match. Raises UserError before the first `reset`."""
        if self._match is None:
            raise UserError("call reset(deal, seat) before anything else")
        return self._match

    @property
    def seat(self) -> int:
        """The learner's seat in the current match."""
        return self._seat

    @property
    def done(self) -> bool:
        return self.match.record is not None

    @property
    def prompt(self) -> Prompt | None:
        """The current prompt in its parts, for chat models; None once the match is over."""
        return self.match.prompt

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the current options; () once the match is over."""
        if self.done:
            return ()
        return observation(self.setting.cell.game, self.match.state, self._seat).options

    def reset(self, deal: int, seat: int | None = None) -> str:
        """Deal, play to the seat's first decision and return its prompt. seat: by default the one
        of a sweep without rotation. Returns "" if the match ends before the seat has a choice
        (`done`)."""
        own = self.seats[0] if seat is None else seat
        match = Match(self.setting, self.setting.task(deal, own))
        self._match, self._seat, self._told = match, own, 0
        if self.reward == "advantage":
            self._credit = Advantage(self.setting, self.playouts)
        return self._text()

    def step(self, answer: str) -> Step:
        """Answer the prompt, and let the others play until the seat's next one.

        Returns the next prompt ("" once the match is over), the reward, whether the match is over,
        and the info: `deal`, `seat`, `match` (its id); `answered`, False if the method prompts
        again for the same decision; after a decision the `option` taken by name, `status` ("ok", or
        what was wrong with the answer), `fallback` (whether another option was taken instead); and
        at the end the `result` in the measure and all `measures` by name. Raises UserError once the
        match is over.
        """
        if self.done:
            raise UserError("the match is over; reset(deal, seat) begins another")
        self.match.answer(answer)
        made = self._own_decisions()
        new, self._told = made[self._told :], len(made)
        reward = self._credit.due(self.match, self._seat) if new or self.done else 0.0
        return self._text(), reward, self.done, self._info(new)

    def baseline(self, games: int = 100_000) -> float:
        """Return W(r), the baseline's mean result in the seat of a sweep without rotation."""
        return reference(self.setting, games).rate

    def close(self) -> None:
        """Free the opponents' models."""
        self.setting.close()

    def _own_decisions(self) -> list[DecisionRecord]:
        """Return the seat's decisions that required an answer."""
        return [made for made in self.match.decisions if made.seat == self._seat and made.asked]

    def _text(self) -> str:
        prompt = self.match.prompt
        return "" if prompt is None else prompt.text

    def _info(self, new: Sequence[DecisionRecord]) -> dict[str, Any]:
        task = self.match.table.task
        info: dict[str, Any] = {"deal": task.deal, "seat": self._seat, "match": task.match}
        info["answered"] = bool(new)
        if new:
            made = new[-1]
            info |= {"option": made.move, "status": made.status, "fallback": made.fallback}
        if self.match.record is not None:
            measures = self.match.record.measures
            info["result"] = result(self.match, self._seat)
            info["measures"] = {name: figures[self._seat] for name, figures in measures.items()}
        return info
