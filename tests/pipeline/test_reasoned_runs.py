"""Methods with many requests per move, in the scheduler: the same records at any width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.prompting.tot import Tot
from gauntlet.agents.random import Random
from gauntlet.games.codenames import Codenames
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.models.fake import Fake
from gauntlet.pipeline.config.compose import CONF
from gauntlet.pipeline.config.nodes import build
from gauntlet.pipeline.log.outcomes import outcome
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Plan, Player
from gauntlet.pipeline.plan.fingerprint import code_of
from gauntlet.pipeline.play.scheduler import Scheduler

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


def bare(record: MatchRecord) -> Any:
    return record.decisions, record.returns, record.statics


@pytest.mark.parametrize("method", [Cot(samples=3), Tot(), Talaga()], ids=["sc", "tot", "talaga"])
def test_records_are_the_same_at_any_width(method: Any) -> None:
    cell = cell_of(replace(method, max_tokens=20))
    one, many = (played(cell, width) for width in (1, 8))
    assert [bare(record) for record in one] == [bare(record) for record in many]
    own = [d for record in one for d in record.decisions if d.asked]
    assert len({d.chosen for d in own}) > 1
    assert not all(d.fallback for d in own)


def test_every_sample_counts_as_a_call() -> None:
    (record, *_) = played(cell_of(Talaga(max_tokens=20)), 1, 1)
    own = [decision for decision in record.decisions if decision.asked]
    found = outcome(record)
    assert found.calls == sum(decision.attempts for decision in own)
    assert found.replies == found.calls > 3 * len(own)


@pytest.mark.parametrize("method", [Tot(), Talaga()], ids=["tot", "talaga"])
def test_the_fingerprint_covers_what_the_methods_import(method: Any) -> None:
    found = code_of(cell_of(method)).files
    assert {"agents/prompting/cot_base.py", "agents/prompting/reading.py"} <= found.keys()
    assert "agents/mcts.py" not in found


METHODS = sorted({file.stem for file in (CONF / "prompt").glob("*.yaml")} - {"observe"})
"""All but the one for observers, who play no move."""


@pytest.mark.parametrize("game", [TicTacToe(), Codenames()], ids=["moves", "words"])
@pytest.mark.parametrize("prompt", METHODS)
def test_every_method_can_be_tried_without_a_model(prompt: str, game: Any) -> None:
    """The fake model answers each in its required form, with text where necessary."""
    node = yaml.safe_load((CONF / "prompt" / f"{prompt}.yaml").read_text())
    cell = cell_of(build(node, "prompt", ()), game, Fake())
    own = [one for record in played(cell, 4, deals=1) for one in record.decisions if one.asked]
    assert own
    assert not any(one.fallback for one in own)
