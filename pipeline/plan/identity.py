"""What a player is, in plain data: all that can change its moves, and nothing that cannot."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from agents.base import Goal, Prepared, Question, Thinking, Turn
from games.base import Game, spoken
from models.base import Generation, ModelSource, Score
from pipeline.config.nodes import describe
from pipeline.plan.cells import Player, digest

WORDING_PLIES = 3
"""How far into a game the probe of a prompt's wording lies: far enough for some history."""


def player_identity(player: Player, seat: int, game: Game[Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"agent": describe(player.agent), "helps": player.helps}
    if player.model is not None:
        described["model"] = model_identity(player.model)
        asked_first = first_requests(game, player, seat)
        described["wording"] = digest(asked_first if len(asked_first) > 1 else asked_first[0])
        asked = first_of_preparation(game, player, seat)
        if asked is not None:
            described["preparation"] = digest(asked)
    return described


@lru_cache
def model_identity(source: ModelSource) -> dict[str, Any]:
    return dict(source.identity())


def first_requests(game: Game[Any], player: Player, seat: int) -> list[Question | None]:
    """What the player asks at its first choice, after a few plies, in a game of first options; a
    conversation goes on over empty replies. [None] where it is never asked.

    Its hash stands for the wording of the prompts: whoever changes a word of a method or of a
    game's facts gets new match ids, without a version number that could be forgotten.
    """
    rng = np.random.default_rng(0)
    state = game.deal(rng)
    for ply in itertools.count():
        seats = game.to_move(state)
        if not seats:
            break
        options = {s: game.legal(state, s) for s in seats}
        if ply >= WORDING_PLIES and len(options.get(seat, ())) > 1:
            observe = partial(game.observe, state, seat)
            turn = Turn(game, options[seat], Goal(player.helps), observe)
            return list(_conversation(player.agent.decide(turn, rng))) or [None]
        state = game.play(state, [spoken(options[s][0], rng) for s in seats])
    return [None]


def _conversation(thinking: Thinking) -> Iterator[Question]:
    request = next(thinking, None)
    while request is not None:
        yield request
        if isinstance(request, Score):
            return
        try:
            request = thinking.send(Generation("", 0, 0))
        except StopIteration:
            return


def first_of_preparation(game: Game[Any], player: Player, seat: int) -> Question | None:
    """What the player asks first before its first match; None where it has nothing to ask."""
    if not isinstance(player.agent, Prepared):
        return None
    return next(player.agent.prepare(game, seat, Goal(player.helps)), None)
