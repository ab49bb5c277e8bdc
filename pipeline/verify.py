"""Is a folder's log whole? `python -m pipeline.verify OUTPUT_DIR`

Reads every line of the log and every small file beside it, says of each that is damaged where it
is and why, and writes nothing. The status is 0 where all is well, else 1. Files that are no part of
the log, lines that an older version wrote without a checksum, and gaps that a run yet has to fill
are told too, and are no damage.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import convert

from common.errors import UserError
from common.foreign import visible
from common.process import as_process
from pipeline.judging.luck import Luck
from pipeline.log.folder import Folder, key_of
from pipeline.log.links import controls_file, noise_file, place_of
from pipeline.log.results import About
from pipeline.log.schema import MatchRecord
from pipeline.log.small import LOGS, Described, Stops, Told, line_reader, parsed
from pipeline.plan.cells import digest

MATCH = re.compile(rb'"match":\s*"([!-~]{1,16}?)"')


@dataclass
class Findings:
    """What is wrong, by file; what is worth knowing and no damage; and how many lines were read."""

    folder: Folder
    wrong: dict[str, list[str]] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    lines: int = 0
    unverified: int = 0

    def add(self, path: Path, what: str) -> None:
        self.wrong.setdefault(self.name(path), []).append(what)

    def name(self, path: Path) -> str:
        return str(path.relative_to(self.folder.path))


def verify(folder: Path) -> Findings:
    """Looks through an output folder. Raises UserError where it holds no sweep."""
    place = Folder(folder)
    if not place.played and not place.cells_folder.is_dir():
        raise UserError(f"{folder} holds no finished or begun sweep")
    found = Findings(place)
    try:
        seed = place.seed
    except UserError:
        seed = None
        found.add(place.claim, "is missing or damaged; match ids are not checked")
    for file in sorted(place.cells_folder.glob("*.json")):
        about = _cell(found, file)
        path = place.records_file(file.stem)
        if path.exists():
            _records(found, path, about)
    for name in LOGS:
        if (path := place.lines_file(name)).exists():
            _lines(found, path, line_reader(name, seed))
    _small(found)
    for path in place.foreign_files():
        found.told.append(f"{found.name(path)}: no part of the log")
    for path in sorted([*folder.glob("*.damaged"), *place.records_folder.glob("*.damaged")]):
        found.told.append(f"{found.name(path)}: moved aside by an earlier run")
    return found


def _cell(found: Findings, file: Path) -> About | None:
    """The cell of a description, where it holds one."""
    try:
        data = parsed(file.read_bytes(), Described)
        about = About.read(data)
    except (OSError, ValueError) as why:
        found.add(file, f"{why}; the same sweep again writes it anew")
        return None
    if about.key != key_of(file.stem):
        found.add(file, f"it describes cell {about.key}")
    elif "identity" in data and digest(data["identity"]) != about.key:
        found.add(file, "the identity that it tells is not that of its key")
    return about


def _records(found: Findings, path: Path, about: About | None) -> None:
    """Every line of a cell's records, and what they lack together."""
    reader = found.folder.reader(path.stem)
    named: dict[str, int] = {}
    texts: set[str] = set()
    places: set[tuple[int, int]] = set()

    def read(line: bytes) -> None:
        record = reader.record(line)
        texts.update(record.statics)
        for name in record.named:
            named.setdefault(name, found.lines)
        if isinstance(record, MatchRecord):
            places.add((record.deal, record.rotation))

    before = found.lines
    _lines(found, path, read)
    found.unverified += reader.unverified
    for name in sorted(named.keys() - texts):
        first = named[name] - before
        found.add(path, f"line {first}: its prompts share text {name}, which no line has")
    if about is not None:
        _gaps(found, path, about, places)


def _gaps(found: Findings, path: Path, about: About, places: set[tuple[int, int]]) -> None:
    """Matches that a finished run planned and the log lacks; else those below the last deal."""
    place = found.folder
    entries = (one for one in place.set_aside if one["cell"] == about.key)
    ended = places | {(one["deal"], one["rotation"]) for one in entries}
    run = place.status or {}
    planned = run["cells"].get(about.key) if run.get("state") == "finished" else None
    if planned is not None and not place.stop_file.exists():
        due = planned // about.rotations
        if lack := planned - sum(deal < due for deal, _ in ended):
            found.add(path, f"{lack:,} match(es) are missing; the same sweep again plays them")
        return
    deals = max((deal for deal, _ in ended), default=-1) + 1
    if lack := deals * about.rotations - len(ended):
        found.told.append(f"{found.name(path)}: {lack:,} match(es) are yet to be played")


def _lines(found: Findings, path: Path, read: Callable[[bytes], Any]) -> None:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            found.lines += 1
            try:
                read(line)
            except ValueError as why:
                match = MATCH.search(line)
                named = f", match {match[1].decode()}" if match else ""
                found.add(path, f"line {number}{named}: {why}")


def _small(found: Findings) -> None:
    """The small files that hold one object each."""
    place = found.folder
    luck = sorted((place.path / "luck").glob("*.json"))
    controls: Any = dict[str, dict[str, str]]
    kinds = [(place.stop_file, Stops), (place.status_file, Told)]
    kinds += [(controls_file(place.path), controls), *((path, Luck) for path in luck)]
    kinds += [(noise_file(place.path), dict[str, str])]
    for path, kind in kinds:
        try:
            convert(parsed(path.read_bytes()), kind)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as why:
            found.add(path, f"{why}; the same sweep again writes it anew")


def report(found: Findings) -> Iterator[str]:
    """The findings, file by file, and a last line that sums up."""
    for path, wrong in found.wrong.items():
        yield path
        yield from (f"  {visible(what)}" for what in wrong)
    yield from map(visible, found.told)
    if found.unverified:
        yield f"{found.unverified:,} line(s) have no checksum: an older version wrote them"
    count = sum(map(len, found.wrong.values()))
    state = f"{count:,} thing(s) are wrong" if count else "all is well"
    yield f"{found.folder.path}: {found.lines:,} line(s) read, {state}"
    if count:
        yield "the same sweep again moves damaged lines aside and plays their matches anew"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.verify",
        description="Is a folder's log whole? Status 0 where it is, else 1.",
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep")
    folder = parser.parse_args(arguments).output_dir
    try:
        places = [folder, *[one for one in [place_of(folder)] if Folder(one).played]]
        found = [verify(place) for place in places]
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    for one in found:
        print(visible("\n".join(report(one))))
    return 1 if any(one.wrong for one in found) else 0


if __name__ == "__main__":
    as_process(main)
