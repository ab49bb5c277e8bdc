"""The poker games in words, from what RLCard tells a seat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from games.base import Fact

RANKS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "ten"}
SUITS = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs"}
LIMIT = ("call", "raise", "fold", "check")
NO_LIMIT = ("fold", "check or call", "raise half the pot", "raise the pot", "go all in")


def card(code: str) -> str:
    """RLCard writes the suit first: HK is the king of hearts."""
    return f"{RANKS.get(code[1], code[1])} of {SUITS[code[0]]}"


def limit_option(env: Any, action: int) -> str:
    return LIMIT[action]


def no_limit_option(env: Any, action: int) -> str:
    return NO_LIMIT[action]


def told(env: Any, seat: int) -> Mapping[str, Any]:
    """RLCard's own account of the hand for a seat."""
    found: Mapping[str, Any] = env.env.get_state(seat)["raw_obs"]
    return found


def leduc_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    seen = told(env, seat)
    opened = seen["public_card"]
    return (
        Fact("Open card", card(opened) if opened else "none yet"),
        Fact("Chips in the pot", chips(seen["all_chips"], seat)),
        Fact("Your card", card(seen["hand"]), own=True),
    )


def holdem_facts(env: Any, seat: int) -> tuple[Fact, ...]:
    seen = told(env, seat)
    return (
        Fact("Open cards", ", ".join(map(card, seen["public_cards"])) or "none yet"),
        Fact("Chips in the pot", chips(put_in(env, seen), seat)),
        Fact("Your cards", ", ".join(map(card, seen["hand"])), own=True),
    )


def put_in(env: Any, seen: Mapping[str, Any]) -> list[int]:
    """What each seat has put into the pot, which limit hold'em does not tell a seat."""
    every = seen.get("all_chips")
    return list(every) if every is not None else [one.in_chips for one in env.env.game.players]


def chips(put: list[int], seat: int) -> str:
    return ", ".join(
        f"player {player}{' (you)' * (player == seat)}: {float(many):g}"
        for player, many in enumerate(put)
    )
