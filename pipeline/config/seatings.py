"""The seatings of conf/seats by how many they seat, for messages that name a fitting one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

SEATS = Path(__file__).parent.parent.parent / "conf" / "seats"


def fitting(fits: Callable[[int], bool]) -> str:
    """Those of as many seats as fit, as they are typed: "seats=play or solo"; "" if none does."""
    *names, last = ["", *(name for name, seats in seatings().items() if fits(seats))]
    listed = ", ".join(names[1:])
    return f"seats={listed} or {last}" if listed else f"seats={last}" if last else ""


def seatings() -> dict[str, int]:
    """How many each seats, by its name."""
    files = sorted(SEATS.glob("*.yaml"))
    nodes = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    return {name: sum(key.isdecimal() for key in node) for name, node in nodes.items()}
