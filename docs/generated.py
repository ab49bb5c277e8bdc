"""The reference pages generated from the project whenever the documents are built.

`write` creates `commands.md` (each command's --help), `configs.md` (every key of conf/config.yaml
and every choice of every group) and `api/*.md` (the docstrings of the modules that others build
on); `copy_papers` copies the pages that lie with a paper. None of them is in the repository.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

import gauntlet.__main__ as command
from gauntlet.common.conf_folders import CONF, conf_folders
from gauntlet.common.disk import write_atomically

ROOT = Path(__file__).parent.parent
PAPERS = ROOT / "gauntlet" / "papers"
WIDTH = "90"
"""Columns of the --help text; wider text would be cut off on a page."""

MODULES = {
    "games": ("games.base", "games.capabilities"),
    "agents": ("agents.base",),
    "models": ("models.base",),
    "records": ("pipeline.log.schema",),
    "stats": tuple(
        f"stats.{file.stem}"
        for file in sorted((ROOT / "gauntlet" / "stats").glob("*.py"))
        if file.stem[0] != "_"
    ),
}
"""The documented modules, by page."""

KEY = re.compile(r"^(?P<indent> *)(?P<key>\w+): *(?P<value>[^#]*?) *(?:# (?P<told>.*))?$")


def write(folder: Path) -> None:
    """Write all pages into this folder; unchanged ones are not touched."""
    pages = {"commands": commands(), "configs": configs()}
    pages |= {f"api/{name}": api(name, modules) for name, modules in MODULES.items()}
    for name, text in pages.items():
        _update(folder / f"{name}.md", text)


def copy_papers(folder: Path) -> None:
    """Copy every page of gauntlet/papers into this folder, and remove the others from it."""
    pages = {file.relative_to(PAPERS): file for file in PAPERS.glob("*/*.md")}
    for page, file in pages.items():
        _update(folder / page, file.read_text(encoding="utf-8"))
    for file in folder.glob("*/*.md"):
        if file.relative_to(folder) not in pages:
            file.unlink()


def _update(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        write_atomically(file, text)


def commands() -> str:
    """Every command of `gauntlet` with its --help."""
    lines = [
        "# Commands",
        "",
        "`gauntlet NAME ...` from any folder; in a checkout the module too. This is what `--help`",
        "says of each.",
    ]
    for name, (module, told) in command.COMMANDS.items():
        module = module.removesuffix(".__main__")
        lines += ["", f"## gauntlet {name}", "", f"`python -m {module}`: {told}."]
        lines += ["", "```text", help_of(name).rstrip(), "```"]
    return "\n".join([*lines, ""])


def help_of(name: str) -> str:
    said = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            command.main([name, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return said.getvalue()


def configs() -> str:
    """The keys of a run, and the choices in each group of conf/."""
    lines = [
        "# Configs",
        "",
        "`python -m pipeline.run GROUP=CHOICE KEY=VALUE ...`; several values, separated by commas,",
        "are a sweep. Made of the files in `conf/`.",
        "",
        "## Keys of a run",
        "",
        *_rows("key", "default", "what it is", rows=run_keys()),
    ]
    for group in sorted(folder.name for folder in CONF.iterdir() if folder.is_dir()):
        lines += [
            "",
            f"## {group}",
            "",
            *_rows("choice", "what it is", "keys", rows=choices(group)),
        ]
    return "\n".join([*lines, ""])


def run_keys() -> Iterator[tuple[str, str, str]]:
    """Key, default and comment of each run-level key of conf/config.yaml."""
    text = (CONF / "config.yaml").read_text(encoding="utf-8")
    under = ""
    for line in text.partition("  - override hydra/hydra_logging: null\n")[2].splitlines():
        found = KEY.match(line)
        if not found:
            continue
        if not found["indent"]:
            under = "" if found["value"] else f"{found['key']}."
        if found["indent"] or found["value"]:
            yield f"`{under}{found['key']}`", _code(found["value"]), found["told"] or ""
        else:
            yield f"`{found['key']}`", "", found["told"] or ""


def choices(group: str) -> Iterator[tuple[str, str, str]]:
    """Each file of a group: its name, its comment (or the summary of its class's docstring),
    and its keys with their defaults."""
    files = [file for folder in conf_folders() for file in (folder / group).glob("*.yaml")]
    for file in sorted(files, key=lambda file: file.stem):
        text = file.read_text(encoding="utf-8")
        values = yaml.safe_load(text) or {}
        name = values.get("_target_", "")
        what = _comment(text) or (_summary(name) if name else "")
        keys = [
            f"{key}={_short(value)}" for key, value in values.items() if _can_be_set(key, value)
        ]
        yield f"`{file.stem}`", what, ", ".join(map(_code, keys))


def api(name: str, modules: tuple[str, ...]) -> str:
    """A page of modules' docstrings, for autodoc to fill."""
    lines = [f"# {name}"]
    for module in modules:
        lines += [
            "",
            f"## {module}",
            "",
            "```{eval-rst}",
            f".. automodule:: gauntlet.{module}",
            "```",
        ]
    return "\n".join([*lines, ""])


def _summary(path: str) -> str:
    """The first paragraph of a class's docstring, parsed without importing; follows re-exports."""
    module, _, name = path.rpartition(".")
    base = ROOT.joinpath("gauntlet", *module.split("."))
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
        if isinstance(node, ast.ImportFrom) and name in {one.name for one in node.names}:
            return _summary(f"{node.module}.{name}")
    return ""


def _comment(text: str) -> str:
    """The first sentence of the leading comment of a file in conf/."""
    lines = [line for line in text.splitlines() if line != "# @package _global_"]
    opening = itertools.takewhile(lambda line: line.startswith("# "), lines)
    whole = " ".join(line[2:] for line in opening)
    return re.split(r"(?<=[.?:]) (?=[A-Z])", whole)[0]


def _can_be_set(key: str, value: object) -> bool:
    """Whether a key can be set from the command line: not a class, a mapping, or a list of them."""
    nested = value if isinstance(value, list) else [value]
    return key[0].isalpha() and key != "name" and not any(isinstance(one, dict) for one in nested)


def _short(value: object) -> str:
    text: str = yaml.safe_dump(value, default_flow_style=True, width=1000)
    return text.removesuffix("\n...\n").strip()


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _rows(*heads: str, rows: Iterator[tuple[str, str, str]]) -> list[str]:
    table = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return table + [
        "| " + " | ".join(one.replace("|", "\\|") for one in row) + " |" for row in rows
    ]
