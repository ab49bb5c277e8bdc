"""Check the integrity of a folder's log: `python -m pipeline.verify OUTPUT_DIR`.

Reads every line of the log and every metadata file, reports where and how each damaged one is
wrong, and writes nothing. The status is 0 if all is well, else 1. Files that are not part of the
log and gaps that a run has yet to fill are reported, but are not damage.

`--replay N` also replays N matches, or all, and reports each whose record differs from the result:
a line that was edited and given a new checksum. Models are not used: their replies are taken from
the record. All is well only if every one of these matches comes out as recorded.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from msgspec import convert

from gauntlet.common.errors import UserError, counted
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.common.terminal import console
from gauntlet.pipeline.judging.luck import Luck
from gauntlet.pipeline.log import code
from gauntlet.pipeline.log.archive import unpacked
from gauntlet.pipeline.log.folder import Folder, key_of
from gauntlet.pipeline.log.metadata_files import (
    LOGS,
    CellDescription,
    Status,
    Stops,
    parse_line,
    parse_object,
)
from gauntlet.pipeline.log.progress import Waiting
from gauntlet.pipeline.log.recorded import recorded_cell
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import deals_in, digest
from gauntlet.pipeline.play.rematch import QuestionMismatch, Replayer

MATCH = re.compile(rb'"match":\s*"([!-~]{1,16}?)"')


@dataclass
class Findings:
    """The result of a check.

    problems: the damage found, by file.
    notes: what is not damage.
    lines: number of lines read.
    places: the line of each match, by the stem of its file.
    replayed: number of matches that were to be replayed.
    equal: number of those that came out as recorded.
    edited: number of those that did not, though the code is the same.
    """

    folder: Folder
    problems: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lines: int = 0
    places: dict[str, dict[str, int]] = field(default_factory=dict)
    replayed: int = 0
    equal: int = 0
    edited: int = 0

    @property
    def well(self) -> bool:
        return not self.problems and self.equal == self.replayed

    def add(self, path: Path, problem: str) -> None:
        self.problems.setdefault(self.name(path), []).append(problem)

    def name(self, path: Path) -> str:
        return str(path.relative_to(self.folder.path))


def verify(folder: Path) -> Findings:
    """Check an output folder. Raises UserError if it holds no sweep."""
    place = Folder(folder)
    if not place.has_sweep and not place.cells_folder.is_dir():
        raise UserError(f"{folder} holds no sweep")
    findings = Findings(place)
    try:
        place.seed  # noqa: B018 - read for its error
    except UserError:
        findings.add(place.claim, "is missing or damaged; match ids are not checked")
    for file in sorted(place.cells_folder.glob("*.json")):
        about = _cell(findings, file)
        path = place.records_file(file.stem)
        if path.exists():
            _records(findings, path, about)
        elif about is not None and not place.record_files(f"*{about.key}"):  # by another name
            _gaps(findings, path, about, set())
    for name in LOGS:
        if (path := place.lines_file(name)).exists():
            _lines(findings, path, partial(parse_line, name))
    _metadata(findings)
    if note := place.import_note:
        findings.notes.append(note)
    for path in place.foreign_files():
        findings.notes.append(f"{findings.name(path)}: no part of the log")
    for path in sorted([*folder.glob("*.damaged"), *place.records_folder.glob("*.damaged")]):
        findings.notes.append(f"{findings.name(path)}: moved aside by an earlier run")
    return findings


def _cell(findings: Findings, file: Path) -> CellInfo | None:
    try:
        about = CellInfo.read(parse_object(file.read_bytes(), CellDescription))
    except (OSError, ValueError) as why:
        findings.add(file, f"{why}; the same sweep again writes it anew")
        return None
    if about.key != key_of(file.stem):
        findings.add(file, f"it describes cell {about.key}")
    return about


def _records(findings: Findings, path: Path, about: CellInfo | None) -> None:
    """Check every line of a cell's records, then what they lack together."""
    reader = findings.folder.reader(path.stem)
    first_lines: dict[str, int] = {}
    texts: set[str] = set()
    places: set[tuple[int, int]] = set()

    def read(line: bytes) -> None:
        record = reader.record(line)
        texts.update(record.statics)
        for name in record.named:
            first_lines.setdefault(name, findings.lines)
        if isinstance(record, MatchRecord):
            places.add((record.deal, record.rotation))
            numbers[record.match] = findings.lines - before

    before = findings.lines
    numbers = findings.places.setdefault(path.stem, {})
    _lines(findings, path, read)
    for name in sorted(first_lines.keys() - texts):
        first = first_lines[name] - before
        findings.add(path, f"line {first}: its prompts share text {name}, which no line has")
    if about is not None:
        _gaps(findings, path, about, places)


