"""Which code plays a cell's matches: a hash of each file that the cell's classes import.

Files are parsed, never imported. A module counts as its syntax tree, so comments, docstrings and
layout do not; a data file in a package's folder counts by its content.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any, NamedTuple

from gauntlet.common.errors import UserError
from gauntlet.common.ids import PACKAGE
from gauntlet.models.engine.files import file_hash
from gauntlet.pipeline.plan.cells import Cell, digest

OWN = tuple(f"gauntlet.{room}" for room in ("games", "agents", "models", "stats", "common"))
"""The project's packages that are followed; others are if a user's classes import them."""
PLAYING = (
    *("gauntlet.pipeline.play.match", "gauntlet.pipeline.play.chains"),
    *("gauntlet.pipeline.play.prepare", "gauntlet.pipeline.plan.rng"),
    *("gauntlet.pipeline.plan.cells", "gauntlet.models.answering"),
)
"""What plays a match, whatever the cell. The rest of the pipeline schedules, stores and counts."""
DATA = (
    *(".csv", ".efg", ".gz", ".jinja", ".json", ".npy", ".npz", ".pt", ".safetensors"),
    *(".toml", ".tsv", ".txt", ".yaml", ".yml"),
)
UNREAD = (".", "__", "outputs")
"""How the names of folders begin in which nobody looks for data."""
SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields of a syntax tree that change nothing."""
FEW = 4
"""How many files a message names."""

Change = tuple[str, str, str]
"""A file and its hashes then and now; "" where there is none."""


@dataclass(frozen=True, eq=False)
class Code:
    """The hash of each file, 12 hex digits, by its path from the folder above its package."""

    files: Mapping[str, str]

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.files)


def code_of(cell: Cell) -> Code:
    """The code that plays a cell's matches; cells of the same classes share it. Raises UserError
    where a file cannot be read."""
    players = [part for player in cell.players for part in (player.agent, player.model)]
    return _code(frozenset(kind.__module__ for kind in classes([cell.game, players])))


def code_of_game(game: Any) -> Code:
    """The code that settles how a game goes, whoever plays it. Raises UserError."""
    return _code(frozenset(kind.__module__ for kind in classes(game)))


def classes(thing: Any) -> Iterator[type]:
    """The classes of an object and of all that its settings hold."""
    if isinstance(thing, Mapping):
        thing = tuple(thing.values())
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield type(thing)
        thing = tuple(getattr(thing, each.name, None) for each in fields(thing))
    for part in thing if isinstance(thing, (tuple, list)) else ():
        yield from classes(part)


def differences(then: Code, now: Code, shared: bool = False) -> set[Change]:
    """Which files differ; `shared`: of those that both have."""
    old, new = then.files, now.files
    names = old.keys() & new.keys() if shared else old.keys() | new.keys()
    return {(n, old.get(n, ""), new.get(n, "")) for n in names if old.get(n) != new.get(n)}


def named(changes: Iterable[Change]) -> str:
    """The files that changed: games/uno/rules.py and games/uno/words.py; "" where none did."""
    files = sorted({file for file, *_ in changes})
    more = [f"{len(files) - FEW:,} more files"] if len(files) > FEW else []
    *first, last = [*files[:FEW], *more] or [""]
    return f"{', '.join(first)} and {last}" if first else last


@cache
def _code(modules: frozenset[str]) -> Code:
    files: dict[str, str] = {}
    for name in _reached(modules):
        if module := _module(name):
            files[module.label] = module.digest
            files |= _data(module.package, module.file.parent) if module.package else {}
    return Code(dict(sorted(files.items())))


def _reached(modules: Collection[str]) -> set[str]:
    """These modules, those that play a match, and all that they import, with the packages above
    them; of the project's packages, which do nothing but import, only those imported from."""
    followed = {*OWN, *map(_package, modules)}
    seen, todo = set[str](), [*modules, *PLAYING]
    while todo:
        name = todo.pop()
        if name in seen or not (name in PLAYING or _is_followed(_package(name), followed)):
            continue
        seen.add(name)
        module = _module(name)
        todo += module.imports if module else ()
        todo += [name.rpartition(".")[0]] if not name.startswith(PACKAGE) else []
    return seen


def _package(name: str) -> str:
    """The package of a module: of ours gauntlet.games and the like."""
    first, *inner = name.split(".")
    return ".".join((first, *inner[:1])) if f"{first}." == PACKAGE else first


def _is_followed(package: str, followed: Collection[str]) -> bool:
    ours = f"{package}.".startswith(PACKAGE)
    return package in followed or not (ours or _is_library(package))


class _Module(NamedTuple):
    """label: its path in messages. package: the one that it lies in, "" for a single file.
    imports: modules, also within functions, and names that may be modules."""

    label: str
    file: Path
    package: str
    digest: str
    imports: Sequence[str]


