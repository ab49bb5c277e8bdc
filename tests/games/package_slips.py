"""A game's package with a planted slip: what a lockstep test must catch."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType


def slipped_package(package: str, file: str, old: str, new: str) -> ModuleType:
    """The package, imported beside the true one, with a piece of the text of one of its files
    replaced. The piece stands there once."""
    name = f"{package}.{file}"
    true = find_spec(name)
    assert true is not None
    assert true.origin is not None
    text = Path(true.origin).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
    with _forgotten(package), _import_hook(_Slipped(name, true.origin, text.replace(old, new))):
        return importlib.import_module(package)


class _Slipped(SourceFileLoader):
    """A file whose text is given."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, loader: _Slipped) -> None:
        self.loader = loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.loader.name:
            return None
        return spec_from_file_location(fullname, self.loader.path, loader=self.loader)


@contextmanager
def _import_hook(loader: _Slipped) -> Iterator[None]:
    finder = _Finder(loader)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


@contextmanager
def _forgotten(package: str) -> Iterator[None]:
    """Within, the package is imported anew; afterwards all is as it was."""
    parent, _, name = package.rpartition(".")
    true = getattr(sys.modules.get(parent), name, None)
    kept = _pop(package)
    try:
        yield
    finally:
        _pop(package)
        sys.modules.update(kept)
        if true is not None:
            setattr(sys.modules[parent], name, true)


def _pop(package: str) -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    return {name: sys.modules.pop(name) for name in names}
