"""Shared by the tests of the pages: runs to show, and a visitor without a browser."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from nicegui import Client
from nicegui.testing import User
from nicegui.testing.user_simulation import user_simulation

from gauntlet.pipeline import run
from gauntlet.pipeline.pages import runs
from gauntlet.pipeline.pages.site import register
from gauntlet.pipeline.tables.registry import Results, write_tables
from gauntlet.pipeline.tables.sweep import report
from gauntlet.pipeline.tables.sweep.report import write_report
from tests.pipeline.conftest import FAST
from tests.pipeline.logs import edited

SCRIPT = "<script>document.title='stolen'</script><img src=https://evil.example/x onerror=alert(1)>"
"""The beginning of the model's replies in the runs, before its answer."""
DEALS = 6
OWN = (f"deals={DEALS}", "game=tic_tac_toe", "prompt=cloze,direct")


def played(folder: Path, *overrides: str) -> None:
    """A run of tic-tac-toe with two prompting methods; replies of the writing one have SCRIPT."""
    chosen = {word.partition("=")[0]: word for word in (*FAST, *OWN, *overrides)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["run", *chosen.values(), f"output_dir={folder}"])
        patch.setattr(report, "drawings", lambda *_: {})
        patch.chdir(folder.parent)
        assert run.main() == 0
        for file in (folder / "records").iterdir():
            edited(file, with_script)
        results = Results.load(folder)
        write_tables(results)
        write_report(results)


def with_script(record: dict[str, Any]) -> dict[str, Any]:
    """Every reply begins with SCRIPT, and those to a match's first prompt are unreadable."""
    written = [made for made in record["decisions"] if any("text" in one for one in made["asked"])]
    for asked in (one for made in written for one in made["asked"]):
        asked["text"] = SCRIPT + asked["text"]
    for made in written[:1]:
        unread = ["malformed"] * len(made["asked"])
        made |= {"status": "malformed", "fallback": True, "notes": {"answers": unread}}
    return record


def several(outputs: Path) -> Path:
    """Fill a directory with the runs `whole`, `torn`, `broken` and `counted`, and return it."""
    played(outputs / "whole")
    damage(outputs / "whole", outputs)
    return outputs


def damage(source: Path, outputs: Path) -> None:
    """Next to the run: a copy with one unreadable line, `torn`, one without a readable description
    of its cells, `broken`, and its table alone, `counted`."""
    (outputs / "counted").mkdir()
    shutil.copy(source / "summary.csv", outputs / "counted")
    for name in ("torn", "broken"):
        shutil.copytree(source, outputs / name)
        (outputs / name / "summary.csv").unlink()
    records = sorted((outputs / "torn" / "records").iterdir())[0]
    lines = records.read_bytes().splitlines(keepends=True)
    lines.sort(key=lambda line: json.loads(line)["deal"])  # they came as they were finished
    records.write_bytes(b"".join([*lines[:-1], lines[-1].replace(b"1", b"2")]))
    for file in (outputs / "broken" / "cells").iterdir():
        file.write_text("not a cell")


def visit(outputs: Path, act: Callable[[User], Awaitable[None]]) -> None:
    """Let a simulated visitor view the pages over `outputs`."""

    async def go() -> None:
        async with user_simulation(root=lambda: None) as user:
            register(outputs)
            try:
                await act(user)
            finally:
                Client.page_routes.clear()  # else NiceGUI drops the modules that hold our pages

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "EVERY", 0.2)  # what a page read on shows at its next look
        patch.setattr(gc, "collect", lambda: 0)  # NiceGUI's simulation would do so twice, at length
        asyncio.run(go())
