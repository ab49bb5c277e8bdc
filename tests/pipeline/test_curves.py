"""Learning curves as figures and as MLflow runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from gauntlet.training.dqn import curves
from tests.pipeline.conftest import Refusal
from tests.pipeline.stores import client_of

pytestmark = pytest.mark.filterwarnings("ignore")  # mlflow's own


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        (seed, 100 * number, 900 * number, 50, 20 + number, (20 + number) / 50, 0.3, 0.7)
        for seed in range(2)
        for number in range(1, 4)
    ]
    columns = ["seed", "episodes", "steps", "games", "wins", "win_rate", "low", "high"]
    (tmp_path / "curves").mkdir()
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "curves" / "nim-2.csv", index=False)
    return tmp_path / "curves"


def test_a_run_a_seed_with_the_win_rate_by_episodes(folder: Path, tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    for _ in range(2):  # the second call replaces what the first one logged
        assert curves.main([str(folder), "--store", str(store), "--out", str(out)]) == 0
    assert (out / "nim-2.png").stat().st_size > 1000
    client = client_of(store)
    experiment = client.get_experiment_by_name("dqn")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert sorted(run.data.params["seed"] for run in runs) == ["0", "1"]
    for run in runs:
        history = client.get_metric_history(run.info.run_id, "win_rate")
        assert [(point.step, point.value) for point in history] == [
            (100, 0.42), (200, 0.44), (300, 0.46)
        ]  # fmt: skip
        assert {item.path for item in client.list_artifacts(run.info.run_id)} == {
            "nim-2.csv",
            "nim-2.png",
        }


def test_the_mean_is_that_of_all_seeds_games(folder: Path) -> None:
    curve = curves.read(folder)["nim-2"]
    curve.loc[curve["seed"] == 1, "wins"] = 40
    axes = curves.draw_curve(curve).axes[0]
    (line,) = (line for line in axes.lines if line.get_label() == "all")
    assert line.get_ydata() == pytest.approx([61, 62, 63])


HEADER = "seed,episodes,steps,games,wins,win_rate,low,high\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no learning curve: No columns to parse"),
        ("a,b\n1,2,3\n1,2,3,4,5\n", "is no learning curve: Error tokenizing"),
        (HEADER, "has no row below its header"),
        (HEADER + "0,100,900,50,20,.4,.3,.5\n0,200,x,50,20,.4,.3,.5\n", "row 2: steps is 'x', no"),
        (HEADER + "0,100,900,50,,.4,.3,.5\n", "row 1: wins is 'nan', no number"),
        (HEADER + "0,100,900,50,60,.4,.3,.5\n", "from 0 to the number of games, got 60 of 50"),
    ],
)
def test_a_file_that_is_no_curve_is_refused_in_a_line(
    text: str, why: str, folder: Path, refusal: Refusal
) -> None:
    (folder / "wrong.csv").write_text(text)
    line = refusal(curves.main([str(folder)]))
    assert str(folder / "wrong.csv") in line
    assert why in line
