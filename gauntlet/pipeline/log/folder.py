"""The layout of an output folder, and how to read it.

    sweep.json              seed (or seeds), schema and id; a folder has one of each
    cells/<cell>.json       a cell's description: role, labels, identity, baseline, its controls
    records/<cell>.jsonl    its finished matches, see `schema.py`
    code.jsonl, accepted.jsonl   the code that played, and accepted changes, see `code.py`
    failed_matches.jsonl    matches that failed three times, with their errors
    unrepeatable.jsonl      cells whose matches come out otherwise when played again
    runs.jsonl              each run's time, command, versions and machine
    rounds.jsonl            the rounds of an adaptive sweep: which cells play which deals, and why
    stop.json               where a stopping rule stopped each cell
    status.json             status of the latest run
    run.log                 notable events
    tables.json             which cells the tables pair
    note.json               a note and tags, see `pipeline/runs.py`
    config.yaml             the latest run's config, resolved and without secrets

Everything else is derived from these. Only `records.Log` writes records, cells and sweep.json.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from gauntlet.common.errors import UserError, counted
from gauntlet.common.process import invocation
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.lines import LINES, Lines
from gauntlet.pipeline.log.metadata_files import (
    LOGS,
    CellDescription,
    Claim,
    Event,
    Note,
    Status,
    Stops,
    TablesConfig,
    parse_line,
    parse_object,
    parse_plain,
)
from gauntlet.pipeline.log.outcomes import Measures, Outcomes, outcome
from gauntlet.pipeline.log.reading import Reader, records
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import MatchRecord, Record
from gauntlet.pipeline.plan.cells import SCHEMA, Round

WARNINGS = logging.getLogger("gauntlet")


@dataclass(frozen=True)
class Folder:
    """An output folder; its methods read the current state of the disk."""

    path: Path
    kinds: Lines = LINES

    @property
    def claim(self) -> Path:
        return self.path / "sweep.json"

    @property
    def records_folder(self) -> Path:
        return self.path / "records"

    @property
    def cells_folder(self) -> Path:
        return self.path / "cells"

    @property
    def stop_file(self) -> Path:
        return self.path / "stop.json"

    @property
    def status_file(self) -> Path:
        return self.path / "status.json"

    @property
    def events_file(self) -> Path:
        return self.path / "run.log"

    def records_file(self, stem: str) -> Path:
        return self.records_folder / f"{stem}.jsonl"

    def cell_file(self, stem: str) -> Path:
        return self.cells_folder / f"{stem}.json"

    @property
    def tables_file(self) -> Path:
        return self.path / "tables.json"

    @property
    def note_file(self) -> Path:
        return self.path / "note.json"

    @property
    def import_file(self) -> Path:
        """Names what the folder is being imported from; removed when the import is complete."""
        return self.path / "importing"

    @property
    def import_note(self) -> str:
        """How to complete the folder's import; "" if it is complete or none."""
        if not self.import_file.exists():
            return ""
        source = Path(self.import_file.read_text(encoding="utf-8"))
        command = invocation("pipeline.runs", "import", source, self.path)
        return f"its import was not completed: `{command}` goes on"

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    def lines_file(self, name: str) -> Path:
        return self.path / f"{name}.jsonl"

    @property
    def has_sweep(self) -> bool:
        """Whether a sweep was started here."""
        return self.claim.exists()

    @property
    def seed(self) -> Seed:
        """The sweep's seed, or the seeds that take turns. Raises UserError."""
        return seed_of(self._claimed)

    @property
    def id(self) -> str:
        return str(self._claimed["id"])

    @cached_property
    def _claimed(self) -> dict[str, Any]:
        """The content of sweep.json, which never changes. Raises UserError."""
        claim = self._claim()
        if claim is None:
            raise UserError(f"{self.claim} is missing or damaged: {self.path} holds no sweep")
        return claim

    def _claim(self) -> dict[str, Any] | None:
        """None if missing or damaged. Raises UserError if of another schema."""
        if found := _object(self.claim, Claim):
            check_schema(self.path, found)
        return found

    @property
    def has_cells(self) -> bool:
        """Whether a run got as far as describing its cells."""
        return any(self.cells_folder.glob("*.json"))

    def holds_others(self, keys: Iterable[str]) -> bool:
        """Whether it holds cells with other keys."""
        found = self.all_cells() if self.has_cells else []
        return not {about.key for about in found} <= {*keys}

    def sweep_cells(self) -> list[CellInfo]:
        """The folder's sweep cells, oldest first. Raises UserError if no cell is described."""
        return [about for about in self.all_cells() if about.role == "sweep"]

    def all_cells(self) -> list[CellInfo]:
        """As `abouts`, with controls and noise cells."""
        files = sorted(self.cells_folder.glob("*.json"))
        entries = [(file, *_description(file)) for file in files]
        if not entries:
            raise UserError(f"{self.path} holds no sweep")
        keys = {about.key for file, _, about in entries if about.key == key_of(file.stem)}
        entries = [
            (file, data, about)
            for file, data, about in entries
            if about.key == key_of(file.stem) or about.key not in keys  # else a copy
        ]
        entries.sort(key=lambda entry: (entry[1]["described"], entry[0].name))
        return [about for _, _, about in entries]

    def description(self, about: CellInfo) -> dict[str, Any]:
        """The full description of this cell. Raises UserError."""
        return _description(self.cell_file(about.stem))[0]

    def cell(self, key: str) -> dict[str, Any]:
        """The description of the cell with this key. Raises UserError."""
        for file in self.cells_folder.glob(f"*{key}.json"):
            return _description(file)[0]
        raise UserError(f"{self.cells_folder} has lost the description of cell {key}")

    def record_files(self, stem: str = "*") -> list[Path]:
        """The records files of described cells; all others are foreign."""
        files = sorted(self.records_folder.glob(f"{stem}.jsonl"))
        return [file for file in files if self.cell_file(file.stem).exists()]

    def foreign_files(self) -> list[Path]:
        """JSON-lines files that are not part of the log."""
        own = {*self.record_files(), *map(self.lines_file, LOGS)}
        files = [*self.path.glob("*.jsonl"), *self.records_folder.glob("*.jsonl")]
        return sorted(file for file in files if file not in own)

    def reader(self, stem: str) -> Reader:
        """A reader for one cell's records file. Raises UserError."""
        claimed = self._claim()
        seed = seed_of(claimed) if claimed else None
        return Reader(self.kinds, key_of(stem), seed)

    def records(self, stem: str = "*") -> Iterator[Record]:
        """Yield all whole records, or those of one cell's file, with their statics restored.
        Damaged records are left out."""
        for path in self.record_files(stem):
            yield from self._records(path, self.reader(path.stem))

    def _records(self, path: Path, reader: Reader) -> Iterator[Record]:
        with path.open("rb") as lines, path.open("rb") as again:
            yield from records(reader, lines, again)

    def matches(self, stem: str = "*") -> Iterator[MatchRecord]:
        """The finished matches among the records."""
        return (one for one in self.records(stem) if isinstance(one, MatchRecord))

    def outcomes(
        self, measures: Measures, see: Callable[[MatchRecord], object] | None = None
    ) -> dict[str, Outcomes]:
        """The outcomes of the cells in `measures`, or of all with WINS, by cell key. see: called
        with each record. Warns of damaged lines. Raises UserError."""
        by_cell: dict[str, Outcomes] = {}
        left_out = 0
        for path in self.record_files():
            if measures and key_of(path.stem) not in measures:
                continue
            reader = self.reader(path.stem)
            for record in self._records(path, reader):
                if isinstance(record, MatchRecord):
                    kept = by_cell.setdefault(record.cell, Outcomes(record.cell))
                    kept.add(outcome(record, measures))
                    if see is not None:
                        see(record)
            left_out += reader.left_out
        if left_out:
            WARNINGS.warning(damaged_lines_warning(left_out, self.path))
        return by_cell

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The intact lines of one of the small logs; [] without such a log. Raises UserError."""
        self._claim()
        return _objects(self.lines_file(name), partial(parse_line, name))

    @property
    def failed_matches(self) -> list[dict[str, Any]]:
        return self.lines("failed_matches")

    @property
    def unrepeatable(self) -> dict[str, str]:
        """What shows that a cell's matches are not reproducible, by the cell's key."""
        return {line["cell"]: line["why"] for line in self.lines("unrepeatable")}

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of an adaptive sweep; () of others. Raises UserError if one is lost."""
        rounds, whole = self.first_rounds()
        if not whole:
            raise UserError(
                f"{self.lines_file('rounds')} lacks what follows {counted(len(rounds), 'round')}; "
                "the same sweep again finds it from the matches"
            )
        return rounds

    def first_rounds(self) -> tuple[tuple[Round, ...], bool]:
        """The rounds before the first lost one, and whether these are all. A line that was cut off
        belongs to none."""
        rounds = list[Round]()
        for one in self.lines("rounds"):
            if one["deals"][0] != (rounds[-1].deals.stop if rounds else 0):
                return tuple(rounds), False
            rounds.append(Round(range(*one["deals"]), one["pairs"]))
        file = self.lines_file("rounds")
        return tuple(rounds), not file.exists() or file.read_bytes().count(b"\n") == len(rounds)

    @property
    def rule(self) -> Mapping[str, Any]:
        """What the rounds settle, see `metadata_files.Rule`; {} without a round."""
        return next((one["rule"] for one in self.lines("rounds")), {})

    @property
    def stop(self) -> dict[str, Any]:
        """Where a stopping rule stopped each cell; {} if all planned deals were played. Raises
        UserError if the file is damaged."""
        if not self.stop_file.exists():
            return {}
        stops = _object(self.stop_file, Stops)
        if stops is None:
            raise UserError(f"{self.stop_file} is damaged; the same sweep again writes it anew")
        return stops

    @property
    def note(self) -> Note:
        """The run's note and tags; empty without any."""
        found = _object(self.note_file, Note) or {"note": "", "tags": []}
        return Note(note=found["note"], tags=found["tags"])

    @property
    def note_line(self) -> str:
        """The note and the tags in a line; "" without any."""
        note = self.note
        return " ".join(filter(None, [note["note"], *(f"#{tag}" for tag in note["tags"])]))

    @property
    def comparisons(self) -> str:
        """The latest run's rule for pairing cells; "auto" by default."""
        return str((_object(self.tables_file, TablesConfig) or {}).get("comparisons", "auto"))

    @property
    def status(self) -> dict[str, Any] | None:
        """The status of the latest run; None if there is none or the file is damaged."""
        return _object(self.status_file, Status)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of run.log, oldest first."""
        return _objects(self.events_file, lambda line: parse_plain(line, Event))


def check_schema(folder: Path, claimed: Mapping[str, Any]) -> None:
    """Raises UserError if sweep.json has a different schema version."""
    if claimed["schema"] != SCHEMA:
        raise UserError(
            f"{folder} holds matches of schema {claimed['schema']}, not {SCHEMA}, which this "
            "version cannot read; choose another output_dir"
        )


def seed_of(claimed: Mapping[str, Any]) -> Seed:
    """The seed in the content of sweep.json."""
    seed = claimed["seed"]
    return tuple(seed) if isinstance(seed, list) else int(seed)


def key_of(stem: str) -> str:
    """The cell key in a file stem."""
    return stem.rpartition("-")[2]


def damaged_lines_warning(lines: int, folder: Path) -> str:
    """A reader's warning about the lines that it left out."""
    return (
        f"{counted(lines, 'damaged line')} of {folder} left out: `{invocation('pipeline.verify')}` "
        "names them, "
        "and the same sweep again plays them"
    )


def _description(file: Path) -> tuple[dict[str, Any], CellInfo]:
    """A cell's description, as data and as CellInfo. Raises UserError."""
    try:
        data = parse_object(file.read_bytes(), CellDescription)
        return data, CellInfo.read(data)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file} is damaged: it should hold the description of a cell; the same sweep again "
            "writes it anew"
        ) from error


def _objects(file: Path, read: Callable[[bytes], dict[str, Any]]) -> list[dict[str, Any]]:
    """The intact lines of a file."""
    objects = []
    for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
        try:
            objects.append(read(line))
        except ValueError:
            continue
    return objects


def _object(file: Path, kind: type) -> dict[str, Any] | None:
    try:
        return parse_object(file.read_bytes(), kind)
    except (OSError, ValueError):
        return None
