"""Papers of other packages: the one of docs/adding_a_paper.md, installed outside the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.nodes import ROOT

PAGE = (ROOT / "docs" / "adding_a_paper.md").read_text(encoding="utf-8")
FILE = re.compile(r"`(mypaper/[\w/]+\.(?:py|yaml))`(?:(?!```|`mypaper/).)*?```\w+\n(.*?)```", re.S)
ENTRY = re.compile(r'entry-points\."([\w.]+)"\]\n(.*?)\n\n', re.S)


def page_package(folder: Path) -> None:
    """The package of the page, as pip installs it."""
    files = dict(FILE.findall(PAGE))
    assert [Path(name).suffix for name in files] == [".yaml", ".yaml", ".yaml", ".py"]
    for name, text in {**files, "mypaper/__init__.py": ""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    ((group, entries),) = ENTRY.findall(PAGE)
    registered(folder, "mypaper", f"[{group}]\n{entries}\n".replace('"', ""))


def registered(folder: Path, name: str, entry_points: str) -> None:
    """What pip writes beside an installed package."""
    (about := folder / f"{name}-1.dist-info").mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(entry_points)


def reproduced(folder: Path, paper: str, out: Path, *words: str) -> pd.DataFrame:
    """The table of `gauntlet reproduce` where this folder's packages are installed."""
    here = (paper, "--out", str(out), *words, "launch=inline", "tracking=none")
    done = subprocess.run(
        (sys.executable, "-m", "gauntlet", "reproduce", *here),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return pd.read_csv(out / f"{paper}.csv").set_index("id")


def test_a_paper_of_another_package_is_found_and_reproduced(tmp_path: Path) -> None:
    page_package(tmp_path)
    out = tmp_path / "out"
    table = reproduced(tmp_path, "mypaper", out, "--deals", "20")
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


@pytest.mark.slow
def test_a_copy_of_a_paper_reproduces_under_another_name(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "gauntlet" / "papers" / "observer", tmp_path / "watchers")
    experiments = tmp_path / "watchers" / "conf" / "experiment"
    (experiments / "observer_table1.yaml").rename(experiments / "watchers_table1.yaml")
    for file in (tmp_path / "watchers").rglob("*.*"):
        if file.suffix in (".py", ".yaml"):
            text = file.read_text(encoding="utf-8").replace("gauntlet.papers.observer", "watchers")
            text = text.replace('paper("observer")', 'paper("watchers")')
            file.write_text(text.replace("observer_table1", "watchers_table1"), encoding="utf-8")
    registered(tmp_path, "watchers", "[gauntlet.packages]\nwatchers = watchers\n")
    words = ("--deals", "1", "--models", "fake")
    copy = reproduced(tmp_path, "watchers", tmp_path / "copy", *words)
    original = reproduced(tmp_path, "observer", tmp_path / "original", *words)
    assert len(copy) > 300
    pd.testing.assert_frame_equal(copy, original)
