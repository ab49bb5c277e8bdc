"""The pages on adding games and the rest, followed step by step in a copy of the project."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.pipeline.packed import html_of, unpacked

ROOT = Path(__file__).parent.parent
PARTS = ("gauntlet", "tests")
LINKS = ("agents", "conf", "games", "pipeline", "stats")
BLOCK = re.compile(
    r"`((?:games|agents|conf|tests)/[\w/]+\.(?:py|yaml))`"
    r"(?:(?!```|`games/|`agents/|`conf/|`tests/).)*?```\w+\n(.*?)```",
    re.DOTALL,
)
"""A file's name in the text, and the code block that follows it."""


def blocks() -> list[tuple[str, str]]:
    """Every file that the pages on games, and on the rest, tell their reader to write."""
    pages = ("adding_a_game.md", "extending.md")
    return [block for page in pages for block in BLOCK.findall((ROOT / "docs" / page).read_text())]


SEATS = {"nim": "solo", "high_card": "one_of_four", "haggle": "solo"}
"""The pages' games, and the players."""

MEGABYTES = 560
"""Megabytes of memory that checking one new game may use."""

DEALS = 3
PLAYED = ("model=fake", "launch=inline", "tracking=none")


UNUSED = shutil.ignore_patterns("*.pyc.*", "*.tmp.*")
"""Files not copied. What is compiled is: it is as valid in the copy as here."""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, with less search, and with every file that the pages write."""
    copy = tmp_path_factory.mktemp("project")
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=UNUSED)
    for link in LINKS:
        shutil.copy(ROOT / link, copy, follow_symlinks=False)
    shutil.copy(ROOT / "pyproject.toml", copy)
    search = copy / "conf" / "agent" / "search.yaml"
    search.write_text(search.read_text().replace("playouts: 100", "playouts: 5"))
    written = blocks()
    assert len(written) == 13, [name for name, _ in written]
    for name, text in written:
        assert not (copy / name).exists(), f"{name} is there already"
        (copy / name).write_text(text)
    return copy


def go(copy: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def records(folder: Path) -> list[dict[str, Any]]:
    files = sorted((folder / "records").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


PLAY_ALL = """
import json, sys
from pathlib import Path
from gauntlet.pipeline import metrics, replay, run
from gauntlet.pipeline.plan import baseline
from gauntlet.pipeline.tables.sweep import report
baseline.ERROR = 0.05  # many times fewer games
report.drawings = metrics.metric_figures = lambda *_: {}
for orders in sys.stdin.read().splitlines():
    sys.argv = ["pipeline.run", "-m", *orders.split()]
    folder = sys.argv[-1].removeprefix("output_dir=")
    try:
        status = run.main()
    except SystemExit as end:
        status = end.code
    if not status and "/all_" in folder:
        status = metrics.main([folder, "--playouts", "10", "--threads", "1"])
        with next(Path(folder, "records").glob("*.jsonl")).open() as records:
            match = json.loads(next(records))["match"]
        replay.main([match, "--in", folder, "--page", f"{folder}/metrics/{match}.html"])
    print("STATUS", folder, status or 0)
"""
"""Program that runs the sweeps, and judges and replays those of all games, in one process and
without figures: most of their time would be loading and drawing."""
OWN = (
    f"game=nim prompt=once,cloze,counterfactual {' '.join(PLAYED)} deals=10 output_dir=outputs/nim",
    f"game=nim agent=minimax {' '.join(PLAYED)} deals=40 output_dir=outputs/search",
    f"{' '.join(PLAYED)} deals=4 experiment=mine",
)
"""Sweeps of the page's own method, of a search player, and of its experiment under its own name."""


@pytest.fixture(scope="module")
def played(extended: Path) -> str:
    """Run every game with random, search and a model, every deal in all seats; then judge. Returns
    the output."""
    orders = (
        f"game={game} seats={seats} agent=random,search,llm prompt=vanilla "
        f"rotate=true deals={DEALS} {' '.join(PLAYED)} output_dir=outputs/all_{game}"
        for game, seats in SEATS.items()
    )
    done = subprocess.run(
        [sys.executable, "-c", PLAY_ALL],
        cwd=extended,
        input="\n".join((*orders, *OWN)),
        capture_output=True,
        text=True,
        timeout=900,
    )
    return done.stdout + done.stderr


def test_a_new_game_and_a_new_method_play(extended: Path, played: str) -> None:
    assert "STATUS outputs/nim 0" in played, played
    table = pd.read_csv(extended / "outputs" / "nim" / "summary.csv")
    assert list(table["prompt"]) == ["once", "cloze", "counterfactual"]
    assert set(table["matches"]) == {10}


