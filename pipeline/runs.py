"""Keep runs in order: `python -m pipeline.runs rm|mv|import|note ...`.

rm DIR...            remove folders, and their runs in MLflow
mv DIR NEW           move a folder; MLflow gets its new name
import FROM [DIR]    take over a colleague's folder, or an archive of one, after checking it
note DIR [TEXT]      a note and tags, which report, pages and MLflow show
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process
from gauntlet.common.sanitize import visible
from gauntlet.pipeline import track
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.records import held, renew_id
from gauntlet.pipeline.tracking.store import STORE, store_exists
from gauntlet.pipeline.tracking.track import forget, is_tracked
from gauntlet.pipeline.verify import verify

UNREADABLE = (ValueError, OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
"""What unpacking a damaged or hostile archive raises."""
ENDINGS = re.compile(r"(\.tar)?\.(zip|tar|gz|tgz|bz2|xz)$")
DEPTH = 3
"""Folders below an archive's top in which a run is looked for."""


def remove(options: argparse.Namespace) -> None:
    for path in options.output_dir:
        folder = _sweep(path)
        if path.is_symlink():
            raise UserError(f"{path} is a link; name the folder that it leads to")
        if not options.yes and not _agreed(path):
            print(f"{path} stays")
            continue
        whole = path.resolve()
        with held(path), tempfile.TemporaryDirectory(dir=whole.parent, prefix=".removed-") as gone:
            if store_exists(options.store):
                forget(options.store, folder)
            whole.rename(Path(gone) / whole.name)
        print(f"removed {path}")


def _agreed(path: Path) -> bool:
    try:
        return input(f"remove {path} for good? [y/N] ").strip().lower() == "y"
    except EOFError:
        print()
        raise UserError("nobody to ask; --yes removes") from None


def move(options: argparse.Namespace) -> None:
    path, new = options.output_dir, options.new
    _sweep(path)
    _refuse_existing(new)
    with held(path):
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, new)
    _track_again(new, options.store)
    print(f"moved to {new}")


def take(options: argparse.Namespace) -> None:
    source, new = options.source, options.new or Path("outputs") / _stem(options.source)
    _refuse_existing(new)
    new.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=new.parent, prefix=".import-") as scratch:
        found = _unpacked(source, Path(scratch) / "in")
        findings = verify(found)
        if findings.problems:
            file, problems = next(iter(findings.problems.items()))
            raise UserError(
                f"{source} is damaged: {file}: {problems[0]}; `python -m pipeline.verify` on the "
                "folder lists everything"
            )
        renew_id(Folder(found))
        shutil.move(found, new)
    track.main([str(new), "--store", options.store])
    print(f"{new}: {findings.lines:,} lines, none damaged")


def annotate(options: argparse.Namespace) -> None:
    folder = _sweep(options.output_dir)
    before = folder.note
    tags = [one for one in before["tags"] if one not in options.untag]
    tags = [one for one in dict.fromkeys([*tags, *options.tag]) if one.strip()]
    text = before["note"] if options.text is None else options.text
    write_atomically(folder.note_file, to_bytes({"note": text, "tags": tags}))
    _track_again(folder.path, options.store)
    print(visible(f"{folder.path}: {folder.note_line or 'no note'}"))


def _sweep(path: Path) -> Folder:
    """The folder of a sweep. Raises UserError for any other one."""
    folder = Folder(path)
    if not folder.has_sweep:
        raise UserError(f"{path} holds no sweep" if path.exists() else f"there is no {path}")
    return folder


def _refuse_existing(new: Path) -> None:
    if new.exists():
        raise UserError(f"{new} exists already; name another folder")


def _track_again(path: Path, store: str) -> None:
    """Write the folder's MLflow runs again, if there are any."""
    if store_exists(store) and is_tracked(store, Folder(path)):
        track.main([str(path), "--store", store])


def _stem(source: Path) -> str:
    """The name of a folder, or of an archive without its endings."""
    return ENDINGS.sub("", source.name) if source.is_file() else source.resolve().name


def _unpacked(source: Path, scratch: Path) -> Path:
    """A copy of the run in this folder or archive. Raises UserError if there is none."""
    try:
        if source.is_dir():
            shutil.copytree(source, scratch)
        elif source.suffix == ".zip":  # its members cannot leave the folder
            shutil.unpack_archive(source, scratch)
        else:
            shutil.unpack_archive(source, scratch, filter="data")
    except UNREADABLE as error:
        raise UserError(f"{source} is no folder or archive: {error}") from error
    found = min(scratch.rglob("sweep.json"), key=lambda file: len(file.parts), default=None)
    if found is None or len(found.relative_to(scratch).parts) > DEPTH:
        raise UserError(f"{source} holds no run: it has no sweep.json")
    return found.parent


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, act: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        made = commands.add_parser(name)
        made.set_defaults(act=act)
        made.add_argument("--store", default=str(STORE), help="the MLflow store")
        return made

    one = command("rm", remove)
    one.add_argument("output_dir", type=Path, nargs="+")
    one.add_argument("--yes", action="store_true", help="do not ask")
    one = command("mv", move)
    one.add_argument("output_dir", type=Path)
    one.add_argument("new", type=Path)
    one = command("import", take)
    one.add_argument("source", type=Path, metavar="FROM", help="a folder, .zip or .tar.gz")
    one.add_argument("new", type=Path, nargs="?", metavar="DIR", help="default: outputs/NAME")
    one = command("note", annotate)
    one.add_argument("output_dir", type=Path)
    one.add_argument("text", nargs="?", help="replaces the note; without it, it stays")
    one.add_argument("--tag", action="append", default=[], help="add a tag")
    one.add_argument("--untag", action="append", default=[], help="remove a tag")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        options.act(options)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
