"""Docstrings name parameters that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.test_layers import MODULES

NAMED = re.compile(r"([a-z_]\w*(?:, [a-z_]\w*)*): \S")


def strangers(source: str) -> Iterator[str]:
    """The names that a function's docstring explains at the start of a line, after a paragraph or a
    sentence, and that are no parameters of it."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        known = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        lines = (ast.get_docstring(node) or "").splitlines()
        for before, line in pairwise(lines):
            if (named := NAMED.match(line)) and before.rstrip()[-1:] in ("", "."):
                unknown = {*named[1].split(", ")} - known
                yield from (f"{node.name}: {name}" for name in sorted(unknown))


def test_every_parameter_that_a_docstring_names_exists() -> None:
    read = {name: file.read_text(encoding="utf-8") for name, file in MODULES.items()}
    assert {name: found for name in read if (found := [*strangers(read[name])])} == {}


def test_a_parameter_that_was_renamed_is_found() -> None:
    source = '''
def play(state, on_progress):
    """Play on.

    state, reach: where it stands,
    and: what is called.
    """
'''
    assert [*strangers(source)] == ["play: reach"]
