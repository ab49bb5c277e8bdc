"""Strength of scripted players: greedy beats random, and one-ply search beats greedy."""

from __future__ import annotations

from typing import Any

import pytest

from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.arctic_scavengers import ArcticScavengers
from gauntlet.games.are_you_the_traitor import AreYouTheTraitor
from gauntlet.games.base import Game
from gauntlet.games.codenames import Codenames
from gauntlet.games.hive import Hive
from gauntlet.games.pit import Pit
from gauntlet.games.santorini import Santorini
from gauntlet.games.sea_battle import SeaBattle
from tests.games.duels import scores

PIT = Pit(goal=300, turns=120)
DUELS: list[tuple[Game[Any], str, str, int, float]] = [
    (AirLandSea(), "greedy", "random", 12, 0.85),
    (AirLandSea(), "one_ply", "greedy", 4, 0.55),
    (ArcticScavengers(), "greedy", "random", 20, 0.9),
    (ArcticScavengers(), "one_ply", "greedy", 8, 0.55),
    (AreYouTheTraitor(), "greedy", "random", 30, 0.7),
    (AreYouTheTraitor(), "one_ply", "greedy", 15, 0.53),
    (Codenames(), "greedy", "random", 15, 0.7),  # in the long run 0.88
    (Codenames(), "one_ply", "random", 2, 0.65),
    (Hive(max_turns=100), "one_ply", "greedy", 6, 7 / 12),  # in the long run 0.9
    (PIT, "greedy", "random", 12, 0.65),
    (PIT, "one_ply", "greedy", 3, 0.55),
    (Santorini(), "greedy", "random", 20, 0.85),  # in the long run 0.98
    (Santorini(), "one_ply", "greedy", 6, 0.65),  # in the long run 0.9
    (SeaBattle(), "greedy", "random", 10, 0.85),  # in the long run 0.98
    (SeaBattle(), "one_ply", "greedy", 2, 0.5),  # in the long run 0.95
]
"""A game, the winner, the opponent, the number of deals, and the minimum share of the score."""


@pytest.mark.parametrize(
    ("game", "first", "second", "deals", "least"),
    DUELS,
    ids=[f"{type(game).__name__}-{first}" for game, first, *_ in DUELS],
)
def test_the_better_player_wins(
    game: Game[Any], first: str, second: str, deals: int, least: float
) -> None:
    assert scores(game, first, second, deals).mean() > least
