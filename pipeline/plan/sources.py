"""Python modules found and taken apart into their definitions, without importing anything."""

from __future__ import annotations

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path

from common.errors import UserError
from pipeline.plan.syntax import (
    IMPORTS,
    MEMBERS,
    Bindings,
    Name,
    Unit,
    bound,
    called,
    chain,
    imported,
    origin,
    read,
    without_effect,
)

BODY = "module level"
"""What those statements of a module are called that define nothing."""


class Source:
    """A module's definitions by name; a method's is Class.name.

    members: of each class the names of its methods. bindings: what imports bring. stars: of which
    modules all names are imported. runs: the modules that are imported with it.
    """

    def __init__(self, name: str, path: Path) -> None:
        """Raises UserError where the file is no Python."""
        self.name = name
        package = path.name == "__init__.py"
        self.file = name.replace(".", "/") + ("/__init__.py" if package else ".py")
        self.members: dict[str, list[str]] = {}
        self.bindings: Bindings = {}
        self.stars: list[str] = []
        self.runs: list[str] = []
        self._package = name if package else name.rpartition(".")[0]
        self._found: dict[str, list[ast.stmt]] = {}
        self._units: dict[str, Unit] = {}
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError) as error:
            raise UserError(f"{path} cannot be read: {error}") from error
        for node in tree.body:
            self._sort(node)

    def __contains__(self, name: str) -> bool:
        return name in self._found

    @property
    def names(self) -> list[str]:
        """What the module defines, methods and `BODY` left out."""
        return [name for name in self._found if name.isidentifier()]

    def unit(self, name: str) -> Unit:
        if name not in self._units:
            self._units[name] = read(self._found[name], self._package)
        return self._units[name]

    def bases(self, name: str) -> list[Name]:
        """What a class inherits from; () for what is no name."""
        nodes = [node for node in self._found[name] if isinstance(node, ast.ClassDef)]
        named = [base for node in nodes for base in node.bases]
        plain = [base.value if isinstance(base, ast.Subscript) else base for base in named]
        return [chain(base) or () for base in plain]

    def calls(self, name: str) -> set[Name]:
        """What the definition calls while the module is imported."""
        return {one for node in self._found[name] for one in called(node, self._package)}

    def _sort(self, node: ast.stmt, runs: bool = True) -> None:
        if isinstance(node, MEMBERS):
            self._add(node.name, node)
            if isinstance(node, ast.ClassDef):
                self._sort_class(node)
        elif isinstance(node, IMPORTS):
            self._import(node, runs)
        elif isinstance(node, ast.If) and _asks(node, "TYPE_CHECKING"):
            for each in node.body:
                self._sort(each, runs=False)
            for each in node.orelse:
                self._sort(each)
        elif assigned := _assigned(node):
            for name in assigned:
                self._add(name, node)
        elif not (without_effect(node) or (isinstance(node, ast.If) and _asks(node, "__name__"))):
            self._add(BODY, node)
            for inner in ast.walk(node):
                if isinstance(inner, IMPORTS):
                    self._import(inner, runs)

    def _add(self, name: str, node: ast.stmt) -> None:
        self._found.setdefault(name, []).append(node)

    def _sort_class(self, node: ast.ClassDef) -> None:
        members = self.members.setdefault(node.name, [])
        for each in node.body:
            if isinstance(each, MEMBERS):
                members.append(each.name)
                self._add(f"{node.name}.{each.name}", each)

    def _import(self, node: ast.Import | ast.ImportFrom, runs: bool) -> None:
        for name, targets in bound(node, self._package).items():
            self.bindings.setdefault(name, []).extend(targets)
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            self.stars.append(origin(node, self._package))
        if runs:
            self.runs += imported(node, self._package)


def _assigned(node: ast.stmt) -> list[str]:
    """The names that a statement gives a value; none where it changes anything else."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        targets = [node.target]
    else:
        return []
    flat = [each for target in targets for each in getattr(target, "elts", [target])]
    names = [each.id for each in flat if isinstance(each, ast.Name)]
    return names if len(names) == len(flat) else []


def _asks(node: ast.If, name: str) -> bool:
    """Whether it is an `if` about this name."""
    test = node.test.left if isinstance(node.test, ast.Compare) else node.test
    return (chain(test) or ("",))[-1] == name


@cache
def source(name: str) -> Source | None:
    """The module of this name, read once a process; None where it is no Python file. Raises
    UserError."""
    path = modules_of(name.partition(".")[0]).get(name)
    return None if path is None else Source(name, path)


def is_module(name: str) -> bool:
    """Whether there is a module, or a folder of modules, of this name."""
    return name in modules_of(name.partition(".")[0])


@cache
def modules_of(top: str) -> dict[str, Path | None]:
    """All modules of a package and their files; None for a folder without one of its own."""
    own, folders = _place(top)
    found = {top: own} if own is not None or folders else {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            for depth in range(1, len(parts)):
                found.setdefault(".".join((top, *parts[:depth])), None)
            found[".".join((top, *(part for part in parts if part != "__init__")))] = path
    return found


@cache
def is_library(top: str) -> bool:
    """Whether a package came with Python or was installed, or cannot be found."""
    own, folders = _place(top)
    places = [own] if own is not None else folders
    installed = any({"site-packages", "dist-packages"} & {*place.parts} for place in places)
    return top in sys.stdlib_module_names or not places or installed


@cache
def _place(top: str) -> tuple[Path | None, tuple[Path, ...]]:
    """The file of a package or a single module, and the folders in which its modules lie."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return None, ()
    file = spec.origin if str(spec.origin).endswith(".py") else None
    folders = tuple(map(Path, spec.submodule_search_locations or ()))
    return None if file is None else Path(file), folders
