"""What a config, a checkpoint, a reply or a folder's name could try, and what becomes of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gauntlet.common.errors import ModelError, UserError
from gauntlet.common.terminal import console
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.pipeline import compare, export, metrics, replay, report, status, track, verify
from gauntlet.pipeline.config.nodes import build
from gauntlet.pipeline.library import Library
from gauntlet.pipeline.publish import __main__ as publish
from gauntlet.pipeline.tables.media.page import match_page
from gauntlet.pipeline.viewer.match import Answer, DecisionView, MatchView, Ply, PromptView
from gauntlet.pipeline.viewer.terminal import show
from tests.nodes import ROOT
from tests.pipeline import stores
from tests.pipeline.conftest import FAST, Capsys, Refusal, Sweep
from tests.pipeline.packed import html_of, unpacked

EVIL = "<script>alert(1)</script>"


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("os.system", "it must lie in gauntlet.agents, gauntlet.games, gauntlet.models"),
        ("builtins.eval", "it must lie in"),
        ("subprocess.Popen", "it must lie in"),
        ("pipeline.log.records.Log", "it must lie in"),
        ("modelsx.fake.Fake", "it must lie in"),
        ("eval", "it must lie in"),
        (None, "it must lie in"),
        ("models.engine.files.hashlib.sha256", "cannot be loaded"),
        ("models.engine.files.content_hash", "is not a dataclass"),
        ("models.base.Model", "is not a dataclass"),
        ("agents.llm.dataclass", "is not a dataclass"),
    ],
)
def test_only_own_dataclasses_are_built(target: str | None, why: str) -> None:
    with pytest.raises(UserError, match=re.escape(why)) as refused:
        build({"_target_": target, "command": "true"}, "model", ())
    assert "\n" not in str(refused.value)


def test_a_refused_package_is_named_with_those_that_are_allowed() -> None:
    with pytest.raises(UserError) as refused:
        build({"_target_": "mine.nim.Nim"}, "game", ("ours",))
    assert {"packages=[ours,mine]", "GAUNTLET_PACKAGES=ours,mine"} <= {*str(refused.value).split()}


def test_what_is_only_imported_somewhere_is_not_named_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import argparse
    import dataclasses

    from gauntlet.models import fake

    foreign = dataclasses.make_dataclass("Foreign", [])
    foreign.__module__ = argparse.__name__
    monkeypatch.setattr(fake, "Foreign", foreign, raising=False)
    with pytest.raises(UserError, match="is only imported there"):
        build({"_target_": "models.fake.Foreign"}, "model", ())


CALLS = {
    "hydra: {callbacks: {x: {_target_: pathlib.Path.mkdir, _args_: [DIR]}}}": "_global_",
    "hydra: {job_logging: {handlers: {x: {class: logging.FileHandler, a: DIR}}}}": "_global_",
    "x: {_target_: pathlib.Path.mkdir, _args_: [DIR]}": "hydra.callbacks",
}


@pytest.mark.parametrize(("text", "package"), CALLS.items())
def test_hydra_calls_nothing_that_a_config_names(
    sweep: Sweep, folder: Path, refusal: Refusal, text: str, package: str
) -> None:
    made, file = folder.parent / "made", folder.parent / "conf" / "experiment" / "x.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"# @package {package}\n{text.replace('DIR', str(made))}\n")
    assert f"{file}: Hydra's own settings are not for a run" in refusal(
        sweep("--config-dir", str(file.parent.parent), "experiment=x")
    )
    assert not made.exists()
    assert not folder.exists()


def test_values_are_text_not_expressions(sweep: Sweep, refusal: Refusal) -> None:
    assert "__import__" in refusal(sweep("deals='__import__(\"os\").getpid()'"))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A copy of the shipped model, with a module next to it that leaves a mark if it is run."""
    copy = tmp_path / "checkpoint"
    shutil.copytree(ROOT / "gauntlet" / "models" / "pocket" / "weights", copy)
    mark = f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n"
    (copy / "evil.py").write_text(mark + "class Evil: pass\n")
    return copy


def edit(file: Path, **entries: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **entries}))


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def own_network(folder: Path) -> None:
    code = {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "evil.Evil"}
    edit(folder / "config.json", model_type="evil", auto_map=code)


def own_tokenizer(folder: Path) -> None:
    code = {"AutoTokenizer": ["evil.Evil", None]}
    edit(folder / "tokenizer_config.json", tokenizer_class="Evil", auto_map=code)


@pytest.mark.parametrize(
    ("trick", "why"),
    [
        (pickled, "only safetensors are loaded"),
        (own_network, "code of its own"),
        (own_tokenizer, "code of its own"),
    ],
)
def test_a_checkpoint_runs_no_code(
    checkpoint: Path, trick: Callable[[Path], None], why: str
) -> None:
    trick(checkpoint)
    with pytest.raises(ModelError, match=why) as refused:
        Checkpoint(str(checkpoint)).identity()
    assert "\n" not in str(refused.value)
    assert not (checkpoint.parent / "ran").exists()


def test_code_that_is_not_needed_is_not_run(checkpoint: Path) -> None:
    """Many checkpoints of known architectures come with code for old libraries."""
    edit(checkpoint / "config.json", auto_map={"AutoModelForCausalLM": "evil.Evil"})
    Checkpoint(str(checkpoint)).load().close()
    assert not (checkpoint.parent / "ran").exists()


