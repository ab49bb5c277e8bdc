"""What is asked before a cell's first match, and methods that ask many times: the same for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.random import Random
from gauntlet.common.conf_folders import CONF
from gauntlet.common.errors import ModelError
from gauntlet.games.codenames import Codenames
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.fake import Fake, FakeModel
from gauntlet.pipeline.config.nodes import build
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Plan, Player
from gauntlet.pipeline.play.scheduler import Scheduler
from tests.pipeline.conftest import Once, Refusal, Sweep
from tests.pipeline.logs import matches, preparations

METHODS = ("pride", "label_study")
every_method = pytest.mark.parametrize("method", METHODS)


def notes(folder: Path) -> list[dict[str, Any]]:
    found = matches(folder).values()
    return [decision.notes for r in found for decision in r.decisions if decision.notes]


@every_method
def test_the_preparation_is_logged_once_a_file(
    sweep: Sweep, once: Once, folder: Path, method: str
) -> None:
    once(f"prompt={method}")
    sweep(f"prompt={method}", "deals=10")
    (players,) = preparations(folder).values()
    assert [entry.player for entry in players] == [1]
    statics = {name for record in Folder(folder).matches() for name in record.statics}
    for exchange in players[0].asked:
        assert exchange.static in statics
        assert len(exchange.branches) == len(exchange.logprobs) == len(exchange.tokens)
    assert len(preparations(folder)) == 1


def test_every_player_that_has_something_to_ask_prepares(sweep: Sweep, folder: Path) -> None:
    sweep(
        *("prompt=pride", "game=tic_tac_toe", "seats.0.agent=llm", "seats.0.model=fake"),
        "seats.0.prompt=calibrated",
    )
    (players,) = preparations(folder).values()
    assert [entry.player for entry in players] == [0, 1]
    assert len(players[0].asked) == 1
    assert len(players[1].asked) > 20


def test_every_choice_tells_the_prior_that_it_used(once: Once, folder: Path) -> None:
    once("prompt=pride")
    told: dict[int, set[tuple[float, ...]]] = {}
    for note in notes(folder):
        assert sum(note["prior"]) == pytest.approx(1)
        told.setdefault(len(note["prior"]), set()).add(tuple(note["prior"]))
    assert len(told) > 2
    assert all(len(priors) == 1 for priors in told.values()), "one prior a number of options"


@every_method
def test_width_and_resuming_change_no_record(
    sweep: Sweep, folder: Path, tmp_path: Path, method: str
) -> None:
    sweep(f"prompt={method}", "concurrent_matches=50", "deals=8")
    parts = tmp_path / "parts"
    for deals in (3, 8):
        sweep(f"prompt={method}", "concurrent_matches=1", f"deals={deals}", f"output_dir={parts}")
    assert matches(parts) == matches(folder)
    assert preparations(parts) == preparations(folder)


@every_method
def test_a_log_is_played_again_without_its_model(
    sweep: Sweep,
    once: Once,
    folder: Path,
    tmp_path: Path,
    method: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once(f"prompt={method}")
    (path,) = (folder / "records").glob("*.jsonl")
    monkeypatch.delattr(FakeModel, "_score")
    again = tmp_path / "again"
    replayed = (
        *("model._target_=models.replay.Replay", "~model.seed", f"+model.records={path}"),
        f"prompt={method}",
    )
    assert sweep(*replayed, f"output_dir={again}") == 0
    first, second = (
        {record.deal: record.decisions for record in matches(where).values()}
        for where in (folder, again)
    )
    assert first == second
    assert list(preparations(again).values()) == list(preparations(folder).values())


@every_method
def test_letters_must_be_single_tokens(
    sweep: Sweep, method: str, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    def refuse(self: Fake, choices: tuple[str, ...]) -> None:
        assert set(choices) == set(LETTERS)
        raise ModelError("choice 'Q' is not a single token")

    monkeypatch.setattr(Fake, "check_choices", refuse)
    assert "choice 'Q' is not a single token" in refusal(sweep(f"prompt={method}"))


def test_a_preparation_that_fails_sets_its_matches_aside_and_no_others(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = FakeModel._score

    def fail(self: FakeModel, request: Any) -> Any:
        if len(request.prompts) == 25:
            raise RuntimeError("no content, no answer")
        return score(self, request)

    monkeypatch.setattr(FakeModel, "_score", fail)
    assert sweep("prompt=cloze,calibrated", "deals=2") == 0
    lines = (folder / "failed_matches.jsonl").read_text().splitlines()
    assert len(lines) == 2
    assert all("no content, no answer" in json.loads(line)["error"] for line in lines)
    assert len(matches(folder)) == 2


# --- reasoned runs


SOURCE = Fake(
    texts=(
        *("<C2R2>", "C1R1, no: C3R3", "Thought: hm\nMove: <C2R1>", "The best choice is 2"),
        *("The winning rate is 70", "The winning rate is 15", "C1R3 or C3R1", "What are the odds?"),
    )
)


def cell_of(method: Any, game: Any = None, source: Fake = SOURCE) -> Cell:
    players = (Player("llm", LLM(method), source, None), Player("random", Random(), None, None))
    labels = {"game": "tic_tac_toe", "seats": "solo"}
    known = {"players": [{"agent": repr(method)}]}
    return Cell(
        "x", labels, game or TicTacToe(), players, (0,), (0,), "win", True, False, None, known
    )


def played(cell: Cell, width: int, deals: int = 4) -> list[MatchRecord]:
    tasks = list(Plan((cell,), deals, seed=1).tasks())
    source = cell.players[0].model
    assert source is not None
    scheduler = Scheduler({cell.key: cell}, 1, {source: source.load()}, width)
    try:
        records = [future.result().record for future in scheduler.submit(tasks)]
    finally:
        scheduler.close()
    assert all(records)
    return [r for r in records if r is not None]


PROMPTS = sorted({file.stem for file in (CONF / "prompt").glob("*.yaml")} - {"observe"})
"""All but the one for observers, who play no move."""


@pytest.mark.parametrize("game", [TicTacToe(), Codenames()], ids=["moves", "words"])
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_method_can_be_tried_without_a_model(prompt: str, game: Any) -> None:
    """The fake model answers each in its required form, with text where necessary."""
    node = yaml.safe_load((CONF / "prompt" / f"{prompt}.yaml").read_text())
    cell = cell_of(build(node, "prompt", ()), game, Fake())
    own = [one for record in played(cell, 4, deals=1) for one in record.decisions if one.asked]
    assert own
    assert not any(one.fallback for one in own)