@cache
def _module(name: str) -> _Module | None:
    """The module, read once a process; None where it has no Python source. Raises UserError."""
    file = _source(name)
    if file is None:
        return None
    is_package = file.name == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    try:
        text, imports = _read(ast.parse(file.read_bytes()), package, file.parent)
    except (ImportError, OSError, SyntaxError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {error}") from error
    label = name.removeprefix(PACKAGE).replace(".", "/") + ("/__init__.py" if is_package else ".py")
    hashed = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    return _Module(label, file, package, hashed, imports)


def _read(tree: ast.AST, package: str, folder: Path) -> tuple[str, list[str]]:
    """A syntax tree as text, each node before its children, and the modules that it imports.
    Raises ImportError where an import leads out of the package."""
    text: list[str] = []
    imports: list[str] = []
    todo: list[Any] = [tree]
    while todo:
        value = todo.pop()
        if isinstance(value, list):
            items = [*_effective(value)]
            text.append(f"[{len(items)}]")
            todo += reversed(items)
        elif isinstance(value, ast.AST):
            children = [(name, getattr(value, name, None)) for name in value._fields]
            has = [one for one in children if one[0] not in SILENT and one[1] not in (None, [])]
            text.append(f"{type(value).__name__}({','.join([name for name, _ in has])})")
            todo += [child for _, child in reversed(has)]
            if isinstance(value, (ast.Import, ast.ImportFrom)):
                imports += _imported(value, package)
            elif isinstance(value, ast.Call):
                imports += _imported_by_name(value, package, folder)
        else:
            text.append(repr(value))
    return "\n".join(text), imports


def _effective(items: Iterable[Any]) -> Iterator[Any]:
    """Without docstrings, `pass`, and what is for types only."""
    for item in items:
        if isinstance(item, ast.If) and _name(item.test) == "TYPE_CHECKING":
            yield from _effective(item.orelse)
        elif not (
            isinstance(item, ast.Pass)
            or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        ):
            yield item


def _name(node: ast.AST) -> str:
    """b of `b` and of `a.b`."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        yield from names
        return
    base = resolve_name("." * node.level + (node.module or ""), package)
    source = _source(base)
    flat = source is not None and source.name != "__init__.py"
    inner = (f"{base}.{name}" for name in names)
    yield from (base if flat or _source(one) is None else one for one in inner)


def _imported_by_name(node: ast.Call, package: str, folder: Path) -> Iterator[str]:
    """What `import_module` imports: by a name made at run time any module of the package, but
    that the project's own packages import only libraries so."""
    if _name(node.func) not in ("import_module", "__import__"):
        return
    match node.args:
        case [ast.Constant(str(name)), *_]:
            yield resolve_name(name, package)
        case _ if not package.startswith(PACKAGE):
            for file in folder.rglob("*.py"):
                inner = file.relative_to(folder).with_suffix("").parts
                yield ".".join((package, *inner)).removesuffix(".__init__")


@cache
def _source(name: str) -> Path | None:
    """A module's file, or `__init__.py` of a package; None where there is none."""
    top, *inner = name.split(".")
    file, folders = _place(top)
    if not inner:
        return file
    for path in (folder.joinpath(*inner) for folder in folders):
        for each in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if each.is_file():
                return each
    return None


@cache
def _is_library(top: str) -> bool:
    """Whether a package came with Python or was installed, or cannot be found."""
    file, folders = _place(top)
    places = [file] if file is not None else folders
    installed = any({"site-packages", "dist-packages"} & {*place.parts} for place in places)
    return top in sys.stdlib_module_names or not places or installed


@cache
def _place(top: str) -> tuple[Path | None, tuple[Path, ...]]:
    """The file of a package or a single module, and the folders in which its modules lie."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return None, ()
    file = spec.origin if str(spec.origin).endswith(".py") else None
    folders = tuple(map(Path, spec.submodule_search_locations or ()))
    return None if file is None else Path(file), folders


@cache
def _data(package: str, folder: Path) -> dict[str, str]:
    """The hashes of a package's data files. Folders in it count unless they hold modules, or what
    runs write; in a top folder of the project they belong to no module. Raises UserError."""
    found = {}
    place = package.removeprefix(PACKAGE).replace(".", "/")
    for root, folders, files in os.walk(folder):
        if root != str(folder) and any(file.endswith(".py") for file in files):
            folders.clear()
            continue
        folders[:] = [f for f in folders if package not in OWN and not f.startswith(UNREAD)]
        for file in (Path(root, name) for name in files if name.endswith(DATA)):
            label = f"{place}/{file.relative_to(folder).as_posix()}"
            try:
                found[label] = file_hash(file, package)[:12]
            except OSError as error:
                raise UserError(f"{file} cannot be read: {error}") from error
    return found
