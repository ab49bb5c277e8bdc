"""Every command shown in the documentation, and whether the project accepts it.

These are the commands in code that begin with `make ...`, `gauntlet ...`, `python -m ...` or
`python FILE ...`, possibly after settings. `taken` composes the command, or lets its parser read
it, without running it.
"""

from __future__ import annotations

import argparse
import importlib
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from docs.figures import documents
from gauntlet.__main__ import COMMANDS
from gauntlet.common.conf_folders import CONF, conf_folders
from gauntlet.pipeline.config.compose import compose

ROOT = Path(__file__).parent.parent
DOCUMENTS = tuple(documents())
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
MADE_BY = re.compile(r"<!-- made by(?: \(slow\))?: (.+?) -->")
TYPED = re.compile(
    r"(?:\w+=\S+ )*(?:make [a-z]|gauntlet [a-z]|(?:\.venv/bin/)?python (?:-m \w|[\w/]+\.py))"
)
FILE_IN_TEXT = re.compile(r"`(conf/[\w/]+\.yaml)`(?:(?!`conf/).)*?```yaml\n(.*?)```", re.DOTALL)
"""A config that a page tells its reader to write, and its contents."""


@dataclass(frozen=True)
class Command:
    """words: as split by a shell, without environment settings."""

    text: str
    where: str
    words: tuple[str, ...]

    @property
    def module(self) -> str:
        """The module of `python -m`; "" for make."""
        first, *rest = self.words
        if first == "make":
            return ""
        if first == "gauntlet":
            name = COMMANDS[rest[0]][0] if rest[0] in COMMANDS else "__main__"
            return name if name.startswith("pipeline.") else f"gauntlet.{name}"
        return rest[1] if rest[0] == "-m" else rest[0].removesuffix(".py").replace("/", ".")

    @property
    def arguments(self) -> list[str]:
        """The module's arguments."""
        known = self.words[0] == "gauntlet" and self.words[1] in COMMANDS
        past = 1 if self.words[0] in ("make", "gauntlet") else 2 if self.words[1] != "-m" else 3
        return list(self.words[past + known :])


def all_commands() -> list[Command]:
    """Every command of the documents, once, with the page that shows it first."""
    found: dict[tuple[str, ...], Command] = {}
    for file in DOCUMENTS:
        for text in typed(file.read_text(encoding="utf-8")):
            words = split(text)
            if words and "mypaper" not in text:  # `tests.papers.test_added` installs that one
                command = Command(" ".join(words), str(file.relative_to(ROOT)), words)
                found.setdefault(words, command)
    return list(found.values())


def typed(page: str) -> Iterator[str]:
    """Yield the parts of a page that start like a command, in blocks, in the text and in comments
    with a command."""
    for language, block in FENCE.findall(page):
        if language in ("", "bash", "sh", "console"):
            lines = block.replace("\\\n", " ").splitlines()
            yield from (line.strip().removeprefix("$ ") for line in lines)
    rest = FENCE.sub("", page)
    yield from MADE_BY.findall(rest)
    yield from (" ".join(code.split()) for code in INLINE.findall(rest))


def split(text: str) -> tuple[str, ...]:
    """Return the words of a command; () if the text is none."""
    if not TYPED.match(text):
        return ()
    words = shlex.split(text, comments=True)
    while "=" in words[0]:
        del words[0]
    return ("python" if words[0].endswith("python") else words[0], *words[1:])


def written(folder: Path) -> Path:
    """Write the configs that pages tell their readers to write; return this --config-dir."""
    for page in DOCUMENTS:
        for name, text in FILE_IN_TEXT.findall(page.read_text(encoding="utf-8")):
            file = folder / Path(name).relative_to("conf")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return folder


class Parsed(Exception):
    """A command's parser took its words."""


def taken(command: Command, configs: Path | None = None) -> None:
    """Raises AssertionError or SystemExit for a command that would be refused as typed.

    configs: if given, sweeps are really composed, by Hydra; if not, which is fast, only their
    choices are looked up.
    """
    if command.words[0] == "make":
        return check_make(command.words[1:])
    assert find_spec(command.module), f"there is no {command.module}"
    if command.module == "pytest":
        return tested(command.arguments)
    if not command.arguments:  # only mentioned: its arguments are given in the text
        return None
    module = inner(command.module)
    rest = command.arguments
    if module != "pipeline.run":
        assert "argparse" in source(module), "it takes no arguments"
        rest = parsed(module, command.arguments)
    if module in SWEEPS and "--help" not in rest:
        words = [word for word in rest if not PLACEHOLDER.fullmatch(word)]
        composed(words, configs) if configs else chosen(words)
    return None


