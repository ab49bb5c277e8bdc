"""Sweeps that must run locally, whatever their launch config: paid models and people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import ray
from ray.exceptions import RayError

from gauntlet.common.errors import UserError
from gauntlet.models.api.openai import OpenAI
from gauntlet.models.fake import Fake
from gauntlet.models.human import Terminal
from gauntlet.pipeline.launch.cluster import _wait_until_ready
from gauntlet.pipeline.launch.placement import (
    FIRST_SECONDS,
    HERE,
    check_nodes,
    resolve_launch,
    stages,
)
from tests.pipeline.conftest import Sweep

PAID, OTHER = OpenAI("m", "http://a/v1"), OpenAI("n", "http://a/v1")


@dataclass(frozen=True)
class Settings:
    """The part of a sweep's config that matters here."""

    launch: object = "as asked"
    concurrent_matches: int = 64


def test_a_sweep_of_paid_models_needs_no_workers() -> None:
    assert resolve_launch(Settings(), [PAID, OTHER]) == Settings(HERE)


def test_a_person_plays_match_by_match() -> None:
    assert resolve_launch(Settings(), [Terminal(), Fake()]) == Settings(HERE, 1)
    assert resolve_launch(Settings(), [Terminal(), PAID]) == Settings(HERE, 1)


@pytest.mark.parametrize("sources", [[], [Fake()], [PAID, Fake()]])
def test_all_else_is_played_as_asked(sources: list[object]) -> None:
    assert resolve_launch(Settings(), sources) == Settings()


ALONE = {"kind": "ray", "workers": None, "patience": None}


def test_what_loads_nothing_is_played_here_first_and_its_rest_by_workers() -> None:
    """A match takes a second: the clock is read before each."""
    clock = iter(range(100))
    first, second = (
        (stage.launch, stage.one_by_one, list(stage.tasks))
        for stage in stages(ALONE, [Fake()], iter(range(10)), lambda: float(next(clock)))
    )
    played = int(FIRST_SECONDS) - 1
    assert first == (HERE, True, list(range(played)))
    assert second == (ALONE, False, list(range(played, 10)))


def test_a_short_sweep_never_asks_for_workers() -> None:
    found = stages(ALONE, [], iter(range(3)))
    assert [(stage.launch, list(stage.tasks)) for stage in found] == [(HERE, [0, 1, 2])]


@pytest.mark.parametrize(
    ("launch", "sources"),
    [
        ({**ALONE, "workers": 2}, [Fake()]),
        ({**ALONE, "address": "head:6379"}, [Fake()]),
        (ALONE, [Fake(), PAID]),
        (HERE, [Fake()]),
    ],
)
def test_elsewhere_all_is_played_where_it_was_asked_for(
    launch: dict[str, object], sources: list[object]
) -> None:
    found = stages(launch, sources, iter(range(3)))
    assert [(stage.launch, list(stage.tasks)) for stage in found] == [(launch, [0, 1, 2])]


def test_paid_and_other_models_share_one_node_only() -> None:
    check_nodes([PAID, Fake()], 1)
    check_nodes([PAID, OTHER], 2)  # asked by one process
    check_nodes([Fake()], 2)
    with pytest.raises(UserError, match="would be asked from 2 nodes"):
        check_nodes([PAID, Fake()], 2)


def test_slurm_is_not_handed_what_several_nodes_would_pay(
    sweep: Sweep, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = ("launch=slurm", "launch.nodes=2", "launch.dry_run=true", "game=tic_tac_toe")
    paid = ("model=openai", "model.name=m", "prompt=cloze")
    assert sweep(*job, *paid, "seats.0.agent=llm", "seats.0.model=fake") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "would be asked from 2 nodes" in said.err
    assert sweep(*job, *paid) == 0
    assert "#SBATCH --nodes=2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("gauntlet.common.errors.UserError: model 'm': refused", "model 'm': refused"),
        ("ValueError: odd", "ValueError: odd"),
    ],
)
def test_why_a_worker_could_not_start_is_told_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, last: str, message: str
) -> None:
    def refuse(_: object) -> None:
        raise RayError(f"The actor died.\n  File ...\n{last}\n")

    monkeypatch.setattr(ray, "get", refuse)
    with pytest.raises(UserError, match=rf"^a worker could not start: {message}$"):
        _wait_until_ready([])
