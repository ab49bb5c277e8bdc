"""Writes the site: an index, a page for each run and player, and one that shows any match."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import visible
from gauntlet.pipeline.publish.players import Field
from gauntlet.pipeline.publish.runs import (
    CELLS,
    MOST,
    Run,
    cell_rows,
    link,
    write_downloads,
    write_matches,
)
from gauntlet.pipeline.tables.page import render
from gauntlet.pipeline.tables.registry import Sheet, truncation_note
from gauntlet.pipeline.viewer.data import SCRIPT, packed, style

HERE = Path(__file__).parent
MARK = "index.html"
"""A folder with this file and nothing foreign is a site, which is written anew."""
PARTS = {MARK, "match.html", "match.js", "site.js", "run", "player", "data", "files"}


@dataclass(frozen=True)
class Written:
    """What a site holds. lost: the matches that cannot be played again, by the reason."""

    runs: int
    players: int
    matches: int
    lost: Mapping[str, int]
    size: int


def publish(
    folders: Sequence[Path],
    out: Path,
    parquet: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Written:
    """Write the runs in these folders as a site. parquet: with matches and decisions as Parquet.
    Raises UserError; OSError if it cannot be written."""
    runs = read_runs(folders)
    field = Field.from_runs(runs)
    _clear(out)
    for name in ("run", "player", "data", "files"):
        (out / name).mkdir(parents=True)
    total, lost, done = sum(len(run.shelf.entries) for run in runs), Counter[str](), 0
    for run in runs:
        for written, left_out in write_matches(run, out):
            done += written
            lost.update(left_out)
            progress(done, total)
        _write_run(run, out, parquet)
    for player in field.players.values():
        sheets = [field.games_of(player.name), field.cells_of(player)]
        _page(out / player.href, "player.html.j2", "../", title=player.name, sheets=sheets,
              cost=player.cost)  # fmt: skip
    _write_index(field, out)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    return Written(len(runs), len(field.players), done, lost, size)


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs in these folders, under names that tell them apart. Raises UserError."""
    runs: dict[str, Run] = {}
    for path in dict.fromkeys(folder.resolve() for folder in folders):
        name, parent = visible(path.name), visible(path.parent.name)
        name = name if name not in runs else f"{name} in {parent}"
        if name in runs:
            raise UserError(f"{path} and {runs[name].path} have one name; rename a folder")
        runs[name] = Run.read(path, name)
    return list(runs.values())


def _clear(out: Path) -> None:
    """Remove the previous site. Raises UserError if the folder holds anything else."""
    found = {file.name for file in out.iterdir()} if out.exists() else set()
    if found and (MARK not in found or found - PARTS):
        raise UserError(f"{out} holds other files; --out names a new folder, or an earlier site")
    if found:
        shutil.rmtree(out)


def _write_run(run: Run, out: Path, parquet: bool) -> None:
    files = write_downloads(run, out, parquet)
    sheets = [Sheet("Cells", CELLS, list(run.rows())[:MOST],
              truncation_note(MOST, len(run.tables["summary"]), "summary.csv"))]  # fmt: skip
    _page(
        out / run.href,
        "run.html.j2",
        "../",
        title=run.name,
        played=run.played,
        verdict=run.verdict,
        sheets=[*sheets, *([run.pair_sheet()] if run.pairs else [])],
        commands=run.commands,
        report=next((file for file in files if file.endswith("/report.html")), ""),
        downloads=[link(f"../{file}", file.rpartition("/")[2]) for file in files],
        list=f"data/{run.slug}/list.js",
        damaged=run.shelf.left_out,
    )


def _write_index(field: Field, out: Path) -> None:
    runs = field.runs
    rows = cell_rows(runs)
    note = truncation_note(MOST, len(rows), "the pages of the runs")
    found = [[run.name, run.href] for run in runs]
    found += [[player.name, player.href] for player in field.players.values()]
    _page(
        out / MARK,
        "index.html.j2",
        "",
        title="Runs and players",
        leaderboard=field.leaderboard(),
        reason=field.reason,
        cells=Sheet("Runs", ("run", *CELLS), rows[:MOST], note),
        players=[link(one.href, one.name) for one in field.players.values()],
        names=packed(found),
        lists=" ".join(f"data/{run.slug}/list.js" for run in runs),
    )
    _page(out / "match.html", "match.html.j2", "", title="Match", style=Markup(style()))
    shutil.copyfile(SCRIPT, out / SCRIPT.name)
    shutil.copyfile(HERE / "site.js", out / "site.js")


def _page(file: Path, template: str, top: str, **values: object) -> None:
    """top: the address of the site's top folder, seen from the page."""
    write_atomically(file, render(HERE / template, top=top, **values))
