"""Writes the site: an index, a page for each run and player, and one that shows any match."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from gauntlet.pipeline.tables.media.page import render
from gauntlet.pipeline.tables.registry import Sheet, truncation_note
from gauntlet.pipeline.viewer.data import SCRIPT, packed, style

HERE = Path(__file__).parent
MARK = ".gauntlet-site"
"""Names every other file of a site, so that nobody's own file is taken for a part of it."""


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
    """Write the runs in these folders as a site, in place of an earlier one. parquet: with matches
    and decisions as Parquet. Raises UserError; OSError if it cannot be written."""
    runs = read_runs(folders)
    field = Field.from_runs(runs)
    total, lost, done = sum(len(run.shelf.entries) for run in runs), Counter[str](), 0
    with _replacing(out.resolve()) as site:
        for name in ("run", "player", "data", "files"):
            (site / name).mkdir()
        for run in runs:
            for written, left_out in write_matches(run, site):
                done += written
                lost.update(left_out)
                progress(done, total)
            _write_run(run, site, parquet)
        for player in field.players.values():
            sheets = [field.games_of(player.name), field.cells_of(player)]
            _page(site / player.href, "player.html.j2", "../", title=player.name, sheets=sheets,
                  cost=player.cost)  # fmt: skip
        _write_index(field, site)
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


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """A folder beside `out` to build the site in, which takes the place of `out` in the end. After
    an exception nothing has changed; after a kill, the same command goes on. Raises UserError if
    `out` holds files that are no site's."""
    building, previous = (out.with_name(f".{out.name}.{word}") for word in ("building", "previous"))
    _refuse_foreign(out)
    _refuse_foreign(previous)
    if building.exists() and not (building / MARK).exists():
        raise UserError(f"{building} holds other files; --out names another folder")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    (building / MARK).touch()
    try:
        yield building
    except BaseException:  # Ctrl-C too
        shutil.rmtree(building)
        raise
    write_atomically(building / MARK, "".join(f"{name}\n" for name in sorted(_files(building))))
    shutil.rmtree(previous, ignore_errors=True)
    if out.exists():
        out.rename(previous)
    building.rename(out)
    shutil.rmtree(previous, ignore_errors=True)


def _refuse_foreign(folder: Path) -> None:
    """Raises UserError for a file, and if one in the folder is not one that `MARK` there names."""
    if folder.is_file():
        raise UserError(f"{folder} is a file; --out names a new folder, or an earlier site")
    mark = folder / MARK
    listed = mark.read_text(encoding="utf-8").splitlines() if mark.exists() else []
    if foreign := sorted(_files(folder).difference(listed)):
        raise UserError(
            f"{folder} holds other files, such as {foreign[0]}; --out names a new folder, or an "
            "earlier site"
        )


def _files(folder: Path) -> set[str]:
    """The files of a site and whatever else is there, links too, as paths within it."""
    paths = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(folder).as_posix() for path in paths} - {MARK}


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
        out / "index.html",
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
