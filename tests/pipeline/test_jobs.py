"""The jobs of a sweep, composed at once, are those that Hydra composes one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from omegaconf import OmegaConf

from pipeline.config import jobs
from pipeline.config.compose import compose
from pipeline.config.read import CellConfig
from pipeline.plan.build import build_cells

SWEEPS = (
    ("game=tic_tac_toe", "model=fake", "model.seed=0,1", "prompt=cloze,vanilla", "deals=3"),
    (
        "experiment=label_prior",
        "model=fake",
        "+model.texts=[A],[B,C]",
        "name=x",
        "output_dir=${name}/y",
    ),
    (
        "seats.0.player=rule,random",
        "agent=llm",
        "model=fake",
        "prompt={moves:4}",
        "prompt.wording=terse",
    ),
    ("prompt=direct,cot", "deals=3", "prompt.max_tokens=64", "model=fake"),
    ("~packages", "+packages=[a]", "seed=1,2", "game=uno"),
)


@pytest.mark.parametrize("typed", SWEEPS)
def test_a_job_is_what_hydra_makes_of_it(
    typed: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quick, composed = jobs.Jobs.job, list[tuple[jobs.Composed, Any]]()

    def job(self: jobs.Jobs, overrides: Sequence[str]) -> jobs.Composed:
        found = quick(self, overrides)
        loader, master = self._loader, self._master
        composed.append((found, loader.load_sweep_config(master, list(overrides))))
        return found

    monkeypatch.setattr(jobs.Jobs, "job", job)
    compose(typed, lambda cells, sweep: 0)
    assert len(composed) > 1
    for found, whole in composed:
        plain = OmegaConf.to_container(whole, resolve=True)
        assert isinstance(plain, dict)
        hydra = plain.pop("hydra")
        assert list(found.config.items()) == list(plain.items())
        assert found.choices == hydra["runtime"]["choices"]
        assert list(found.overrides) == hydra["overrides"]["task"]
    assert len({str(found.config) for found, _ in composed}) == len(composed)


def test_a_value_that_cannot_be_set_is_the_line_that_hydra_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compose(["model=fake", "deels=3", "seed=1,2"], lambda cells, sweep: 0) == 2
    assert "deels is not a key of the config" in capsys.readouterr().err


def test_another_librarys_game_is_called_by_its_name() -> None:
    found: list[CellConfig] = []
    typed = (
        "game=openspiel",
        "game.name=go,chess",
        "game.listed=20",
        "agent=random",
        "prompt=cloze",
    )
    compose(typed, lambda cells, sweep: found.extend(cells) or 0)
    assert [one.labels["game"] for one in found] == [
        "openspiel:go[listed=20]",
        "openspiel:chess[listed=20]",
    ]


@pytest.mark.parametrize(
    ("typed", "label"),
    [
        (("model=hf", "model.path=a/Llama-8B"), "hf:Llama-8B"),
        (("model=hf", "model.path=b/c", "model.dtype=float32"), "hf:c[dtype=float32]"),
        (("model=pocket",), "pocket"),
        (("model=pocket", "model.path=mine/tuned"), "pocket:tuned"),
        (("model=openai", "model.name=org/gpt", "model.cap=null"), "openai:org/gpt"),
        (
            ("model=openai", "model.name=m", "model.in_flight=2", "model.top=5"),
            "openai:m[top=5]",
        ),
    ],
)
def test_a_models_label_has_its_name_or_its_path(typed: tuple[str, ...], label: str) -> None:
    found: list[CellConfig] = []
    words = ("game=tic_tac_toe", "prompt=cloze", *typed)
    compose(words, lambda cells, sweep: found.extend(cells) or 0)
    assert [one.labels["model"] for one in found] == [label]


def test_cells_built_together_are_those_built_alone() -> None:
    """They share what their players ask in a probe."""
    found: list[CellConfig] = []
    typed = ("game=tic_tac_toe", "model=fake", "model.seed=0,1", "prompt=cloze,vanilla")
    compose(typed, lambda cells, sweep: found.extend(cells) or 0)
    alone = [build_cells([one])[0].key for one in found]
    assert [cell.key for cell in build_cells(found)] == alone
    assert len(set(alone)) == 4
