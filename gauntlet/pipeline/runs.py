"""Keep runs in order: `python -m pipeline.runs rm|mv|pack|import|note ...`.

rm DIR...            remove folders, and their runs in MLflow
mv DIR NEW           move a folder; MLflow gets its new name
pack DIR FILE        its log as a .tar.xz to share, without your machine's name
import FROM [DIR]    check and copy a colleague's folder, or an archive of one
note DIR [TEXT]      a note and tags, which report, pages and MLflow show
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, require
from gauntlet.common.process import as_process, invocation
from gauntlet.common.sanitize import visible
from gauntlet.pipeline import track
from gauntlet.pipeline.log import archive
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.records import held, renew_id
from gauntlet.pipeline.tracking.store import STORE, store_exists, store_of
from gauntlet.pipeline.tracking.track import forget, is_tracked
from gauntlet.pipeline.verify import verify


def remove(options: argparse.Namespace) -> None:
    if any(store_exists(options.store or store_of(path)) for path in options.output_dir):
        require("mlflow", "tracking")  # before anything is removed
    for path in options.output_dir:
        folder = _sweep(path)
        if path.is_symlink():
            raise UserError(f"{path} is a link; name the folder that it leads to")
        if not options.yes and not _agreed(path):
            print(f"{path} stays")
            continue
        whole = path.resolve()
        with held(path), tempfile.TemporaryDirectory(dir=whole.parent, prefix=".removed-") as gone:
            store = options.store or store_of(path)
            if store_exists(store):
                forget(store, folder)
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
    with held(path), _beside(new) as scratch:
        if path.lstat().st_dev == scratch.stat().st_dev:
            _appear(path, new)
        else:
            shutil.copytree(path, scratch / "in", symlinks=True)
            _appear(scratch / "in", new)
            shutil.rmtree(path)
    _track_again(new, options.store or store_of(new))
    print(f"moved to {new}")


def share(options: argparse.Namespace) -> None:
    folder = _sweep(options.output_dir)
    if options.file.exists():
        raise UserError(f"{options.file} exists already; name another file")
    archive.pack(folder, options.file)
    print(f"{options.file}: {options.file.stat().st_size / 1e6:,.1f} MB")


def take(options: argparse.Namespace) -> None:
    source, new = options.source, options.new or Path("outputs") / archive.stem(options.source)
    folder, origin = Folder(new), str(source.resolve())
    if not (folder.import_file.exists() and folder.import_file.read_text() == origin):
        _refuse_existing(new)
        with _beside(new) as scratch:
            taken = archive.unpacked(source, scratch / "in")
            findings = verify(taken)
            if findings.problems:
                file, problems = next(iter(findings.problems.items()))
                raise UserError(
                    f"{source} is damaged: {file}: {problems[0]}; "
                    f"`{invocation('pipeline.verify')}` on the folder lists everything"
                )
            renew_id(Folder(taken))
            write_atomically(Folder(taken).import_file, origin)
            _appear(taken, new)
        print(f"{new}: {findings.lines:,} lines, none damaged")
    results = track.tabulate(new)
    with _store_warnings():
        track.log_runs(results, options.store or str(STORE))
    folder.import_file.unlink()


@contextmanager
def _beside(new: Path) -> Iterator[Path]:
    """A hidden folder for what becomes `new`, without what a killed process left in it. Raises
    UserError if another process uses it."""
    scratch = new.parent / f".unfinished-{new.name}"
    scratch.mkdir(parents=True, exist_ok=True)
    with held(scratch):
        for left in scratch.iterdir():
            if left.is_dir():
                shutil.rmtree(left)
        try:
            yield scratch
        finally:
            shutil.rmtree(scratch)


def _appear(path: Path, new: Path) -> None:
    """Rename the complete folder. Raises UserError if another process was faster."""
    try:
        path.rename(new)
    except OSError as error:
        raise UserError(f"{new} cannot be made: {error.strerror}; name another folder") from error


def annotate(options: argparse.Namespace) -> None:
    folder = _sweep(options.output_dir)
    before = folder.note
    tags = [one for one in before["tags"] if one not in options.untag]
    tags = [one for one in dict.fromkeys([*tags, *options.tag]) if one.strip()]
    text = before["note"] if options.text is None else options.text
    write_atomically(folder.note_file, to_bytes({"note": text, "tags": tags}))
    _track_again(folder.path, options.store or store_of(folder.path))
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
    with _store_warnings():
        if store_exists(store) and is_tracked(store, Folder(path)):
            track.log_runs(track.tabulate(path), store)


@contextmanager
def _store_warnings() -> Iterator[None]:
    """Print what keeps MLflow's runs as they were; the folder's part is done."""
    try:
        yield
    except UserError as error:
        print(f"warning: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=invocation("pipeline.runs"),
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, act: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        made = commands.add_parser(name)
        made.set_defaults(act=act)
        made.add_argument("--store", help="the MLflow store (default: the run's own)")
        return made

    one = command("rm", remove)
    one.add_argument("output_dir", type=Path, nargs="+")
    one.add_argument("--yes", action="store_true", help="do not ask")
    one = command("mv", move)
    one.add_argument("output_dir", type=Path)
    one.add_argument("new", type=Path)
    one = command("pack", share)
    one.add_argument("output_dir", type=Path)
    one.add_argument("file", type=Path, metavar="FILE", help="a .tar.xz")
    one = command("import", take)
    one.add_argument("source", type=Path, metavar="FROM", help="a folder, .zip, .tar.gz or .tar.xz")
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
