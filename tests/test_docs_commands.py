"""Every command in the documentation is accepted by the project, and those that a laptop can run
offline in seconds are run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, SWEEPS, Command, all_commands, inner, split, taken, typed, written

SHOWN = all_commands()
EVERY = pytest.mark.parametrize("command", SHOWN, ids=[command.text for command in SHOWN])

NOT_RUN = {
    r"^make": "sets up an environment of its own; the commands behind it stand here too",
    r"model(\.name|\.path)?=[^ ]*(llama|mistral|smollm|gemma|hf|NAME|FOLDER|FILE)": "weights",
    r"model=[^ ]*(gpt|openai|claude)": "an API",
    r"gauntlet join|tests.real.fetch": "downloads, or plays the league",
    r"experiment=(league|evergreen)|smollm2_135m/": "minutes to hours; weights",
    r"--pilot|--player": "asks for more deals, or for a player, than the small sweep has",
    r"prompt=rap|talaga|gamebench_round_robin|robust": "minutes of one core or more",
    r"experiment=play|agent=human": "asks a person",
    r"launch=slurm": "asks SLURM",
    r"packages=|game=(nim|wrapped|high_card|haggle)|experiment=mine|--config-dir": "of the reader",
    r"-m (training|benchmarks|tests)|benchmarks/|docs/|pytest|papers": "minutes to hours",
    r"pipeline.(pages|ui)|gauntlet (pages|ui)": "serves until it is ended",
    r"--help|--watch|--hardware|MATCHES": "waits, computes, or wants a file from elsewhere",
    r"pipeline.place": "writes to its own folder; played in tests/pipeline/test_place.py",
    r"pipeline.exploit": "minutes; played in tests/pipeline/test_exploit.py",
    r"game=(openspiel|textarena|pettingzoo)": "played in the tests of these games",
}
"""Commands that are only composed or parsed, and why."""

SMALL = ("model=fake", "deals=2", "samples=1", "controls=[]", "launch=inline", "tracking=none")
"""Further arguments of each sweep, besides its output folder."""


def reason(command: Command) -> str:
    """Why a command is not run; "" where it is."""
    return next((why for what, why in NOT_RUN.items() if re.search(what, command.text)), "")


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("conf"))


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep, and next to it one with other cells on the same deals."""
    folder = tmp_path_factory.mktemp("sweep")
    for place, prompts in ((folder, "cloze,counterfactual"), (other(folder), "pride")):
        run("pipeline.run", [*SMALL, "deals=5", f"prompt={prompts}", f"output_dir={place}"])
    return folder


def other(folder: Path) -> Path:
    return folder.with_name("other")


def run(module: str, words: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module.removesuffix(".__main__"), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@EVERY
def test_a_command_is_taken(command: Command) -> None:
    try:
        taken(command)
    except SystemExit as end:
        if "is not installed" in str(end):
            pytest.skip(str(end))
        raise


@pytest.mark.slow
@EVERY
def test_a_sweep_is_composed(command: Command, configs: Path) -> None:
    if command.words[0] != "make" and inner(command.module) in SWEEPS:
        taken(command, configs)


@pytest.mark.slow
@EVERY
def test_a_command_runs(command: Command, sweep: Path, tmp_path: Path) -> None:
    """As written, with fewer deals and a temporary folder."""
    why = reason(command)
    if why or not command.arguments:
        pytest.skip(why or "only named")
    if inner(command.module) == "pipeline.run":
        words = [word for word in command.arguments if not word.startswith("output_dir=")]
        run(command.module, [*words, *SMALL, f"output_dir={tmp_path}"])
        assert list(tmp_path.glob("*.csv"))
    else:
        words = [fill_placeholder(word, sweep, tmp_path) for word in command.arguments]
        if inner(command.module) == "pipeline.compare":
            words[:2] = [str(sweep), str(other(sweep))]
        where = ["--in", str(sweep)] if "replay" in command.module else []
        run(command.module, [*words, *where])


def fill_placeholder(word: str, sweep: Path, free: Path) -> str:
    """Replace a placeholder, or an example folder, by an existing one."""
    if word in ("DIR", "DIR...") or word.startswith("outputs/"):
        return str(sweep)
    if word == "MATCH":
        record = next((sweep / "records").glob("*.jsonl")).read_text()
        return re.findall(r'"match": ?"(\w+)"', record)[0]
    return str(free / word) if word in ("FILE", "F", "PATH", "SITE") else word


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("`python -m pipeline.rum game=uno`", "there is no pipeline.rum"),
        ("`python -m pipeline.run gane=uno`", "a run has no key gane"),
        ("`python -m pipeline.run game=uno,chess2`", "game has no choice chess2"),
        ("```\npython -m pipeline.run \\\n    model=pokcet # small\n```", "model has no choice"),
        ("`make runn`", "the Makefile knows no runn"),
        ("`make reproduce PAPR=audit`", "the Makefile knows no PAPR"),
        ("`gauntlet statsu DIR`", "it takes no arguments"),
        ("`python -m pipeline.report DIR --papr`", "2"),
        ("`python -m pytest tests/test_none.py`", "there is no tests/test_none.py"),
    ],
)
def test_a_slip_is_found(page: str, message: str) -> None:
    (text,) = typed(page)
    with pytest.raises((AssertionError, SystemExit), match=message):
        taken(Command(text, "", split(text)))


def test_commands_are_found_wherever_they_stand() -> None:
    page = (
        "Text `make run`, and `python -m\npipeline.plan --hardware 8xH100`, not `make`.\n"
        "```\n$ python docs/figures.py --only x  # why\nprinted\n```\n"
        "<!-- made by (slow): python docs/sweep.py deals=5 -->\n```python\nmake = 1\n```\n"
        "`KEY=... .venv/bin/python -m pipeline.run`"
    )
    assert sorted(" ".join(split(text)) for text in typed(page) if split(text)) == [
        "make run",
        "python -m pipeline.plan --hardware 8xH100",
        "python -m pipeline.run",
        "python docs/figures.py --only x",
        "python docs/sweep.py deals=5",
    ]
