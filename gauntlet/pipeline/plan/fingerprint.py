"""The code that plays a cell's matches: a hash of each file that the cell's classes import.

Files are parsed, never imported. A module is hashed as its syntax tree, without comments,
docstrings and layout; a data file in a package's folder is hashed by content.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from gauntlet.common.errors import UserError
from gauntlet.common.ids import PACKAGE
from gauntlet.models.engine.files import file_hash
from gauntlet.pipeline.plan.cells import Cell, digest

OWN = tuple(PACKAGE + room for room in ("games", "agents", "models", "stats", "common"))
"""Project packages whose imports are followed; others only if a user's classes import them."""
PLAYING = (
    *(f"{PACKAGE}pipeline.play.{name}" for name in ("match", "chains", "prepare")),
    *(f"{PACKAGE}pipeline.plan.{name}" for name in ("rng", "cells")),
    f"{PACKAGE}models.answering",
)
"""The modules that play every match. The rest of the pipeline schedules, stores and counts."""
DATA = re.compile(r"\.(csv|efg|gz|jinja|json|np[yz]|pt|safetensors|toml|tsv|txt|ya?ml)$")
"""File names of data files."""
UNREAD = (".", "__", "outputs")
"""Prefixes of folder names that are not searched for data."""
SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Syntax tree fields that do not affect behaviour."""
PACKAGES = re.compile(r"[\\/](site|dist)-packages([\\/]|$)")
"""Matches folders of installed packages."""
FEW = 4
"""How many files a message names."""

Change = tuple[str, str, str]
"""A file, its hash then and its hash now; "" if absent."""


@dataclass(frozen=True, eq=False)
class Code:
    """The hash of each file, 12 hex digits, by its path relative to its package's parent folder."""

    files: Mapping[str, str]

    @cached_property
    def fingerprint(self) -> str:
        return digest(self.files)


def code_of(cell: Cell) -> Code:
    """The code that plays a cell's matches; cells of the same classes share it. Raises UserError if
    a file cannot be read."""
    return code_of_game([cell.game, [(player.agent, player.model) for player in cell.players]])


def code_of_game(game: Any) -> Code:
    """The code that determines how a game goes, for all players. Raises UserError."""
    return _code(frozenset(kind.__module__ for kind in classes(game)))


def classes(thing: Any) -> Iterator[type]:
    """The classes of an object and, recursively, of its settings."""
    if isinstance(thing, Mapping):
        thing = tuple(thing.values())
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield type(thing)
        thing = tuple(getattr(thing, each.name, None) for each in fields(thing))
    for part in thing if isinstance(thing, (tuple, list)) else ():
        yield from classes(part)


@cache
def differences(then: Code, now: Code, shared: bool = False) -> frozenset[Change]:
    """The files that differ; `shared`: only among those that both have."""
    old, new = then.files, now.files
    names = old.keys() & new.keys() if shared else old.keys() | new.keys()
    return frozenset((n, old.get(n, ""), new.get(n, "")) for n in names if old.get(n) != new.get(n))


def file_list(changes: Iterable[Sequence[str]]) -> str:
    """The changed files as text: games/uno/rules.py and games/uno/words.py; "" if none."""
    files = sorted({file for file, *_ in changes})
    more = [f"{len(files) - FEW:,} more files"] if len(files) > FEW else []
    *first, last = [*files[:FEW], *more] or [""]
    return f"{', '.join(first)} and {last}" if first else last


@cache
def _code(modules: frozenset[str]) -> Code:
    """The code of these modules, of the modules that play a match, and of everything they import,
    including the packages above them. Of the project's own packages, which only re-export, only
    those imported from are included."""
    tops = {*OWN, *map(_top, modules)}
    files: dict[str, str] = {}
    visited, todo = set[str](), [*modules, *PLAYING]
    while todo:
        name = todo.pop()
        top, ours = _top(name), name.startswith(PACKAGE)
        followed = top in tops or not (ours or _is_library(top))
        if name not in visited and (name in PLAYING or followed):
            visited.add(name)
            own, imports = _module(name)
            files |= own
            todo += [*imports, *([] if ours else [name.rpartition(".")[0]])]
    return Code(dict(sorted(files.items())))


def _top(name: str) -> str:
    """A module's top package; within the project gauntlet.games and the like."""
    return ".".join(name.split(".")[: 2 if name.startswith(PACKAGE) else 1])


