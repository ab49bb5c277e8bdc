"""The jobs of a sweep, composed at once, equal those that Hydra composes one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
import pytest
from omegaconf import OmegaConf, open_dict

from gauntlet.pipeline.config import jobs
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig
from gauntlet.pipeline.config.yaml_files import reading
from gauntlet.pipeline.plan.build import build_cells

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
def test_a_job_is_what_hydra_makes_of_it(typed: Sequence[str]) -> None:
    with reading(()) as loader:
        configs = jobs.Configs(loader)
        own, _ = configs.compose(tuple(word for word in typed if word.startswith("experiment=")))
        words = [f"++{word}" if word.startswith("seats.") else word for word in typed]
        composed = configs.jobs([*configs.listed(own), *configs.parsed(words)])
        assert len(composed) > 1
        for found in composed:
            config = hydra.compose("config", list(found.overrides), return_hydra_config=True)
            assert found.choices == config.hydra.runtime.choices
            with open_dict(config):
                del config["hydra"], config["sweep"]
            plain: Any = OmegaConf.to_container(config, resolve=True)
            assert list(found.config.items()) == list(plain.items())
    assert len({str(found.config) for found in composed}) == len(composed)


def test_a_glob_lists_the_choices_of_every_folder(tmp_path: Path) -> None:
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "min_of_mine.yaml").write_text("agent: minimax\n")
    found: list[CellConfig] = []
    typed = ("--config-dir", str(tmp_path), "game=glob(tic*)", "prompt=cloze", "deals=1")
    players = "seats.0.player=minimax,min_of_mine"
    assert compose([*typed, players], lambda cells, sweep: found.extend(cells) or 0) == 0
    assert [one.labels["game"] for one in found] == ["tic_tac_toe"] * 2
    with reading([tmp_path]) as loader:
        assert "min_of_mine" in loader.get_group_options("player")


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
    """They share their players' probe requests."""
    found: list[CellConfig] = []
    typed = ("game=tic_tac_toe", "model=fake", "model.seed=0,1", "prompt=cloze,vanilla")
    compose(typed, lambda cells, sweep: found.extend(cells) or 0)
    alone = [build_cells([one])[0].key for one in found]
    assert [cell.key for cell in build_cells(found)] == alone
    assert len(set(alone)) == 4
