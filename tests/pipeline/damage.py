"""Damage to a log as disks, editors and people do it, drawn by hypothesis and done to files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

ODD: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 7, 2**31, 2**70, 0.5, -1e308, "", "x", "3", "\u00e9\x1b[2J", "a" * 20),
    *([], [[]], {}, {"a": []}, [1, "x", None]),
)
"""Values of right and wrong types."""

STRANGE = (
    b"hello\n",
    b"\n",
    b"[]\n",
    b"null\n",
    b"{}\n",
    b'{"kind":"match"}\n',
    b'{"kind":"match","x":' + b"[" * 5_000 + b"\n",
    b"\xff\xfe\x00\n",
    b'{"deal": NaN}\n',
    b"\0" * 40 + b"\n",
)
"""Lines that are nobody's."""


@dataclass(frozen=True)
class Damage:
    """One damage: of which kind, to which of the files, and where in it. file, place and other are
    parts of what there is, from 0 to 1."""

    kind: str
    file: float
    place: float
    other: float
    junk: bytes
    value: Any


def damages(kinds: list[str]) -> st.SearchStrategy[Damage]:
    part = st.floats(0, 1, exclude_max=True)
    junk = st.binary(min_size=1, max_size=12)
    return st.builds(Damage, st.sampled_from(kinds), part, part, part, junk, st.sampled_from(ODD))


def at(part: float, count: int) -> int:
    """Which of so many it is; 0 of none."""
    return int(part * count)


def flipped(data: bytes, damage: Damage) -> bytes:
    spoilt = bytearray(data)
    if spoilt:
        spoilt[at(damage.place, len(spoilt))] ^= 1 << at(damage.other, 8)
    return bytes(spoilt)


def overwritten(data: bytes, damage: Damage) -> bytes:
    start = at(damage.place, len(data))
    return data[:start] + damage.junk + data[start + len(damage.junk) :]


def inserted(data: bytes, damage: Damage) -> bytes:
    start = at(damage.place, len(data))
    return data[:start] + damage.junk + data[start:]


def removed(data: bytes, damage: Damage) -> bytes:
    start = at(damage.place, len(data))
    return data[:start] + data[start + 1 + at(damage.other, 200) :]


def cut(data: bytes, damage: Damage) -> bytes:
    return data[: at(damage.place, len(data))]


def swapped(data: bytes, damage: Damage) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        one, two = at(damage.place, len(lines)), at(damage.other, len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def doubled(data: bytes, damage: Damage) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        lines.insert(at(damage.other, len(lines)), lines[at(damage.place, len(lines))])
    return b"".join(lines)


def lost(data: bytes, damage: Damage) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        del lines[at(damage.place, len(lines))]
    return b"".join(lines)


def strange(data: bytes, damage: Damage) -> bytes:
    lines = data.splitlines(keepends=True)
    lines.insert(at(damage.place, len(lines) + 1), STRANGE[at(damage.other, len(STRANGE))])
    return b"".join(lines)


def edited(data: bytes, damage: Damage) -> bytes:
    """A value of a line exchanged, its key renamed or itself taken out; the checksum is left."""
    return _edited(data, damage, sealed=True)


def edited_unsealed(data: bytes, damage: Damage) -> bytes:
    """The same by somebody who takes the checksum out too."""
    return _edited(data, damage, sealed=False)


def _edited(data: bytes, damage: Damage, sealed: bool) -> bytes:
    pretty = data.startswith(b"{\n")
    lines = [data] if pretty else data.splitlines(keepends=True)
    number = at(damage.file * 7919 % 1, len(lines))
    try:
        told = json.loads(lines[number])
    except (IndexError, ValueError, RecursionError):
        return data
    places = list(_places(told))
    if not places:
        return data
    holder, key = places[at(damage.place, len(places))]
    if damage.other < 0.7:
        holder[key] = damage.value
    elif damage.other < 0.85 or isinstance(holder, list):
        del holder[key]
    else:
        holder[f"{key}s"] = holder.pop(key)
    if not sealed and isinstance(told, dict):
        told.pop("crc32", None)
    lines[number] = json.dumps(told, indent=1 if pretty else None).encode() + b"\n"
    return b"".join(lines)


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every value in a JSON text, by what holds it and its key there."""
    keys = (
        list(data) if isinstance(data, dict) else range(len(data) if isinstance(data, list) else 0)
    )
    for key in keys:
        yield data, key
        yield from _places(data[key])


CHANGES: dict[str, Callable[[bytes, Damage], bytes]] = {
    change.__name__: change
    for change in (
        *(flipped, overwritten, inserted, removed, cut, swapped, doubled, lost, strange),
        *(edited, edited_unsealed),
    )
}