def test_a_new_drawing_is_in_the_replay(extended: Path, played: str) -> None:
    (page,) = (extended / "outputs" / "all_high_card" / "metrics").glob("*.html")
    assert "stock" in played
    shown = html_of(unpacked(page.read_text()), page.stem)
    assert 'role="group" aria-label="the table of High Card"' in "".join(shown)


def test_luck_is_taken_out_of_a_new_game(extended: Path, played: str) -> None:
    table = pd.read_csv(extended / "outputs" / "all_high_card" / "luck.csv")
    assert table["reference"].tolist()[1:] == ["chance", "chance"]


def test_a_new_test_passes_and_the_code_is_formatted(extended: Path) -> None:
    go(extended, "-m", "pytest", "--noconftest", "tests/games/test_high_card.py")
    code = [name for name, _ in blocks() if name.endswith(".py")]
    go(extended, "-m", "ruff", "check", "--no-cache", *code)
    go(extended, "-m", "ruff", "format", "--no-cache", "--check", *code)


def test_search_players_take_a_new_game_in(extended: Path, played: str) -> None:
    assert pd.read_csv(extended / "outputs" / "search" / "summary.csv")["raw"][0] > 0.9


@pytest.mark.parametrize("game", SEATS)
def test_a_new_game_is_played_compared_and_judged(extended: Path, played: str, game: str) -> None:
    """Against a measured baseline, and decision by decision."""
    folder = f"outputs/all_{game}"
    assert f"STATUS {folder} 0" in played, played
    table = pd.read_csv(extended / folder / "summary.csv")
    assert list(table["agent"]) == ["random", "search", "llm"]
    assert table["failed"].sum() == 0
    assert table["baseline"].notna().all()
    assert (extended / folder / "metrics" / "decisions.jsonl").read_text()


def test_words_are_in_the_log(extended: Path, played: str) -> None:
    """Scripted players say examples, the fake model says "well"."""
    said = {
        decision["text"]
        for record in records(extended / "outputs" / "all_haggle")
        for decision in record["decisions"]
        if decision.get("text")
    }
    assert said == {"This is a fair price.", "I cannot do better than this.", "well"}


def test_scores_are_in_the_log(extended: Path, played: str) -> None:
    """Every gain is in its range, and there are gains."""
    gains = [
        gain
        for record in records(extended / "outputs" / "all_haggle")
        for gain in record["measures"]["gain"]
    ]
    assert any(gains)
    assert max(map(abs, gains)) <= 9


def test_a_new_experiment_is_its_name(extended: Path, played: str) -> None:
    table = pd.read_csv(extended / "outputs" / "mine" / "summary.csv")
    assert list(table["game"]) == ["tic_tac_toe", "tic_tac_toe"]


CONFORMANCE = """
import os, resource, sys

os.environ["PYTEST_ADDOPTS"] = "-rp"  # names what passed
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("choix", "openai", "openskill", "phevaluator", "rlcard"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from tests.games.__main__ import main
status = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
status_file = open("/proc/self/status").read()  # ru_maxrss would count whoever started this
peak = status_file.partition("VmHWM:")[2].split()[0]
print(used.ru_utime + used.ru_stime, peak)
sys.exit(status)
"""


MY_GAMES = """
from dataclasses import dataclass

from gauntlet.games.nim import Nim


@dataclass(frozen=True)
class Heap(Nim):
    heap: int = 5
"""


def test_the_conformance_suite_takes_new_games_in(
    extended: Path, figure: Callable[[str], None]
) -> None:
    """All conformance tests of these games, together in no more memory than one may take, and
    without the packages that further tests need; one game is in a package of its own."""
    (extended / "mygames.py").write_text(MY_GAMES)
    (extended / "myconf" / "game").mkdir(parents=True)
    (extended / "myconf" / "game" / "my_heap.yaml").write_text("_target_: mygames.Heap\nheap: 5\n")
    mine = ("my_heap", "--config-dir", "myconf", "packages=[mygames]")
    said = go(extended, "-c", CONFORMANCE, *SEATS, *mine)
    seconds, kilobytes = map(float, said.split()[-2:])
    figure(f"conformance of {len(SEATS) + 1} games: {seconds:.1f} s, {kilobytes / 1024:.0f} MB")
    for game in (*SEATS, "my_heap"):
        assert re.search(rf"PASSED .*\[{game}-", said), said
    assert kilobytes / 1024 < MEGABYTES


@pytest.mark.slow
def test_the_other_suites_take_new_games_and_a_new_method_in(extended: Path) -> None:
    pairs = [f"llm-once-{game} or search-{game}" for game in SEATS]
    said = go(
        extended,
        *("-m", "pytest", "tests/agents/test_conformance.py", "tests/games/test_golden.py"),
        *("-k", " or ".join((*pairs, "golden")), "-p", "no:cacheprovider"),
    )
    assert "passed" in said
