"""How a watched game is told: its rules, the catalogue of policies, and what was done.

A game may know how (`games.watchable.Spectated`). Of others a line tells a step as a spectator
sees it who looks into everybody's cards: who moved, what that seat knew, and what it took.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from games.base import Game
from games.watch.transcript import Acted, Transcript
from games.watchable import Catalogued, Spectated


def names(game: Game[Any]) -> tuple[str, ...]:
    """What the watched players are called."""
    if isinstance(game, Spectated):
        return tuple(game.spectator_names)
    return tuple(map(str, range(game.num_seats)))


@lru_cache(maxsize=16)
def rules(
    game: Game[Any], title: str, own: str, policies: tuple[str, ...], codes: tuple[str, ...]
) -> str:
    """The watched game, the catalogue, and what is asked of who watches. title, own: what the game
    calls itself, and its rules as it tells them to those who play."""
    played = game.spectator_rules if isinstance(game, Spectated) else _rules(title, own)
    known = game.told_policies if isinstance(game, Catalogued) else {}
    listed = "; ".join(
        f"{code}: {known[policy]}" if policy in known else code
        for code, policy in zip(codes, policies, strict=True)
    )
    return (
        f"{played} Each player keeps to one strategy of this catalogue, two may have the same. "
        f"Catalogue, by code: {listed}. You watch and do not play. After each step you are shown "
        "the latest steps and guess the strategy of every player. You win if your last guess is "
        "right."
    )


def _rules(title: str, own: str) -> str:
    return (
        f"A match of {title} is played. Its rules: {own} A step of it is written "
        "as its number, the player who moves, what that player knows, and what it takes."
    )


def told(transcript: Transcript, first: int, end: int) -> str:
    """The steps from index `first` on and before `end`, numbered from 1."""
    steps = transcript.steps[first:end]
    if isinstance(transcript.game, Spectated):
        return transcript.game.spectate([step.moves for step in steps], first + 1)
    return "\n".join(
        f"{number}. {'; '.join(map(_line, step.acted))}"
        for number, step in enumerate(steps, first + 1)
    )


def _line(one: Acted) -> str:
    seen = one.observation
    facts = ", ".join(f"{fact.name}: {fact.text}".replace("\n", " / ") for fact in seen.facts)
    options = f" of {', '.join(seen.options)}" if len(seen.options) > 1 else ""
    line = f"player {one.seat} ({facts}) takes {seen.options[one.taken]}{options}"
    return line.replace(" (you)", "")
