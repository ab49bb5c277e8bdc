"""`ablate=...`: each cell again without a part, and the table of what the parts contribute."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config import compose
from gauntlet.pipeline.log.folder import Folder
from tests.pipeline.composing import cells_of, composed
from tests.pipeline.conftest import Sweep

PARTS = "ablate={prompt.history:false,prompt.strategy:false,prompt:vanilla}"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_cell_comes_again_without_each_part() -> None:
    cells, _ = composed("prompt=tutri", "game=uno,tic_tac_toe", "model=fake", PARTS)
    assert [(cell.labels["game"], cell.labels["prompt"], cell.without) for cell in cells] == [
        (game, prompt, without)
        for game in ("uno", "tic_tac_toe")
        for prompt, without in (
            ("tutri", ""),
            ("tutri[history=false]", "prompt.history=false"),
            ("tutri[strategy=false]", "prompt.strategy=false"),
            ("vanilla", "prompt=vanilla"),
        )
    ]


def test_a_part_plays_as_if_its_setting_had_been_typed() -> None:
    cells = cells_of("prompt=tutri", "model=fake", PARTS)
    typed = cells_of("prompt=tutri", "model=fake", "prompt.history=true,false")
    assert [cell.key for cell in cells[:2]] == [cell.key for cell in typed]


def test_a_number_stays_a_number() -> None:
    cells, _ = composed("prompt=cloze", "game=tic_tac_toe", "model=fake", "ablate={prompt.moves:0}")
    assert cells[1].without == "prompt.moves=0"


def test_the_table_has_the_paired_differences(sweep: Sweep, folder: Path) -> None:
    assert sweep("prompt=cloze", "model=fake", "deals=40", "ablate={model.seed:7}") == 0
    table = pd.read_csv(folder / "ablation.csv", keep_default_na=False, na_values=[""])
    names = [about.name for about in Folder(folder).sweep_cells()]
    assert table["cell"].tolist() == [names[0]] * 2
    assert table["without"].fillna("").tolist() == ["", "model.seed=7"]
    summary = pd.read_csv(folder / "summary.csv").set_index("cell")
    assert table["estimate"].tolist() == summary["estimate"][names].tolist()
    pair = pd.read_csv(folder / "pairs.csv").iloc[0]
    sign = 1 if pair["cell_a"] == names[0] else -1
    part = table.iloc[1]
    assert part["difference"] == pytest.approx(sign * pair["difference"])
    assert part["difference"] == pytest.approx(table["estimate"][0] - table["estimate"][1])
    assert part["difference"] != 0
    assert part["ci_low"] < part["difference"] < part["ci_high"]
    assert (part["p"], part["p_holm"]) == (pair["p"], pair["p_holm"])
    assert "what each part contributes" in (folder / "report.html").read_text()


def test_more_jobs_than_a_sweep_has_are_refused() -> None:
    with pytest.raises(UserError, match="10,000"):
        compose.composed(["seed=range(6000)", "ablate={prompt.moves:3}"])
