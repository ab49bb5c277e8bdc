"""Games drawn for a person: a file a game, and a plain one for every other."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from markupsafe import Markup

from gauntlet.common.ids import class_id
from gauntlet.games.base import Game, Observation

STYLE = Path(__file__).parent / "drawn.css"

FILES = {
    "games.codenames.game.Codenames": "codenames",
    "games.hive.game.Hive": "hive",
    "games.holdem.game.Holdem": "holdem",
    "games.rock_paper_scissors.RockPaperScissors": "throws",
    "games.santorini.game.Santorini": "santorini",
    "games.sea_battle.game.SeaBattle": "sea_battle",
    "games.tic_tac_toe.TicTacToe": "board",
    "games.uno.arena.game.UnoArena": "arena",
    "games.uno.game.Uno": "uno",
}
"""The file that draws a game. It is read once such a game is there, which then is loaded too."""


class Artist(Protocol):
    """What such a file has."""

    def whole(self, game: Any, state: Any) -> Markup: ...

    def seen(self, game: Any, observation: Observation) -> Markup: ...


def whole(game: Game[Any], state: Any) -> Markup:
    """A state with all cards open, final ones too."""
    return _artist(game).whole(game, state)


def seen(game: Game[Any], observation: Observation) -> Markup:
    """What the observing seat may know, and nothing else: hidden cards lie face down."""
    return _artist(game).seen(game, observation)


def _artist(game: Game[Any]) -> Artist:
    name = FILES.get(class_id(type(game)), "plain")
    return cast(Artist, import_module(f"{__name__}.{name}"))
