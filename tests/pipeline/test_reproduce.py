"""A paper's numbers next to ours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from gauntlet.papers import reproduce, reproductions
from gauntlet.papers.gamebench import matches
from gauntlet.papers.llm_uno import reproduction as llm_uno
from gauntlet.papers.llm_uno.settings import setting_rows
from gauntlet.papers.published import COLUMNS, frame, paper


def read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values=[""]).set_index("id")


def in_this_process(module: str, *words: str) -> None:
    """Run a command in this process, which saves the seconds of loading another."""
    assert import_module(module).main(words) == 0


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LLM-UNO with the fake model, and with one whose weights are missing."""
    out = tmp_path_factory.mktemp("reproduce")
    arguments = ["llm_uno", "--models", "fake,nowhere", "--deals", "20", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproductions, "command", in_this_process)
        patch.setattr(llm_uno, "available", lambda models: ["fake"])
        patch.chdir(out)
        assert reproduce.main([*arguments, "launch=inline", "tracking=none"]) == 0
    return out


def test_the_table_has_every_published_line_once(reproduced: Path) -> None:
    table = read(reproduced / "llm_uno.csv")
    assert ["id", *table.columns] == list(COLUMNS)
    told = paper("llm_uno")
    ids = [entry["id"] for part in ("seats", "cells", "settings") for entry in told[part]]
    ids += [told[part]["id"] for part in ("gain", "significant", "learned")]
    assert set(ids) <= set(table.index)
    assert table.index.is_unique


def test_scripted_players_agree_with_the_paper(reproduced: Path) -> None:
    table = read(reproduced / "llm_uno.csv")
    lines = table[table.index.str.startswith("llm_uno.baseline")]
    assert list(lines["published"]) == [0.4896, 0.3638, 0.35, 0.2862]
    assert list(lines["verdict"]) == ["uninformative", *["agrees"] * 3]
    assert list(lines["matters"].round(4)) == [0.0104, 0.0305, 0.0167, 0.0471]
    assert set(lines["n"]) == set(lines["deals"]) == {100_000}
    assert (lines["p_value"] > 0.05).all()


def test_what_was_not_run_stays_empty(reproduced: Path) -> None:
    table = read(reproduced / "llm_uno.csv")
    models = table[table.index.str.contains("llama|mistral|nowhere|dqn|significant")]
    assert len(models) == 16 + 4 + 3
    assert set(models["verdict"]) == {"not_run"}
    assert models[["ours", "ci_low", "ci_high", "n"]].isna().all(axis=None)


def test_settings_are_those_that_were_played(reproduced: Path) -> None:
    """20 deals of the fake model, which is not one of the paper's, though those are in conf too."""
    table = read(reproduced / "llm_uno.csv")
    settings = table.loc[table["kind"] == "setting", ["published", "ours", "verdict"]]
    found = {name.rpartition(".")[2]: list(row) for name, row in settings.T.items()}
    assert found.pop("models")[2] == "not_run"
    assert found == {
        "games_default": [10_000, 20, "differs"],
        "alpha": [0.05, 0.05, "agrees"],
        "recent_moves_in_prompt": [5, 5, "agrees"],
    }


def test_where_no_model_was_played_no_setting_was_run() -> None:
    told = paper("llm_uno")
    cells = pd.DataFrame(columns=["model", "matches", "moves"])
    assert {row.verdict for row in setting_rows(told, cells, 0.05)} == {"not_run"}


def test_another_model_has_rows_of_its_own_without_a_reference(reproduced: Path) -> None:
    table = read(reproduced / "llm_uno.csv")
    own = table[table.index.str.contains("fake")]
    assert len(own) == 4
    assert own["published"].isna().all()
    assert set(own["verdict"]) == {"no_reference"}
    assert set(own["n"]) == {20}


def test_every_figure_is_drawn(reproduced: Path) -> None:
    drawn = sorted(path.name for path in (reproduced / "figures").iterdir())
    assert drawn == [f"llm_uno_fig{number}.png" for number in (1, 2, 5, 6)]


def test_a_published_model_takes_its_own_row_and_its_gain() -> None:
    cell = {
        "experiment": "solo",
        "model": "llama70b",
        "prompt": "cloze",
        "matches": 7000,
        "deals": 7000,
        "win_rate": 3616 / 7000,
        "baseline": 0.4957,
        "ci_low": 0.5048,
        "ci_high": 0.5282,
        "moves": 3,
    }
    seats = pd.DataFrame(
        [{"seats": e["seats"], "seat": e["seat"], "win_rate": 0.3, "games": 10, "ci_low": 0.1,
          "ci_high": 0.7} for e in paper("llm_uno")["seats"]]
    )  # fmt: skip
    table = frame(llm_uno.rows(seats, pd.DataFrame([cell]), ["llama70b"])).set_index("id")
    line = table.loc["llm_uno.fig5.llama3.3-70b.cloze.win_rate"]
    assert (line["published"], line["n"], line["verdict"]) == (0.5165, 7000, "agrees")
    assert line["matters"] == pytest.approx(0.5165 - 0.4896)
    gain = table.loc["llm_uno.fig5.llama3.3-70b.cloze.gain"]
    assert gain["ours"] == pytest.approx(3616 / 7000 - 0.4957)
    assert gain["verdict"] == "agrees"
    assert table.loc["llm_uno.fig5.n_significant_configs", "verdict"] == "not_run"
    assert set(table.loc[table.index.str.contains("baseline"), "verdict"]) == {"uninformative"}
    settings = table[table.index.str.contains("setting")]
    assert list(settings["ours"]) == [7000, 0.05, 3, 1]
    assert list(settings["verdict"]) == ["differs", "agrees", "differs", "differs"]


def test_every_value_in_print_has_what_it_is_without_an_effect() -> None:
    told = llm_uno.without_effects(paper("llm_uno"))
    printed = [entry for part in ("seats", "cells") for entry in told[part] if "value" in entry]
    found = {(entry["id"].split(".")[1], round(entry["without"], 4)) for entry in printed}
    assert found == {("baseline", 0.5), ("baseline", 0.3333), ("fig5", 0.4896), ("fig6", 0.35)}


def test_an_unknown_model_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce.main(["llm_uno", "--models", "pockett", "--out", str(tmp_path)]) == 2
    assert "no conf/model/pockett.yaml; did you mean 'pocket'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--playouts", "0"], ["--deals", "0"]])
def test_nothing_is_played_for_a_number_below_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert reproduce.main(["uno_arena", *words, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "deals and playouts are 1 or more" in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_model_without_weights_here_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert reproductions.available(["llama70b"]) == []
    assert capsys.readouterr().out.startswith("not run: llama70b: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["audit"], "none.json: the match file is not here: github.com/Joshuaclymer/GameBench"),
        (["gamebench", "--matches", "else.json"], "else.json: the match file is not here"),
        (["llm_uno", "--models", "fake,llama70b"], "llm_uno: no weights here of llama70b"),
    ],
)
def test_a_whole_sheet_is_not_made_without_its_inputs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(matches, "FILE", tmp_path / "none.json")
    assert reproduce.main([*words, "--complete", "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
