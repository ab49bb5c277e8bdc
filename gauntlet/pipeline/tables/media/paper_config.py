"""Which columns and rows the LaTeX tables show, in which order and by which names.

    names: {uno: UNO, pocket: Pocket, cloze: Cloze}    # words in all tables
    tables:
      summary:                                         # as paper/tables/summary.tex
        title: Two prompts of one model
        columns: {cell: Player, matches: n, "95% interval": "95% CI"}
        rows: [pocket cloze, pocket counterfactual]    # by their first column

What is not named stays as it is; of a table with `columns` or `rows` only these are shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import yaml

from gauntlet.common.errors import UserError, suggest
from gauntlet.pipeline.tables.registry import Sheet


class TableConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """columns: their headings' new names, or a list of headings."""

    title: str = ""
    columns: dict[str, str] | list[str] = msgspec.field(default_factory=dict)
    rows: list[str] = msgspec.field(default_factory=list)


class PaperConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: dict[str, str] = msgspec.field(default_factory=dict)
    tables: dict[str, TableConfig] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> PaperConfig:
        """Raises UserError."""
        try:
            return msgspec.convert(yaml.safe_load(file.read_text(encoding="utf-8")) or {}, cls)
        except OSError as error:
            raise UserError(f"{file}: {error.strerror}") from error
        except (msgspec.ValidationError, yaml.YAMLError, UnicodeDecodeError) as error:
            raise UserError(f"{file}: {' '.join(str(error).split())}") from error

    def applied(self, sheets: Mapping[str, Sheet]) -> dict[str, Sheet]:
        """The sheets as configured. Raises UserError for a table, column or row that is not
        there."""
        for table in self.tables:
            _check(table, "table", sheets)
        return {
            name: self._named(_chosen(sheet, self.tables.get(name, TableConfig())))
            for name, sheet in sheets.items()
        }

    def _named(self, sheet: Sheet) -> Sheet:
        """With the display names in every row, longer words first."""
        if not self.names:
            return sheet
        longest = sorted(map(re.escape, self.names), key=len, reverse=True)
        words = re.compile(rf"(?<![\w.]){'|'.join(longest).join(('(?:', ')'))}(?![\w.])")

        def renamed(text: str) -> str:
            return words.sub(lambda match: self.names[match[0]], text)

        return replace(sheet, rows=[[*map(renamed, row)] for row in sheet.rows])


def _chosen(sheet: Sheet, config: TableConfig) -> Sheet:
    headings, rows = _unique(sheet.headings), list(sheet.rows)
    if config.rows:
        by_name = {row[0]: row for row in rows}
        rows = [by_name[_check(row, "row", by_name)] for row in config.rows]
    shown = list(config.columns) or headings
    places = [headings.index(_check(column, "column", headings)) for column in shown]
    renamed = config.columns if isinstance(config.columns, dict) else {}
    return replace(
        sheet,
        title=config.title or sheet.title,
        headings=[renamed.get(headings[at], sheet.headings[at]) for at in places],
        rows=[[row[at] for at in places] for row in rows],
    )


def _unique(headings: Sequence[str]) -> list[str]:
    """The headings; of equal ones the second is "NAME 2"."""
    seen: dict[str, int] = {}
    unique = []
    for heading in headings:
        seen[heading] = seen.get(heading, 0) + 1
        unique.append(heading if seen[heading] == 1 else f"{heading} {seen[heading]}")
    return unique


def _check(name: str, kind: str, known: Mapping[str, object] | Sequence[str]) -> str:
    if name not in known:
        raise UserError(f"the paper has no {kind} {name!r}{suggest(name, [*known])}")
    return name
