"""Reopen a file of lines for appending: keep whole lines, move damaged ones aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from gauntlet.common.disk import Disk, append, recover_lines, write_atomically
from gauntlet.common.errors import counted

SHOWN = 3
"""How many damaged lines a note lists one by one."""

T = TypeVar("T")


def repair_lines(
    disk: Disk, path: Path, read: Callable[[bytes], T], notes: list[str], then: str = ""
) -> Iterator[T]:
    """Yield `read(line)` for each line. A torn last line is cut off. Lines for which `read` raises
    ValueError are moved to a .damaged file next to this one and reported in `notes`.

    then: a clause for the note, saying what happens to them.
    """
    damaged: dict[int, tuple[bytes, str]] = {}
    for number, line in enumerate(recover_lines(disk, path), start=1):
        try:
            value = read(line)
        except ValueError as why:
            damaged[number] = line, str(why)
        else:
            yield value
    if damaged:
        damaged_file = path.with_suffix(".damaged")
        append(disk, damaged_file, b"".join(line for line, _ in damaged.values()))
        lines = enumerate(disk.lines(path), start=1)
        good = (line for number, line in lines if number not in damaged)
        write_atomically(path, b"".join(good), disk)
        reasons = [f"line {number}: {why}" for number, (_, why) in damaged.items()]
        more = [f"and {len(reasons) - SHOWN:,} more"] if len(reasons) > SHOWN else []
        told = "; ".join([*reasons[:SHOWN], *more])
        notes.append(
            f"{path}: {counted(len(damaged), 'damaged line')} moved to "
            f"{damaged_file.name}{then} ({told})"
        )
