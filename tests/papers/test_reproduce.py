"""A paper's numbers beside our own, and when two figures agree."""

from __future__ import annotations

from importlib import import_module
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gauntlet.models.fake import Fake
from gauntlet.papers import reproduce, reproductions
from gauntlet.papers.gamebench import matches
from gauntlet.papers.llm_uno import reproduction as llm_uno
from gauntlet.papers.llm_uno.reproduction import setting_rows
from gauntlet.papers.published import (
    COLUMNS,
    exact_row,
    frame,
    known_share_row,
    mean_row,
    not_run,
    paper,
    share_row,
    unreferenced_row,
)
from gauntlet.papers.verdicts import (
    Estimate,
    Gap,
    headline,
    judged,
    of_counts,
    of_draws,
    of_known,
    of_means,
    tally,
)
from gauntlet.stats.proportions import clopper_pearson
from tests.pipeline.conftest import Capsys, Refusal


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
        patch.setattr(reproduce, "source_of", lambda model: Fake())
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
        "model": "llama70b_raw",
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
    table = frame(llm_uno.rows(seats, pd.DataFrame([cell]), ["llama70b_raw"])).set_index("id")
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


def test_an_unknown_model_is_one_clear_line(tmp_path: Path, refusal: Refusal) -> None:
    assert "no conf/model/pockett.yaml; did you mean 'pocket'" in refusal(
        reproduce.main(["llm_uno", "--models", "pockett", "--out", str(tmp_path)])
    )


def test_two_papers_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    (tmp_path / "reproduction.py").touch()
    both = {"lab.mine": tmp_path, "other.mine": tmp_path}
    monkeypatch.setattr(reproduce, "packages", lambda: both)
    line = refusal(reproduce.main(["mine", "--out", str(tmp_path / "out")]))
    assert "lab.mine.reproduction, other.mine.reproduction" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["--playouts", "0"], ["--deals", "0"]])
def test_nothing_is_played_for_a_number_below_one(
    tmp_path: Path, refusal: Refusal, words: list[str]
) -> None:
    assert "deals and playouts are 1 or more" in refusal(
        reproduce.main(["uno_arena", *words, "--out", str(tmp_path)])
    )
    assert not list(tmp_path.iterdir())


def test_a_model_without_weights_here_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert reproductions.available(["llama70b", "fake", "llama70b_raw"]) == ["fake"]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1] for line in lines] == [" llama70b", " llama70b_raw"]


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
    refusal: Refusal,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(matches, "FILE", tmp_path / "none.json")
    assert message in refusal(reproduce.main([*words, "--complete", "--out", str(tmp_path)]))
    assert not list(tmp_path.iterdir())


# --- verdicts


CHANCE = 43.65
"""Win rate of random players against each other in Tic-Tac-Toe, in percent."""


def share(wins: int, games: int) -> Estimate:
    found = clopper_pearson(wins, games)
    return Estimate(100 * wins / games, 100 * float(found.low), 100 * float(found.high))


def printed(value: float, n: int, without: float = CHANCE) -> dict[str, object]:
    return {"id": "x", "value": value, "n": n, "without": without}


@pytest.mark.parametrize(
    ("value", "theirs", "wins", "games", "verdict", "p"),
    [
        (31.58, 1200, 4, 120, "differs", 7.6e-14),  # TALAGA's random.avg_win_rate
        (36.5, 200, 1, 20, "differs", 0.0027),  # its random.vs.cot, of so few games
        (33.5, 1200, 36, 120, "uninformative", 0.48),  # cot-sc.avg_win_rate: 10 points from chance
        (86.0, 200, 18, 20, "agrees", 1.0),  # minmax.vs.random: 42 points from chance
        (86.0, 200, 4, 4, "agrees", 1.0),
        (60.0, 200, 12, 20, "uninformative", 1.0),  # the same share, and much could be hidden
        (43.65, 10_000, 4365, 10_000, "uninformative", 1.0),  # no effect: nothing to agree on
    ],
)
def test_two_shares_are_tested_and_the_gap_must_hide_nothing(
    value: float, theirs: int, wins: int, games: int, verdict: str, p: float
) -> None:
    row = share_row(printed(value, theirs), share(wins, games), games, games, 100)
    assert (row.verdict, row.n, row.deals, row.published_n) == (verdict, games, games, theirs)
    assert row.p_value == pytest.approx(p, rel=0.02)
    assert row.matters == pytest.approx(abs(value - CHANCE))
    assert row.gap_low < row.gap < row.gap_high


def test_minimax_never_loses_however_few_games_were_played() -> None:
    """4.5% of 200 in print agrees with 0 of 20; it differs from a proven 0."""
    assert of_counts(0, 20, 9, 200).p_value == 1
    row = known_share_row(printed(4.5, 200), 0.0, 100)
    assert (row.verdict, row.p_value) == ("differs", 0)
    assert (row.gap, row.ci_low, row.ci_high) == (-4.5, 0, 0)
    assert known_share_row(printed(0.0, 200), 0.0, 100).verdict == "agrees"


def test_a_known_share_is_tested_by_the_error_of_theirs_alone() -> None:
    assert of_known(0.5, 30, 50).p_value == pytest.approx(0.2026, abs=1e-4)
    assert of_known(0.5, 36, 50).p_value == pytest.approx(0.0026, abs=1e-4)


