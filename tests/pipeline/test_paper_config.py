"""`report --paper FILE`: columns, rows, their order and names in LaTeX tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from gauntlet.pipeline import report
from tests.pipeline.conftest import Capsys, Once, Refusal

CONFIG = """
names: {fake: Fake & co., cloze: Cloze}
tables:
  summary:
    title: Two prompts
    columns: {cell: Player, "95% interval": "CI", matches: n}
    rows: [fake counterfactual, fake cloze]
"""


@pytest.fixture
def played(once: Once) -> Path:
    return once("prompt=cloze,counterfactual", "deals=5")


def written(folder: Path, tmp_path: Path, config: str) -> int:
    file = tmp_path / "paper.yaml"
    file.write_text(config)
    return report.main([str(folder), "--paper", str(file)])


def test_a_table_is_written_as_configured(played: Path, tmp_path: Path) -> None:
    assert written(played, tmp_path, CONFIG) == 0
    text = (played / "paper" / "tables" / "summary.tex").read_text()
    rows = [line.rstrip("\\ ").split(" & ") for line in text.splitlines() if " & " in line]
    assert rows[0] == ["Player", "CI", "n"]
    assert [row[0].replace(r"\allowbreak{}", "") for row in rows[1:]] == [
        r"Fake \& co. counterfactual",
        r"Fake \& co. Cloze",
    ]
    assert "caption{Two prompts. " in text
    assert report.main([str(played), "--paper"]) == 0
    assert "Two prompts. " not in (played / "paper" / "tables" / "summary.tex").read_text()


def test_of_equal_headings_the_second_has_a_number(played: Path, tmp_path: Path) -> None:
    config = 'tables: {pairs: {columns: ["deals", "p Holm"]}}'
    assert written(played, tmp_path, config) == 0
    text = (played / "paper" / "tables" / "pairs.tex").read_text()
    assert "deals & p Holm" in text


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("tables: {sumary: {}}", "no table 'sumary'; did you mean 'summary'?"),
        ("tables: {summary: {columns: [maches]}}", "no column 'maches'; did you mean 'matches'?"),
        ("tables: {summary: {rows: [fake]}}", "no row 'fake'"),
        ("tables: {summary: {colums: []}}", "unknown field `colums`"),
        ("names: [", "paper.yaml"),
        ("names: 3", "paper.yaml"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(
    config: str, why: str, played: Path, tmp_path: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    assert why in refusal(written(played, tmp_path, config))


def test_a_config_that_is_not_there_is_refused(
    played: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    assert "none.yaml" in refusal(report.main([str(played), "--paper", "none.yaml"]))
