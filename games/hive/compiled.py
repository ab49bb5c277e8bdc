"""Compilation of Hive's engine."""

from pathlib import Path

from games.compiling import Compiler

_compiler = Compiler(Path(__file__).parent)
compiled = _compiler.compiled
inlined = _compiler.inlined
allocating = _compiler.allocating
