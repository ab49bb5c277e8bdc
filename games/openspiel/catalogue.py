"""Every game that OpenSpiel registers: as a game of this project, or why it is none."""

from __future__ import annotations

from games.openspiel import engine
from games.openspiel.game import OpenSpiel


def catalogue() -> dict[str, OpenSpiel | str]:
    """By name, in alphabetical order: the game with its usual number of seats, or the reason why it
    cannot be played here without parameters, or at all."""
    return {name: _game(name) for name in sorted(engine.kinds())}


def _game(name: str) -> OpenSpiel | str:
    try:
        return OpenSpiel(num_seats=usual_seats(name), name=name)
    except ValueError as error:
        return str(error)


def usual_seats(name: str) -> int:
    """How many seats a game has unless somebody says otherwise."""
    kind = engine.kinds()[name]
    told = [kind.parameter_specification.get(one, 0) for one in engine.SEATS]
    return int(max(kind.min_num_players, *(one for one in told if isinstance(one, int))))