@cache
def _module(name: str) -> tuple[Mapping[str, str], Sequence[str]]:
    """The hashes of the module and of its package's data files, and its imports, including those
    inside functions; empty if it has no Python source. Raises UserError."""
    file = _source(name)
    if file is None:
        return {}, ()
    is_package = file.name == "__init__.py"
    package = name if is_package else name.rpartition(".")[0]
    try:
        text, imports = _read(ast.parse(file.read_bytes()), package, file.parent)
        data = _data(package, file.parent) if package else {}
    except (ImportError, OSError, SyntaxError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {error}") from error
    label = name.removeprefix(PACKAGE).replace(".", "/") + ("/__init__.py" if is_package else ".py")
    hashed = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
    return {label: hashed, **data}, imports


def _read(tree: ast.AST, package: str, folder: Path) -> tuple[str, list[str]]:
    """A syntax tree as text, each node before its children, and the modules it imports. Raises
    ImportError if a relative import leaves the package."""
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
            has = [(name, child) for name, child in ast.iter_fields(value) if name not in SILENT]
            has = [(name, child) for name, child in has if child not in (None, [])]
            text.append(f"{type(value).__name__}({','.join([name for name, _ in has])})")
            todo += [child for _, child in reversed(has)]
            if isinstance(value, (ast.Import, ast.ImportFrom, ast.Call)):
                imports += _imported(value, package, folder)
        else:
            text.append(repr(value))
    return "\n".join(text), imports


def _effective(items: Iterable[Any]) -> Iterator[Any]:
    """Skip docstrings, `pass`, and code for type checkers only."""
    for item in items:
        match item:
            case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                yield from _effective(item.orelse)
            case ast.Pass() | ast.Expr(ast.Constant()):
                pass
            case _:
                yield item


def _imported(node: ast.AST, package: str, folder: Path) -> Iterator[str]:
    """The modules that an import statement or `import_module` imports. A name computed at run time
    may be any module of the package; the project's own packages import only libraries that way."""
    match node:
        case ast.Import(names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module, names, level):
            base = resolve_name("." * level + (module or ""), package)
            every = (f"{base}.{alias.name}" for alias in names)
            yield from (name if _source(name) else base for name in every)
        case ast.Call(
            ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module"), args
        ):
            if args and isinstance(args[0], ast.Constant):
                yield resolve_name(str(args[0].value), package)
            elif not package.startswith(PACKAGE):
                for path in (file.relative_to(folder) for file in folder.rglob("*.py")):
                    inner = ".".join((package, *path.with_suffix("").parts))
                    yield inner.removesuffix(".__init__")


@cache
def _source(name: str) -> Path | None:
    """A module's file, or `__init__.py` of a package; None if there is none."""
    origin = getattr(_spec(name), "origin", None) or ""
    return Path(origin) if origin.endswith(".py") else None


@cache
def _is_library(top: str) -> bool:
    """Whether a package is in the standard library, installed, or not found. Installed are those in
    a folder to which pip installed something, also one of PYTHONPATH."""
    spec = _spec(top)
    if spec is None or top in sys.stdlib_module_names:
        return True
    places = [Path(place).parent for place in spec.submodule_search_locations or ()]
    places += [] if places or not spec.origin else [Path(spec.origin).parent]
    return any(PACKAGES.search(str(place)) or any(place.glob("*.dist-info")) for place in places)


@cache
def _spec(name: str) -> ModuleSpec | None:
    """A module's spec, without importing its parent packages as `find_spec` alone would."""
    package, _, last = name.rpartition(".")
    if package:
        above = _spec(package)
        folders = above.submodule_search_locations if above else None
        return PathFinder.find_spec(last, [*folders]) if folders else None
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


@cache
def _data(package: str, folder: Path) -> dict[str, str]:
    """The hashes of a package's data files. Subfolders count unless they hold modules or run
    outputs; those in a top-level project folder belong to no module."""
    hashes = {}
    for root, folders, files in os.walk(folder):
        if root != str(folder) and any(file.endswith(".py") for file in files):
            folders.clear()
            continue
        folders[:] = [f for f in folders if package not in OWN and not f.startswith(UNREAD)]
        for file in (Path(root, name) for name in files if DATA.search(name)):
            inner = package.removeprefix(PACKAGE).replace(".", "/")
            label = f"{inner}/{file.relative_to(folder).as_posix()}"
            hashes[label] = file_hash(file, package)[:12]
    return hashes
