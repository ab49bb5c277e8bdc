"""The figures of the decision metrics agree with the tables."""

from __future__ import annotations

import pandas as pd
import pytest

from gauntlet.papers.published import paper
from gauntlet.pipeline.tables.metric_figures import by_player, heat_map, traces


def table3() -> pd.DataFrame:
    told = paper("uno_arena")
    return pd.DataFrame(list(told["table3"]["rows"].values()), columns=told["columns"])


def texts(table: pd.DataFrame) -> list[str]:
    """The heat map's cells, line by line."""
    return [text.get_text() for text in heat_map(table).axes[0].texts]


def test_the_heat_map_of_the_published_table_3() -> None:
    """Fig. 2's strongest correlations are those of Table 3; the others as recomputed from it."""
    found = [text.splitlines() for text in texts(table3())]
    expected = ["+0.632", "+0.851", "+0.810", "-0.638", "-0.866", "-0.707"]
    assert [lines[0] for lines in found] == expected
    assert all(len(lines) == 2 for lines in found)
    assert "n = 5 players" in heat_map(table3()).get_suptitle()


def test_three_players_have_no_interval_and_an_unknown_one_is_not_counted() -> None:
    table = table3().head(3)
    assert [len(text.splitlines()) for text in texts(table)] == [1] * 6
    table.loc[0, "ODHR@2"] = float("nan")
    assert texts(table)[0] == "+1.000\nn = 2"
    table["ADR@4"] = float("nan")
    assert texts(table)[5] == "-\nn = 0"


def test_a_row_a_player_from_the_long_table() -> None:
    rows = [
        {"key": cell, "cell": cell, "player": 1, "name": cell, "win_rate": rate, "values": values,
         "threshold": threshold, "fallbacks": fallbacks, "options": k,
         "odhr": rate + k if kept else 99.0, "adr": rate - k if kept else 99.0}
        for cell, rate in (("a", 0.5), ("b", 0.25))
        for values in ("true", "seen")
        for threshold in (0.0, 0.15)
        for fallbacks in ("left_out", "counted")
        for k in (2, 3, 4)
        for kept in [(values, threshold, fallbacks) == ("true", 0.15, "left_out")]
    ]  # fmt: skip
    found = by_player(pd.DataFrame(rows), 0.15).set_index("name")
    assert list(found.index) == ["a", "b"]
    expected = [0.25, 2.25, 3.25, 4.25, -1.75, -2.75, -3.75]
    assert found.loc["b"].tolist() == expected


def stands(deals: int, plies: int = 5, cell: str = "cell") -> pd.DataFrame:
    """Two players who move in turn; the second one's chance rises by a tenth a ply."""
    return pd.DataFrame(
        {"key": cell, "cell": cell, "match": f"{cell}{deal}", "deal": deal, "ply": ply,
         "moved": ply % 2, "seat": seat, "player": seat, "name": ("random", "rule")[seat],
         "true": 0.5 + 0.1 * ply * (2 * seat - 1), "seen": float("nan")}
        for deal in range(deals) for ply in range(plies) for seat in (0, 1)
    )  # fmt: skip


@pytest.mark.parametrize(("deals", "panels"), [(1, 1), (3, 3), (4, 4), (6, 4)])
def test_a_panel_a_deal_and_a_line_a_player(deals: int, panels: int) -> None:
    drawn = [axes for axes in traces(stands(deals)).axes if axes.axison]
    assert [axes.get_title() for axes in drawn] == [f"deal {deal}" for deal in range(panels)]
    for axes in drawn:
        assert axes.get_ylim() == (0, 1)
        lines = {line.get_label(): line for line in axes.lines}
        rising = lines["player 1, rule"]
        assert list(rising.get_xdata()) == [0, 1, 2, 3, 4]  # type: ignore[arg-type]
        assert list(rising.get_ydata()) == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9])  # type: ignore[arg-type]
        own = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "o"]  # type: ignore[arg-type]
        assert own == [[0, 2, 4], [1, 3]]


def test_of_several_cells_the_first_deals_of_each_are_drawn() -> None:
    both = pd.concat([stands(3, cell="a"), stands(3, cell="b")])
    titles = [axes.get_title() for axes in traces(both).axes]
    assert titles == ["deal 0, a", "deal 0, b", "deal 1, a", "deal 1, b"]
