"""A module with one of its texts changed, in the place of the module itself, for as long as asked.

The changed source is executed beside the module. Its functions lend the module's own their code,
so that whoever imported them runs the changed ones; constants are exchanged by name wherever they
were imported to.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any

MARK = "~"


def texts(module: ModuleType) -> list[str]:
    """Every text of the module's source, pieces of f-strings too, but for docstrings, annotations
    and what an error says."""
    return [node.value for node in _nodes(_tree(module))]


@contextmanager
def mutated(module: ModuleType, number: int) -> Iterator[None]:
    """The module with the text of this number, as `texts` counts, ending in a mark."""
    tree = _tree(module)
    node = _nodes(tree)[number]
    node.value += MARK
    code = compile(tree, f"<{module.__name__}>", "exec")
    changed = ModuleType(module.__name__)
    exec(code, changed.__dict__)
    with ExitStack() as undo:
        for owner, new_owner in ((module, changed), *_classes(module, changed)):
            _exchange(module, vars(owner), vars(new_owner), undo)
        yield


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _nodes(tree: ast.Module) -> list[Any]:
    left_out = {id(node) for part in _no_prompts(tree) for node in ast.walk(part)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in left_out
    ]


def _no_prompts(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.Assert)):
            yield node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node
        for annotated in ("annotation", "returns"):
            if getattr(node, annotated, None) is not None:
                yield getattr(node, annotated)


def _classes(module: ModuleType, changed: ModuleType) -> Iterator[tuple[type[Any], type[Any]]]:
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value, getattr(changed, name)


def _exchange(module: ModuleType, old: Any, new: Any, undo: ExitStack) -> None:
    for name, value in list(old.items()):
        mine, theirs = _function(value), _function(new.get(name))
        if mine is not None and theirs is not None:
            if theirs.__code__.co_filename == f"<{module.__name__}>":
                undo.callback(setattr, mine, "__code__", mine.__code__)
                mine.__code__ = theirs.__code__
        elif isinstance(value, (str, tuple, dict)) and not name.startswith("__"):
            for place in _holders(name, value):
                undo.callback(setattr, place, name, value)
                setattr(place, name, new[name])


def _function(value: Any) -> FunctionType | None:
    value = value.fget if isinstance(value, property) else value
    return value if isinstance(value, FunctionType) else None


def _holders(name: str, value: Any) -> list[ModuleType]:
    """The project's modules that know the value by this name."""
    ours = [module for key, module in sys.modules.items() if key.startswith(("agents", "games"))]
    return [module for module in ours if vars(module).get(name) is value]