def test_the_report_shows_names_as_text(sweep: Sweep, tmp_path: Path, capsys: Capsys) -> None:
    name = "<script>alert('[bold]&"
    shutil.copytree(ROOT / "gauntlet" / "models" / "pocket" / "weights", tmp_path / name)
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    path = str(tmp_path / name).replace("'", "\\'")
    assert sweep("model=hf", f"model.path='{path}'", "model.dtype=float32", "deals=2",
                 f"output_dir='{folder}'") == 0  # fmt: skip
    text = (folder / "report.html").read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(" in text
    assert "[bold]" in capsys.readouterr().out, "brackets are no markup"


def evil_match() -> MatchView:
    made = DecisionView(
        seat=0,
        player=EVIL,
        prompts=(PromptView(EVIL, (Answer(EVIL, 0.5, 0),), EVIL, EVIL), PromptView(EVIL)),
        options=(EVIL, "[red]\x1b]0;title\x07"),
        scores=(0.1, None),
        chosen=0,
        status=EVIL,
        fallback=True,
        words=EVIL,
        notes={EVIL: EVIL},
    )
    game = TicTacToe()
    state = game.deal(np.random.default_rng(0))
    players, plies = (EVIL, EVIL), (Ply(0, state, EVIL, (made,)),)
    return MatchView(EVIL, game, EVIL, 0, 0, players, (0,), plies, state, EVIL, (1.0, -1.0))


def test_a_replay_shows_replies_as_text(capsys: Capsys) -> None:
    whole = match_page(evil_match())
    assert "<script>alert" not in whole
    text = "".join(html_of(unpacked(whole), EVIL))
    assert not re.search(r"<script|<[^>]*\s(src|href|on\w+)=", text)
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") > 10
    show(evil_match(), console(markup=True), prompts=True)
    said = capsys.readouterr().out
    assert "[red]" in said
    assert "\x1b" not in said
    assert "\x07" not in said


def test_templates_escape_all_but_our_own_drawings() -> None:
    for template in (ROOT / "gauntlet" / "pipeline").rglob("*.j2"):
        unescaped = re.findall(r"\{\{[^}]*\|\s*safe[^}]*\}\}", template.read_text())
        assert unescaped in ([], ["{{ drawing.html(name)|safe }}"]), template


def test_nothing_in_the_project_listens_everywhere() -> None:
    for file in (ROOT / "gauntlet").rglob("*"):
        if file.suffix in (".py", ".yaml", ".sh"):
            assert "0.0.0.0" not in file.read_text(), file


def test_no_command_goes_through_a_shell() -> None:
    """Nor is anything unpickled, except the plan that a driver packs for its own Ray workers."""
    call = re.compile(r"shell=True|os\.system\(|os\.popen\(|\beval\(|(?<![\w.])exec\(|pickle\.load")
    own = ROOT / "gauntlet" / "pipeline" / "launch" / "cluster.py"
    for package in ("agents", "games", "models", "pipeline", "stats"):
        for file in (ROOT / "gauntlet" / package).rglob("*.py"):
            found = [m for m in call.findall(file.read_text()) if m != "eval("]
            lone = re.findall(r"(?<![\w.])eval\(", file.read_text())
            assert found + lone == ["pickle.load"] * (file == own), (file, found, lone)


# --- escapes


NAME = "out\x1b[2J\x1b]0;title\x07\u202e"


def test_a_name_that_a_terminal_would_obey_is_shown_by_its_numbers(
    sweep: Sweep, tmp_path: Path, capsys: Capsys
) -> None:
    folder = tmp_path / NAME
    assert sweep(f"output_dir='{folder}'", "deals=2") == 0
    missing = [str(tmp_path / f"{NAME}-2")]
    for command in (report, verify, status, export, track, metrics, replay, compare):
        given = [str(folder)] * (1 + (command is compare))
        if command is not track:
            command.main(given)
        command.main(missing * len(given))
    said = "".join(capsys.readouterr())
    assert said.count(r"out\x1b[2J\x1b]0;title\x07\u202e") > 10
    assert not [line for line in said.splitlines() if {"\x1b", "\x07", "\u202e"} & set(line)]


@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_a_name_that_is_no_utf_8_ends_nothing(
    sweep: Sweep, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, site = tmp_path / "runs", tmp_path / "site"
    folder = runs / os.fsdecode(b"caf\xe9")
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert sweep("output_dir=.", "deals=2") == 0
    for command in (report, verify, status, export, metrics):
        assert command.main([str(folder)]) == 0, command
    assert track.main([str(folder), f"--store={store}"]) == 0
    assert {Path(run.data.params["output_dir"]).name for run in stores.runs(store)
            if "output_dir" in run.data.params} == {r"caf\udce9"}  # fmt: skip
    assert publish.main([str(folder), f"--out={site}", "--parquet"]) == 0
    assert len([*(site / "run").glob("caf-udce9-*.html")]) == 1
    assert Library(runs).folders() == {r"caf\udce9": folder}


# --- pipes


PROGRAM = """
import json, os, sys
from pathlib import Path
from gauntlet.common.process import refuse_pipes
from gauntlet.pipeline import replay, report, run, status, verify

sys.addaudithook(refuse_pipes)
folder, *words = sys.argv[1:]
kinds = ("sweep.json", "status.json", "cells/*.json", "records/*.jsonl")
for file in [next(Path(folder).glob(kind)) for kind in kinds]:
    content = file.read_bytes()
    file.unlink()
    os.mkfifo(file)
    for command in (verify, status, replay, report, run):
        sys.argv = ["gauntlet", *(words if command is run else [folder])]
        try:
            command.main()
        except OSError as error:
            print(error, file=sys.stderr)
        print(json.dumps([file.name, command.__name__]), flush=True)
    file.unlink()
    file.write_bytes(content)
"""


@pytest.mark.slow
def test_no_command_waits_for_a_pipe(sweep: Sweep, folder: Path) -> None:
    assert sweep("deals=2") == 0
    words = [*FAST, "deals=2", f"output_dir={folder}"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), *words],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ended = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(ended) == 4 * 5
    assert "named pipe" in done.stderr