def _gaps(findings: Findings, path: Path, about: CellInfo, places: set[tuple[int, int]]) -> None:
    """Report the matches of the latest run's plan that are missing; with a stopping rule, the gaps
    below the last deal."""
    place = findings.folder
    entries = (one for one in place.failed_matches if one["cell"] == about.key)
    finished = places | {(one["deal"], one["rotation"]) for one in entries}
    run = place.status or {}
    ended = run.get("state") == "finished" and not place.stop_file.exists()
    planned = None if place.stop_file.exists() else run.get("cells", {}).get(about.key)
    most = max((deal for deal, _ in finished), default=-1) + 1
    due: Collection[int] = range(most if planned is None else planned // about.rotations)
    if rounds := place.first_rounds()[0]:
        due = {*deals_in(rounds, about.key)}
        if strange := sum(deal not in due for deal, _ in places):
            findings.add(path, f"{counted(strange, 'match', 'es')} of no round in rounds.jsonl")
    lack = len(due) * about.rotations - sum(deal in due for deal, _ in finished)
    if lack and ended and planned is not None:
        findings.add(
            path, f"{counted(lack, 'match', 'es')} missing; the same sweep again plays them"
        )
    elif lack:
        findings.notes.append(
            f"{findings.name(path)}: {counted(lack, 'match', 'es')} yet to be played"
        )


def _lines(findings: Findings, path: Path, read: Callable[[bytes], Any]) -> None:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            findings.lines += 1
            try:
                read(line)
            except ValueError as why:
                match = MATCH.search(line)
                named = f", match {match[1].decode()}" if match else ""
                findings.add(path, f"line {number}{named}: {why}")


def _metadata(findings: Findings) -> None:
    """Check the metadata files that hold one object each."""
    place = findings.folder
    luck = sorted((place.path / "luck").glob("*.json"))
    kinds = [(place.stop_file, Stops), (place.status_file, Status)]
    kinds += [(path, Luck) for path in luck]
    for path, kind in kinds:
        try:
            convert(parse_object(path.read_bytes()), kind)
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as why:
            findings.add(path, f"{why}; the same sweep again writes it anew")


def replay(
    findings: Findings,
    most: int | None,
    seed: int,
    on_progress: Callable[[int, int], None],
) -> None:
    """Replay `most` of the matches, or all, and report problems.

    The choice depends only on the seed and is balanced over cells.
    """
    stems = sorted(findings.places, key=lambda stem: digest([seed, stem]))
    orders = [
        [(stem, match) for match in sorted(findings.places[stem], key=lambda m: digest([seed, m]))]
        for stem in stems
    ]
    mixed = chain.from_iterable(zip_longest(*orders))
    chosen = list(islice((place for place in mixed if place is not None), most))
    done = 0
    for stem in stems:
        matches = {match for its, match in chosen if its == stem}
        for _ in _replayed(findings, stem, matches):
            done += 1
            on_progress(done, len(chosen))


def _replayed(findings: Findings, stem: str, matches: Collection[str]) -> Iterator[None]:
    """Replay these matches of a cell, one per step."""
    place, reasons = findings.folder, Counter[str]()
    path = place.records_file(stem)
    if not matches:
        return
    first = next((one for one in place.matches(stem) if one.preparation), None)
    made: dict[str, Replayer | UserError] = {}
    for record in place.matches(stem):
        if record.match not in matches:
            continue
        prepared = record if record.preparation else first
        name = prepared.match if prepared else ""
        replayer = made.get(name) or _replayer(findings, stem, prepared)
        made[name] = replayer
        findings.replayed += 1
        if isinstance(replayer, UserError):
            reasons[f"not played again: {replayer}"] += 1
        elif fault := replayer.fault(record):
            if changed := code.changed_since(place, replayer.cell):
                reasons[f"not as recorded: {changed} changed since"] += 1
            else:
                line = findings.places[stem][record.match]
                place_of_match = f"line {line}, match {record.match}"
                findings.add(path, f"{place_of_match}: played again, {fault.message}")
                findings.edited += 1
        else:
            findings.equal += 1
        yield
    for why, count in reasons.items():
        findings.notes.append(f"{findings.name(path)}: {counted(count, 'match', 'es')} {why}")


def _replayer(findings: Findings, stem: str, prepared: MatchRecord | None) -> Replayer | UserError:
    """The cell prepared for replay as this record has it, or why it cannot be. None: players that
    ask nothing beforehand."""
    place, problem = (
        findings.folder,
        "what its players asked beforehand is not what the log has of it",
    )
    try:
        description = place.description(about := _about(place, stem))
        cell = recorded_cell(description, about)
        asked = (prepared.preparation, prepared.statics) if prepared else ((), {})
        return Replayer.prepare(cell, place.seed, *asked)
    except QuestionMismatch:
        if changed := code.changed_since(place, cell):
            return UserError(f"{problem}; {changed} changed since")
        findings.add(place.records_file(stem), problem)
        return UserError(problem)
    except UserError as error:
        return error


def _about(place: Folder, stem: str) -> CellInfo:
    return next(about for about in place.all_cells() if about.stem == stem)


def report(findings: Findings, source: Path) -> Iterator[str]:
    """source: the folder or archive that was checked."""
    for path, wrong in findings.problems.items():
        yield path
        yield from (f"  {visible(what)}" for what in wrong)
    yield from map(visible, findings.notes)
    count = sum(map(len, findings.problems.values()))
    unequal, again = findings.replayed - findings.equal, ""
    state = counted(count, "fault") if count else f"{unequal:,} not" if unequal else "all is well"
    if findings.replayed:
        of = f"{findings.equal:,} of " if unequal else ""
        again = f"{of}{counted(findings.replayed, 'match', 'es')} played again as recorded, "
    yield f"{source}: {counted(findings.lines, 'line')} read, {again}{state}"
    if findings.edited:
        yield (
            "a run keeps such a line: if it was edited, delete it, and the same sweep plays its "
            "match anew; if a player keeps state between matches or draws from elsewhere than the "
            "turn's rng, mend the player, and play in another output_dir"
        )
    if count > findings.edited:
        yield "the same sweep again moves damaged lines aside and plays their matches anew"


def count(text: str) -> int | None:
    """Parse a number of matches; None for all."""
    if text != "all" and not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 1 on nor 'all'")
    return None if text == "all" else int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.verify"),
        description="Is a folder's log whole? Status 0 where it is, else 1.",
    )
    parser.add_argument("output_dir", type=Path, help="the output_dir of a sweep, or an archive")
    parser.add_argument(
        "--replay",
        type=count,
        default=0,
        metavar="N",
        help="play N matches again without models, or 'all', and compare them with their records",
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed replays other matches")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            source = options.output_dir
            findings = verify(
                unpacked(source, Path(scratch) / "in") if source.is_file() else source
            )
            if options.replay != 0:
                with Waiting(console(), "replay", "matches") as waiting:
                    replay(findings, options.replay, options.seed, waiting.reach)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    print(visible("\n".join(report(findings, options.output_dir))))
    return 0 if findings.well else 1


if __name__ == "__main__":
    as_process(main)