@pytest.mark.parametrize(
    ("reach", "off", "verdict"),
    [
        (2.0, 0.0, "agrees"),
        (2.0, 3.1, "differs"),  # 2 sqrt(2) is 2.83
        (2.0, 2.7, "uninformative"),  # not rejected, but 5.5 off is not excluded either
        (8.0, 0.0, "uninformative"),  # so wide that nothing could have differed
    ],
)
def test_means_over_deals_have_both_errors(reach: float, off: float, verdict: str) -> None:
    """The published 55 is 5 from no effect, from as many games as ours."""
    ours = Estimate(55 + off, 55 + off - reach, 55 + off + reach)
    row = mean_row(printed(55, 500, 50), ours, 500, 100)
    assert row.verdict == verdict
    assert row.gap_high - row.gap == pytest.approx(reach * sqrt(2))


def test_p_is_at_the_level_where_the_interval_of_the_gap_ends_at_nothing() -> None:
    for degrees in (9, 99, inf):
        found = of_means(Estimate(10, 7, 12), degrees, 7, their_error=0.0)
        assert found.p_value == pytest.approx(0.05)
        assert found.low == pytest.approx(0)


def test_a_share_of_games_that_share_deals_is_a_mean_over_deals() -> None:
    """10 decks from both seats, all alike: 20 games that are no 20 coins."""
    entry, own = printed(57, 200, 50), Estimate(90, 40, 99)
    assert share_row(entry, own, 20, 10, 100) == mean_row(entry, own, 20, 10)
    found = share_row(entry, own, 20, 10, 100, independent=12)
    assert found.p_value == pytest.approx(of_counts(11, 12, 114, 200).p_value)
    assert found.gap == pytest.approx(90 - 57), "whatever whole count of 12 is nearest"


def test_an_unknown_number_of_their_games_is_no_test() -> None:
    row = mean_row({"id": "x", "value": 53.8, "without": 50}, Estimate(54, 50, 58), 45, 5)
    assert (row.verdict, row.published_n) == ("not_computable", 0)
    assert np.isnan(row.p_value)


@pytest.mark.parametrize(
    ("value", "ours", "rounding", "verdict"),
    [
        (0.49, 0.4876, 0.005, "agrees"),
        (0.49, 0.4849, 0.005, "differs"),
        (277, 277, 0.0, "agrees"),
        (277, 276, 0.0, "differs"),
    ],
)
def test_exact_figures_are_equal_to_the_digits_in_print(
    value: float, ours: float, rounding: float, verdict: str
) -> None:
    assert exact_row({"id": "x", "value": value}, ours, rounding).verdict == verdict


def test_a_mean_of_draws_is_as_near_as_its_own_noise() -> None:
    """Of a standard deviation of 1 the error is sqrt(1/1000 + 1/10000) = .0332: .07 and half a
    digit may lie between, where .1 may not; of .1 not even .02."""
    for gap, sd, same in ((0.069, 1.0, True), (0.1, 1.0, False), (0.02, 0.1, False)):
        found = of_draws(1 + gap, 10_000, 1.0, 1000, sd, 0.005)
        assert (found.p_value >= 0.05) == (found.low <= 0 <= found.high) == same
        assert judged(found, 1.0) == ("agrees" if same else "differs")
    assert judged(of_draws(0.01, 10_000, 0.01, 1000, 1.0, 0.005), 0.01) == "uninformative"


def test_only_results_are_in_the_headline() -> None:
    result = mean_row(printed(55, 500, 50), Estimate(55, 54, 56), 500, 500)
    wide = mean_row(printed(55, 500, 50), Estimate(55, 35, 75), 500, 500)
    kinds = ("setting", "recount", "own_derivation", "own_earlier")
    others = [exact_row({"id": "x", "kind": kind, "value": 1}, 1) for kind in kinds]
    others += [exact_row({"id": "x", "kind": kind, "value": 1}, 2) for kind in kinds]
    others += [not_run({"id": "x"}), unreferenced_row({"id": "x"}, Estimate(1, 0, 2))]
    assert headline(frame([result, wide, *others])).startswith(
        "2 results are compared with the paper's: 1 agree, 0 differ, 1 uninformative."
    )
    assert headline(frame(others)).startswith("No result")
    found = tally(frame([result, wide, *others]))
    assert list(found.index) == ["result", *kinds]
    assert found.loc["own_earlier"].to_dict() == {
        "agrees": 1, "differs": 1, "uninformative": 0, "not_run": 0, "no_reference": 0
    }  # fmt: skip


def test_a_true_line_differs_one_time_in_twenty_at_most() -> None:
    rng = np.random.default_rng(0)
    wins, theirs = rng.binomial(20, 0.4, 2000), rng.binomial(200, 0.4, 2000)
    gaps = [of_counts(a, 20, b, 200) for a, b in zip(wins, theirs, strict=True)]
    assert np.mean([judged(gap, 0.1) == "differs" for gap in gaps]) < 0.05
    assert np.mean([gap.low <= 0 <= gap.high for gap in gaps]) > 0.93
    assert isinstance(gaps[0], Gap)
    assert pd.Series([gap.value for gap in gaps]).mean() == pytest.approx(0, abs=0.01)
