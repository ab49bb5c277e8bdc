"""Regenerate the command output in README.md, CONTRIBUTING.md, docs/**/*.md and papers' pages.

In Markdown it is enclosed by two comments, each on its own line:

    <!-- made by: python -m tests.test_layers -->
    what the command printed
    <!-- end -->

`python docs/figures.py` runs every such command in the project's root, with this Python, and puts
its output between the comments. Commands must be deterministic: no times, no speeds. One that takes
minutes is marked `made by (slow):` and runs only with --slow.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from gauntlet.common.disk import write_atomically
from gauntlet.common.errors import UserError, counted

ROOT = Path(__file__).parent.parent
START, END = "<!-- made by", "<!-- end -->"
HEAD = re.compile(rf"{START}( \(slow\))?: (python .+) -->")


@dataclass(frozen=True)
class Block:
    """A command's output in a file: lines `start` to `end` (exclusive) between the comments,
    from 0."""

    command: str
    slow: bool
    start: int
    end: int


def blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Every block in order. Raises UserError for a malformed comment, and for a block without an
    end."""
    starts = [number for number, line in enumerate(lines) if line.startswith(START)]
    for number, following in pairwise([*starts, len(lines)]):
        head = HEAD.fullmatch(lines[number])
        if head is None:
            raise UserError(f"line {number + 1}: after '{START}:' stands a command, python ...")
        if END not in lines[number:following]:
            raise UserError(f"line {number + 1}: no '{END}' ends this block")
        yield Block(head[2], bool(head[1]), number + 1, lines.index(END, number))


def rewritten(text: str, wanted: Callable[[Block], bool], run: Callable[[str], str]) -> str:
    """The text with `run`'s output for the command of every wanted block. Raises UserError."""
    lines = text.split("\n")
    for block in reversed([*blocks(lines)]):
        if wanted(block):
            lines[block.start : block.end] = run(block.command).strip("\n").splitlines()
    return "\n".join(lines)


def output(command: str) -> str:
    """The command's output. Raises UserError if it fails or prints nothing."""
    print(f"{command} ...", flush=True)
    began = time.monotonic()
    try:
        words = [sys.executable, *shlex.split(command)[1:]]
    except ValueError as error:
        raise UserError(f"{command}: {error}") from error
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        last = [done.stdout, *done.stderr.splitlines()][-1]
        raise UserError(f"{command} ended with status {done.returncode}: {last}")
    if not done.stdout.strip():
        raise UserError(f"{command} printed nothing")
    print(f"  {time.monotonic() - began:.0f} s", flush=True)
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0; 1 if --check found a difference; 2 if a block or command is wrong."""
    parser = argparse.ArgumentParser(
        prog="python docs/figures.py", description="The figures in the documents, made again."
    )
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="Markdown (default: all documents)")
    add("--check", action="store_true", help="write nothing, say what differs, end with 1")
    add("--only", default="", metavar="PART", help="of a file's path or of the command")
    add("--slow", action="store_true", help="those that take minutes too")
    given = parser.parse_args(arguments)
    run = cache(output)
    differ = failed = 0
    for file in given.files or documents():
        try:
            differ += not _same(file, given, run)
        except (UserError, OSError) as error:
            print(f"gauntlet: {file}: {error}", file=sys.stderr)
            failed += 1
    print(
        f"{counted(differ, 'file')} {'out of date' if given.check else 'written'}, {failed} failed"
    )
    return 2 if failed else int(given.check and differ > 0)


def documents() -> list[Path]:
    """Without those that `generated` makes."""
    top, docs = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ROOT / "docs"
    made = [docs / "_build", docs / "papers", docs / "reference"]
    written = [file for file in docs.rglob("*.md") if not any(map(file.is_relative_to, made))]
    return [*top, *sorted(written), *sorted((ROOT / "gauntlet" / "papers").glob("*/*.md"))]


def _same(file: Path, arguments: argparse.Namespace, run: Callable[[str], str]) -> bool:
    """Whether the file matches its commands' output; updates it unless --check."""

    def wanted(block: Block) -> bool:
        return (arguments.slow or not block.slow) and arguments.only in f"{file} {block.command}"

    before = file.read_text(encoding="utf-8")
    after = rewritten(before, wanted, run)
    if after == before:
        return True
    old, new = before.splitlines(), after.splitlines()
    print("\n".join(difflib.unified_diff(old, new, str(file), "made again", n=0, lineterm="")))
    if not arguments.check:
        write_atomically(file, after)
    return False


if __name__ == "__main__":
    sys.exit(main())
