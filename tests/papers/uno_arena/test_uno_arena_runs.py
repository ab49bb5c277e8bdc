"""UNO Arena's experiments as configured in conf/, and the whole command with scripted players."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.papers import reproduce, reproductions
from gauntlet.papers.uno_arena import reproduction as uno_arena
from gauntlet.pipeline.config.read import SweepConfig
from gauntlet.pipeline.judging.metric_rows import JudgedCell
from gauntlet.pipeline.plan.build import build_cells
from gauntlet.pipeline.tables.registry import read_table
from tests.pipeline.composing import composed
from tests.pipeline.stores import client_of

Composed = tuple[tuple[JudgedCell, ...], SweepConfig]
Compose = Callable[..., Composed]


@pytest.fixture
def compose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Compose:
    """Compose an experiment as the command line would; nothing is played."""
    monkeypatch.chdir(tmp_path)

    def go(*overrides: str) -> Composed:
        configs, sweep = composed(*overrides)
        return build_cells(configs), sweep

    return go


def seated(cell: JudgedCell) -> list[str]:
    return [player.name for player in cell.players]


def test_table_2_has_every_player_second_against_a_random_one(compose: Compose) -> None:
    cells, sweep = compose("experiment=uno_arena_table2", "model=fake")
    assert sweep.deals == 500
    assert [seated(cell)[0] for cell in cells] == ["random"] * len(cells)
    assert [seated(cell)[1] for cell in cells] == [*uno_arena.SCRIPTED, "llm.fake.vanilla"]
    assert {(cell.subjects, cell.measured, cell.rotate) for cell in cells} == {((1,), (1,), False)}


@pytest.mark.parametrize("rotate", [False, True])
def test_table_3_seats_five_players_that_differ(compose: Compose, rotate: bool) -> None:
    words = ["rotate=true", "deals=40"] if rotate else []
    (cell,), sweep = compose("experiment=uno_arena_table3", "model=fake", *words)
    assert sweep.deals * len(cell.rotations) == 200
    assert seated(cell) == ["random", "rule", "search", "llm.fake.vanilla", "llm.fake.tutri"]


def test_table_3_takes_five_models(compose: Compose) -> None:
    seats = [f"seats.{seat}.model={model}" for seat, model in enumerate(("fake", "pocket") * 2)]
    (cell,), _ = compose("experiment=uno_arena_table3", "seats=five_models", *seats)
    models = [name.split(".")[1] for name in seated(cell)]
    assert models == ["fake", "pocket", "fake", "pocket", "pocket"]
    assert {name.split(".")[2] for name in seated(cell)} == {"vanilla"}


@pytest.mark.parametrize(
    ("table", "prompts"),
    [(4, ["tutri"]), (5, ["tutri", "tutri_no_history", "tutri_no_strategy", "vanilla"])],
)
def test_tables_4_and_5_play_100_decks_from_both_seats(
    compose: Compose, table: int, prompts: list[str]
) -> None:
    cells, sweep = compose(f"experiment=uno_arena_table{table}", "model=fake")
    assert (sweep.deals, {cell.rotate for cell in cells}) == (100, {True})
    wanted = [["llm.fake.vanilla", f"llm.fake.{prompt}"] for prompt in prompts]
    assert [seated(cell) for cell in cells] == wanted
    assert {cell.subjects for cell in cells} == {(1,)}


def test_table_4_is_the_first_row_of_table_5_and_the_traces_are_of_table_2(
    compose: Compose,
) -> None:
    keys = {}
    for name in ("table2", "table4", "table5", "traces"):
        cells, sweep = compose(f"experiment=uno_arena_{name}", "model=fake")
        keys[name] = [cell.key for cell in cells]
    assert keys["table4"] == keys["table5"][:1]
    assert keys["traces"] == keys["table2"][-1:]
    assert sweep.deals == 4


def test_models_can_be_swept_and_scripted_players_are_played_once(compose: Compose) -> None:
    cells, _ = compose("experiment=uno_arena_table2", "model=fake,pocket")
    assert len(cells) == len(uno_arena.SCRIPTED) + 2


@pytest.mark.parametrize(
    ("edit", "everybody", "again"),
    [
        ({}, True, False),
        ({"playouts": 999}, True, True),
        ({"playouts": 10_000}, True, False),
        ({"tie": "average"}, True, True),
        ({"traces": 0}, True, True),
        ({"threshold": 0.15}, True, True),
        ({"player": 1}, True, True),
        ({"player": 1}, False, False),
        ({"late": True}, True, True),
    ],
)
def test_what_was_judged_so_since_the_last_match_is_not_judged_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edit: dict[str, Any],
    everybody: bool,
    again: bool,
) -> None:
    """Fewer playouts, other ranks, no traces, a threshold too few, the subject alone, a match
    played since."""
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(reproductions, "command", lambda *words: ran.append(words))
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "cell.jsonl").touch()
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "cell.json").touch()
    late = edit.pop("late", False)
    rows = [
        {"key": "a", "player": player, "playouts": 1000, "tie": "min", "traces": 4}
        | {"threshold": threshold}
        | edit
        for player in (0, 1)
        for threshold in (0.0, 0.15)
    ]
    file = tmp_path / "metrics" / "metrics.csv"
    file.parent.mkdir()
    pd.DataFrame(rows).to_csv(file, index=False)
    os.utime(tmp_path / "records" / "cell.jsonl", (0, 2000 if late else 1000))
    os.utime(file, (0, 1500))
    settings = reproductions.Settings(("pocket",), 5, 1000, tmp_path)
    uno_arena.judge(settings, tmp_path, everybody)
    assert bool(ran) == again


@pytest.fixture(scope="module")
def with_a_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole command with the fake model, tracked."""
    out = tmp_path_factory.mktemp("model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uno_arena, "SCRIPTED", ("random",))
        patch.chdir(out)
        words = ["uno_arena", "--models", "fake", "--deals", "2", "--playouts", "20"]
        words += ["--out", str(out)]
        assert reproduce.main([*words, "launch=inline", f"tracking.store={out / 'store'}"]) == 0
    return out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_a_model_has_lines_of_its_own_in_every_table(with_a_model: Path) -> None:
    table = read_table(with_a_model / "uno_arena.csv").set_index("id")
    wins = {
        "table2.fake.wr": 2,
        "table3.fake.vanilla.wr": 2,
        "table3_rotated.random.with_fake.wr": 10,
        "table4.fake.tutri.wr": 4,
        "table4.fake.delta_wr": 4,
        "table5.fake.minus_history.wr": 4,
        "table5.fake.vanilla.delta_wr": 4,
    }
    own = table.loc[[f"uno_arena.{name}" for name in wins]]
    assert list(own["n"]) == list(wins.values())
    assert set(own["verdict"]) == {"no_reference"}
    assert own["ours"].notna().all()
    judged = table[table.index.str.match(r"uno_arena\.table\d\.fake.*odhr")]
    assert judged["ours"].notna().any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_table_5_is_paired_with_the_whole_and_goes_to_mlflow(with_a_model: Path) -> None:
    folder = with_a_model / "uno_arena_tutri"
    table = pd.read_csv(folder / "metrics" / "ablation.csv").set_index("player")
    assert list(table.index) == [f"fake.{part}" for part in uno_arena.VARIANTS.values()]
    assert table["p_holm"].notna().tolist() == [False, True, True, True]
    client = client_of(with_a_model / "store")
    places = [found.experiment_id for found in client.search_experiments()]
    (parent,) = (
        run
        for run in client.search_runs(places)
        if run.info.run_name.endswith(f"[{folder.name}]") and run.data.params["cells"] == "4"
    )
    logged = {item.path for item in client.list_artifacts(parent.info.run_id, "metrics")}
    assert "metrics/ablation.csv" in logged
