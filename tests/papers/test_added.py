"""Papers of other packages: the one of docs/adding_a_paper.md, installed outside the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

from tests.nodes import ROOT

PAGE = (ROOT / "docs" / "adding_a_paper.md").read_text(encoding="utf-8")
FILE = re.compile(r"`(mypaper/[\w/]+\.(?:py|yaml))`(?:(?!```|`mypaper/).)*?```\w+\n(.*?)```", re.S)
ENTRY = re.compile(r'entry-points\."([\w.]+)"\]\n(.*?)\n\n', re.S)


def installed(folder: Path) -> None:
    """The package of the page, as pip installs it."""
    files = dict(FILE.findall(PAGE))
    assert [Path(name).suffix for name in files] == [".yaml", ".yaml", ".yaml", ".py"]
    for name, text in {**files, "mypaper/__init__.py": ""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    ((group, entries),) = ENTRY.findall(PAGE)
    (about := folder / "mypaper-1.dist-info").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mypaper\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{entries}\n".replace('"', ""))


def test_a_paper_of_another_package_is_found_and_reproduced(tmp_path: Path) -> None:
    installed(tmp_path)
    out = tmp_path / "out"
    words = ("--deals", "20", "--out", str(out), "launch=inline", "tracking=none")
    done = subprocess.run(
        (sys.executable, "-m", "gauntlet", "reproduce", "mypaper", *words),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path)))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(out / "mypaper.csv").set_index("id")
    assert table["published"].tolist() == [0.61, 0.91, 3.1, -2.0]
    assert table["n"].tolist() == [40, 40, 20, 20]
    for part, agents in (
        ("table1", {"first": "first", "minimax": "minimax"}),
        ("table2", {"tight": "rule[policy=tight]", "caller": "rule[policy=caller]"}),
    ):
        summary = pd.read_csv(out / part / "summary.csv").set_index("agent")
        for name, agent in agents.items():
            assert table.loc[f"mypaper.{part}.{name}", "ours"] == summary.loc[agent, "raw"]
    assert 40 * table.loc["mypaper.table1.first", "ours"] % 1 == 0, "wins, no shares of draws"