SWEEPS = ("pipeline.run", "pipeline.plan.__main__", "docs.sweep")
"""Modules that take a sweep's arguments."""
PLACEHOLDER = re.compile(r"\w+=[A-Z]+|-m")
"""`model=NAME`, where a reader puts a choice."""


def inner(module: str) -> str:
    """The module that `python -m` runs: of a package its __main__."""
    found = find_spec(module)
    return f"{module}.__main__" if found and found.submodule_search_locations else module


def source(module: str) -> str:
    found = find_spec(module)
    assert found, f"there is no {module}"
    return Path(found.origin or "").read_text(encoding="utf-8")


def chosen(words: Sequence[str]) -> None:
    """Every choice has its file, and every key is one of a run or of a group."""
    keys = set(yaml.safe_load((CONF / "config.yaml").read_text())) | {"name"}
    pages = {name for page in DOCUMENTS for name, _ in FILE_IN_TEXT.findall(page.read_text())}
    for word in words:
        key, is_key, values = word.partition("=")
        first = key.lstrip("+~").partition(".")[0]
        if not is_key or key.startswith("-"):
            continue
        assert first in keys or (CONF / first).is_dir(), f"a run has no key {first}"
        if "." in key or not (CONF / key).is_dir():
            continue
        for value in values.split(","):
            files = [folder / key / f"{value}.yaml" for folder in conf_folders()]
            there = any(file.exists() for file in files) or f"conf/{key}/{value}.yaml" in pages
            assert there, f"{key} has no choice {value}"


def check_make(words: Sequence[str]) -> None:
    """A target of the Makefile, and variables that it knows."""
    makefile = (ROOT / "Makefile").read_text()
    for word in words:
        name, is_variable, _ = word.partition("=")
        wanted = rf"^{name} \?=" if is_variable else rf"^{name}:"
        known = re.search(wanted, makefile, re.MULTILINE) or f"$({name})" in makefile
        assert known, f"the Makefile knows no {name}"


def tested(words: Sequence[str]) -> None:
    """Files of tests that are there."""
    for word in words:
        if word.startswith("tests"):
            assert (ROOT / word).exists(), f"there is no {word}"


def composed(words: Sequence[str], configs: Path) -> None:
    """Compose a sweep of at least one cell, with the pages' configs in addition to ours."""
    own = [] if "--config-dir" in words else ["--config-dir", str(configs)]
    status = compose([*own, *words], lambda cells, _: 0 if cells else 1)
    assert status == 0, "it cannot be composed"


def parsed(module: str, words: Sequence[str]) -> list[str]:
    """The arguments that the command's own parser does not consume; exits with 2 if it refuses."""
    with stopped_after_parsing() as left:
        main = importlib.import_module(module).main
        before, sys.argv = sys.argv, [module, *words]
        try:
            main()
        except Parsed:
            return left
        finally:
            sys.argv = before
    raise AssertionError("it ran without reading its words")


@contextmanager
def stopped_after_parsing() -> Iterator[list[str]]:
    """Parsing inside this context stops there: Parsed is raised. Arguments that a parser does not
    know and passes on are in the list."""
    names = ("parse_args", "parse_intermixed_args", "parse_known_args")
    before = {name: getattr(argparse.ArgumentParser, name) for name in names}
    left: list[str] = []

    def stopping(name: str) -> Any:
        def parse(self: Any, words: Any = None, namespace: Any = None) -> Any:
            for each, original in before.items():
                setattr(argparse.ArgumentParser, each, original)
            found = before[name](self, words, namespace)
            left.extend(found[1] if isinstance(found, tuple) else getattr(found, "words", []))
            raise Parsed

        return parse

    for name in names:
        setattr(argparse.ArgumentParser, name, stopping(name))
    try:
        yield left
    finally:
        for name, original in before.items():
            setattr(argparse.ArgumentParser, name, original)
