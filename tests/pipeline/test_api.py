"""Whole sweeps over an API: the fake world of the other pipeline tests, but a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from gauntlet.models.api.openai import OpenAI
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.plan.cells import Plan
from tests.api import KEY, PocketServer, Script
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

README = Path(__file__).parent.parent.parent / "README.md"


@pytest.fixture
def api(url: str) -> tuple[str, ...]:
    """The overrides that make the subject use the server."""
    return (
        *("model=openai", "model.name=pocket", f"model.base_url={url}", "prompt=cloze"),
        *("game=tic_tac_toe", "deals=2", "model.endpoint=completions"),
    )


def test_a_match_over_the_api_is_the_match_of_the_model_itself(
    sweep: Sweep, folder: Path, tmp_path: Path, api: tuple[str, ...]
) -> None:
    assert sweep(*api) == 0
    mine = matches(folder)
    other = f"output_dir={tmp_path / 'local'}"
    assert sweep("model=pocket", "prompt=cloze", "game=tic_tac_toe", "deals=2", other) == 0
    theirs = matches(tmp_path / "local")

    def moves(record: MatchRecord) -> list[int]:
        return [decision.chosen for decision in record.decisions]

    assert sorted(map(moves, mine.values())) == sorted(map(moves, theirs.values()))
    summary = (folder / "summary.csv").read_text()
    assert "openai:pocket[endpoint=completions]" in summary


def test_a_capped_sweep_goes_on_from_the_cache(
    sweep: Sweep, folder: Path, served: PocketServer, api: tuple[str, ...], capsys
) -> None:
    priced = (*api, "model.price_in=10", "model.price_out=30", "model.in_flight=4")
    assert sweep(*priced, "model.cap=0.012") == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "gauntlet: pocket at http://127.0.0.1" in said.err
    assert "the spending cap of 0.012 is reached" in said.err
    assert "interrupted" in said.out
    assert "the same command again" not in said.out, "a larger cap is needed"
    assert not (folder / "failed_matches.jsonl").exists()
    paid = served.billed.copy()
    assert len(paid) > 5
    kept = matches(folder)
    assert sweep(*priced, "model.cap=10") == 0
    assert len(matches(folder)) == 2
    assert matches(folder).items() >= kept.items()
    assert set(served.billed.values()) == {1}
    total = served.billed.copy()
    (folder / "records").rename(folder / "before")
    assert sweep(*priced, "model.cap=10") == 0
    assert served.billed == total, "a match played again from the cache asked the server"


def test_the_key_is_nowhere(
    sweep: Sweep, tmp_path: Path, script: Script, api: tuple[str, ...], capsys
) -> None:
    assert sweep(*api, "deals=1") == 0
    script.refuse = (401, "KEY is wrong")
    assert sweep(*api, "deals=2") == 2
    said = capsys.readouterr()
    assert "is not accepted (401" in said.err
    assert said.err.count("\n") == 1
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert any(file.name == "replies.sqlite" for file in files)
    assert [file for file in files if KEY.encode() in file.read_bytes()] == []
    assert KEY not in said.out + said.err


def test_what_is_paid_is_told(
    sweep: Sweep, folder: Path, served: PocketServer, api: tuple[str, ...], capsys
) -> None:
    assert sweep(*api, "deals=1", "model.price_in=1e6") == 0
    replies = served.billed.total()
    told = re.search(rf": {replies:,} replies kept, ([\d,]+) tokens read", capsys.readouterr().out)
    assert told
    read = int(told.group(1).replace(",", ""))
    (record,) = matches(folder).values()
    asked = sum(decision.tokens for decision in record.decisions)
    assert 0 < read - asked < 40, "the first question whether it answers is no match's"
    lines = map(json.loads, (folder / "run.log").read_text().splitlines())
    (line,) = (line for line in lines if line["event"] == "paid")
    assert f"{read:.4g} paid, at most 0 more" in line["account"]


def test_two_ways_to_ask_one_model_are_one_account(
    sweep: Sweep, api: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    ways = (*api[:-1], "model.endpoint=chat,completions")
    assert sweep(*ways, "deals=1") == 0
    assert capsys.readouterr().out.count("\npaid ") == 1


def test_the_command_of_the_readme_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    row = re.search(r"`OPENAI_API_KEY=\S+ python -m pipeline\.run (.*?)`", README.read_text())
    assert row
    prices: list[tuple[float, float, float | None]] = []

    def look(cells: Sequence[CellConfig], _: SweepConfig) -> int:
        for source in Plan(build_cells(cells), 1, 1).sources:
            assert isinstance(source, OpenAI)
            prices.append((source.price_in, source.price_out, source.cap))
        return 0

    assert compose(row.group(1).split(), look) == 0
    ((price_in, price_out, cap),) = prices
    assert min(price_in, price_out) > 0
    assert cap


def test_a_server_that_is_not_there_is_one_line(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("model=openai", "model.name=m", "model.base_url=http://127.0.0.1:9/v1", "deals=1")
    assert sweep(*asked, "prompt=cloze") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "model 'm' at http://127.0.0.1:9/v1: it cannot be reached" in said
    assert not list((folder / "records").iterdir())
