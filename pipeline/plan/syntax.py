"""One definition in Python, read without running it: a hash of what it does, and what it uses."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Name = tuple[str, ...]
"""A dotted name: a.b.c as its parts."""

Target = tuple[str, str | None]
"""A module and a name in it, or None for the module itself."""

Bindings = dict[str, list[Target]]
"""What each name that imports bring may stand for."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MEMBERS = (*FUNCTIONS, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
SILENT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
"""Fields of a syntax tree that change nothing that is done."""
BLOCKS = frozenset({"body", "orelse", "finalbody"})
BY_TEXT = {"getattr": 1, "attrgetter": 0, "methodcaller": 0}
"""What reaches a member by a text, and which argument is the text."""
BUILT_IN = frozenset({("globals",), ("vars",), ("dir",), ("eval",), ("exec",), ("__import__",)})
ATTRIBUTES = frozenset({"import_module", "__subclasses__"})
"""What may reach anything, called by itself or of something."""


@dataclass
class Unit:
    """What one definition does, as 12 hex digits, and what it uses.

    names: dotted, as they stand there. words: attributes, and texts that may be the names of some.
    imports: what its own ones bring; runs: the modules that they run. open: of what a text that is
    made up at run time names attributes; () for what is no name. all: whether such a text may name
    whatever there is.
    """

    digest: str = ""
    names: set[Name] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    imports: Bindings = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    open: set[Name] = field(default_factory=set)
    all: bool = False


def read(nodes: Sequence[ast.stmt], package: str) -> Unit:
    """The definition that these statements of a module make together; of a class without its
    methods. No comment, docstring, blank line or position counts, nor what annotations of a plain
    function say. package: the module's own, for relative imports."""
    return _Reading(package).unit(nodes)


def called(node: ast.stmt, package: str) -> set[Name]:
    """What a definition calls while its module is imported: its decorators, or the calls in its
    value."""
    if isinstance(node, MEMBERS):
        calls = node.decorator_list
    else:
        calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return read([ast.Expr(call) for call in calls], package).names


def chain(node: ast.AST) -> Name | None:
    """The parts of a.b.c; None for what does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return (node.id, *parts) if isinstance(node, ast.Name) else None


def bound(node: ast.Import | ast.ImportFrom, package: str) -> Bindings:
    """The names that an import brings, and what they stand for."""
    if isinstance(node, ast.ImportFrom):
        base = origin(node, package)
        names = [alias for alias in node.names if alias.name != "*"]
        return {alias.asname or alias.name: [(base, alias.name)] for alias in names}
    whole = {alias.asname: alias.name for alias in node.names if alias.asname}
    tops = [alias.name.partition(".")[0] for alias in node.names if not alias.asname]
    return {name: [(module, None)] for name, module in (whole | {t: t for t in tops}).items()}


def imported(node: ast.Import | ast.ImportFrom, package: str) -> list[str]:
    """The modules that an import runs, and names in them that may be modules."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = origin(node, package)
    return [base, *(f"{base}.{alias.name}" for alias in node.names)]


def origin(node: ast.ImportFrom, package: str) -> str:
    """The module from which an import takes names."""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def without_effect(node: ast.AST) -> bool:
    """A docstring, a text beside a name, `...` or `pass`."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or isinstance(node, ast.Pass)


class _Reading:
    def __init__(self, package: str) -> None:
        self._package = package
        self._text: list[str] = []
        self._unit = Unit()

    def unit(self, nodes: Sequence[ast.stmt]) -> Unit:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                self._class(node, methods=False)
            else:
                self._read(node)
        unit, text = self._unit, "\n".join(self._text)
        unit.digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
        attributes = unit.words | {name[-1] for name in unit.names}
        unit.all = not (BUILT_IN.isdisjoint(unit.names) and ATTRIBUTES.isdisjoint(attributes))
        return unit

    def _read(self, value: Any) -> None:
        if isinstance(value, ast.AST):
            _READERS.get(type(value), _Reading._node)(self, value)
        elif isinstance(value, list):
            self._text.append("[")
            for each in value:
                self._read(each)
                self._word(each)
            self._text.append("]")
        else:
            self._text.append(repr(value))

    def _node(self, node: ast.AST, without: str = "") -> None:
        self._text.append(type(node).__name__)
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or value == [] or name in SILENT or name == without:
                continue
            self._text.append(name)
            if name in BLOCKS and isinstance(value, list):
                value = [each for each in value if not without_effect(each)]
            self._read(value)
        self._text.append(";")

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Annotations count under a decorator, which may read them."""
        if node.decorator_list:
            self._node(node)
            return
        listed = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        for arg in (*listed, node.args.vararg, node.args.kwarg):
            if arg is not None:
                arg.annotation = None
        self._node(node, without="returns")

    def _class(self, node: ast.ClassDef, methods: bool = True) -> None:
        self._node(node, without="body")
        for each in node.body:
            if isinstance(each, ast.AnnAssign):  # a dataclass reads it
                self._text += [ast.dump(each.annotation), ":"]
                self._read([each.target, each.value])
            elif not without_effect(each) and (methods or not isinstance(each, MEMBERS)):
                self._read(each)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._read(ast.Assign([node.target], node.value))

    def _arg(self, node: ast.arg) -> None:
        self._text += [node.arg, "" if node.annotation is None else ast.dump(node.annotation)]

    def _name(self, node: ast.Name) -> None:
        self._text.append(node.id)
        if isinstance(node.ctx, ast.Load):
            self._unit.names.add((node.id,))

    def _attribute(self, node: ast.Attribute) -> None:
        self._unit.words.add(node.attr)
        parts = chain(node)
        if parts is None:
            self._node(node)
        else:
            self._text.append(".".join(parts))
            self._unit.names.add(parts)
            self._unit.words.update(parts[1:])

    def _constant(self, node: ast.Constant) -> None:
        self._text.append(repr(node.value))
        self._word(node.value)

    def _word(self, value: Any) -> None:
        if isinstance(value, str) and value.isidentifier():
            self._unit.words.add(value)

    def _call(self, node: ast.Call) -> None:
        name = (chain(node.func) or ("",))[-1]
        texts = node.args[BY_TEXT[name] :][:1] if name in BY_TEXT else []
        if any(not isinstance(text, ast.Constant) for text in texts):
            self._unit.open.add(chain(node.args[0]) or ())
        self._node(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for name, targets in bound(node, self._package).items():
            self._unit.imports.setdefault(name, []).extend(targets)
        self._unit.runs += imported(node, self._package)
        self._node(node)


_READERS: Mapping[type[ast.AST], Callable[[_Reading, Any], None]] = {
    ast.FunctionDef: _Reading._function,
    ast.AsyncFunctionDef: _Reading._function,
    ast.ClassDef: _Reading._class,
    ast.AnnAssign: _Reading._annotated,
    ast.arg: _Reading._arg,
    ast.Name: _Reading._name,
    ast.Attribute: _Reading._attribute,
    ast.Constant: _Reading._constant,
    ast.Call: _Reading._call,
    ast.Import: _Reading._import,
    ast.ImportFrom: _Reading._import,
}
