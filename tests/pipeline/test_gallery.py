"""Figures on both widths of a page: their contents, colours, and nothing cut off or overlapping."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from gauntlet.papers.published import paper
from gauntlet.pipeline.tables.commands.labels import letter_prior
from gauntlet.pipeline.tables.commands.metrics import (
    by_player,
    heat_map,
    metric_figures,
    traces,
)
from gauntlet.pipeline.tables.formatting import Scale
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.media.plot_style import ACCENT, COLUMN, INK, WIDE, Medium
from gauntlet.pipeline.tables.sweep import figures
from gauntlet.pipeline.tables.sweep.choices import choice_distribution
from gauntlet.pipeline.tables.sweep.costs import frontier
from tests.pipeline.made import (
    RANDOM,
    KnownBaseline,
    about,
    drawn_of,
    made_of,
    pairs_table,
    scored,
    summary_table,
    won,
)

LONG = "a model of $quite$ <some> length & more of it, [temperature=0.7,samples=3] cell {}"


def chosen(cells: int, values: int = 8) -> pd.DataFrame:
    """choices.csv of cells that take the first option in (at + 1) / 100 of their decisions."""
    rows = []
    for at in range(cells):
        for kind, name in (("place", "{}"), ("option", "card {}")):
            told = [name.format(value + 1) for value in range(values)] + ["last"] * (
                kind == "place"
            )
            for value, text in enumerate(told):
                share = (at + 1) / 100 if value == 0 else 0.1
                rows.append((LONG.format(at), kind, text, 9, share, 0.125))
    return pd.DataFrame(rows, columns=["cell", "kind", "value", "count", "share", "random"])


def letters(cells: int) -> pd.DataFrame:
    """labels.csv of cells that prefer the first letter by 5 points."""
    rows = [
        (LONG.format(at), k, letter, 50 * k, 1 / k + (0.05 if place == 0 else -0.05 / (k - 1)))
        for at in range(cells)
        for k in (2, 4)
        for place, letter in enumerate("ABCD"[:k])
    ]
    table = pd.DataFrame(rows, columns=["cell", "options", "letter", "decisions", "probability"])
    return table.assign(
        ci_low=table["probability"] - 0.01, ci_high=table["probability"] + 0.01, mass=1
    )


def judged() -> pd.DataFrame:
    """metrics.csv of three players."""
    return pd.DataFrame(
        {"key": "k", "cell": "c", "player": player, "name": LONG.format(player), "win_rate": 0.2,
         "values": "true", "threshold": 0.0, "fallbacks": "left_out", "options": k,
         "decisions": 40, "odhr": 0.5, "odhr_low": 0.4, "odhr_high": 0.6, "odhr_chance": 1 / k,
         "adr": 1.5, "adr_low": 1.2, "adr_high": 1.9, "adr_chance": (k + 1) / 2}
        for player in range(3) for k in (2, 3, 4)
    )  # fmt: skip


def every(cells: int) -> Iterator[Figure]:
    """Every kind of figure, with this many cells whose names are too long."""
    names = [LONG.format(at) for at in range(cells)]
    found = [
        won(about(f"m{at}", baseline=RANDOM, model=names[at]), [1, 0, 1, at % 2] * 5)
        for at in range(cells)
    ]
    made = made_of(found, {"pairs": pairs_table(found[:5])})
    drawn = ("win_rates", "running_win_rates", "paired_differences", "costs")
    yield from drawn_of(made, *drawn).values()
    scores = [scored(name, [3, 9, 1, 4] * 5, baseline=KnownBaseline(4.0)) for name in names]
    yield figures.means(summary_table(scores), names, Scale("score", False))
    yield choice_distribution(chosen(cells), dict(zip(names, names, strict=True)), counts(cells))
    yield letter_prior(letters(cells), dict(zip(names, names, strict=True)))
    yield from metric_figures(judged(), pd.DataFrame()).values()


def counts(cells: int) -> dict[str, float]:
    return {LONG.format(at): 100.0 for at in range(cells)}


def words(figure: Figure) -> list[Text]:
    """Every visible text, after layout."""
    figure.draw_without_rendering()
    beyond = {label for axes in figure.axes for label in unseen(axes)}
    found = [text for text in figure.findobj(Text) if isinstance(text, Text)]
    return [
        text
        for text in found
        if text.get_visible() and text.get_text().strip() and text not in beyond
    ]


def unseen(axes: Axes) -> Iterator[Text]:
    """Labels of ticks beyond the ends of an axis."""
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high or not axes.axison:
                yield from (tick.label1, tick.label2)


@pytest.mark.parametrize(("cells", "medium"), [(3, WIDE), (30, COLUMN)])
def test_nothing_is_cut_or_covers_another(cells: int, medium: Medium) -> None:
    """Every figure is as wide as its medium, no higher than a page, and no word covers another."""
    with plot_style.drawing_for(medium):
        for figure in every(cells):
            assert figure.get_suptitle()
            assert figure.get_figwidth() == medium.width
            assert figure.get_figheight() < 9.5  # of a page of letter size
            boxes = [(text.get_text(), text.get_window_extent()) for text in words(figure)]
            for text, box in boxes:
                assert box.x0 > -1, text
                assert box.x1 < figure.bbox.width + 1, text
                assert box.y0 > -1, text
            for (one, a), (other, b) in combinations(boxes, 2):
                apart = a.x1 < b.x0 + 1 or b.x1 < a.x0 + 1 or a.y1 < b.y0 + 1 or b.y1 < a.y0 + 1
                assert apart, f"{one!r} and {other!r}"


def test_bars_are_the_shares_and_stand_beside_chance() -> None:
    found = chosen(2)
    figure = choice_distribution(found, {cell: cell for cell in found["cell"]}, counts(2))
    place, move, *_ = figure.axes
    assert [bar.get_width() for bar in place.patches] == pytest.approx([1.0] + [10.0] * 8)  # type: ignore[attr-defined]
    assert [one.get_text() for one in place.get_yticklabels()][-2:] == ["8", "last"]
    assert set(np.ravel(place.lines[0].get_xdata())) == {12.5}
    assert move.get_yticklabels()[-1].get_text() == found["value"][9]  # taken least often
    assert "n = 100" in place.get_title(loc="left") + place.get_title()


@pytest.mark.parametrize("cells", [1, 9, 60])
def test_a_prior_is_shaded_by_its_distance_from_an_even_share(cells: int) -> None:
    found = letters(cells)
    axes = letter_prior(found, {cell: cell for cell in found["cell"]}).axes[0]
    shades = np.ma.filled(np.asarray(axes.images[0].get_array(), float), np.nan)
    if cells == 9:  # one row per cell, for the most frequent number of options
        assert shades == pytest.approx(np.tile([5, -5 / 3, -5 / 3, -5 / 3], (9, 1)))
    else:
        assert shades[0, :2] == pytest.approx([5, -5])
        assert shades[1] == pytest.approx([5, -5 / 3, -5 / 3, -5 / 3])
        told = "2: n = 100, ±1.0" if cells == 1 else "2: n = 100"
        assert axes.get_yticklabels()[0].get_text() == told


def test_the_frontier_has_what_nothing_as_cheap_equals() -> None:
    cost = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    value = np.array([0.5, 0.4, 0.3, 0.6, 0.7])
    assert frontier(cost, value).tolist() == [1, 3, 4]


def test_a_cost_that_nobody_knows_has_no_figure() -> None:
    made = made_of([won(about("a", baseline=RANDOM), [1, 0, 1])])
    (figure,) = drawn_of(made, "costs").values()
    assert figure.axes[0].lines[1].get_xydata()[0] == pytest.approx([120, 200 / 3])
    free = made["costs"].assign(all_tokens=0, device_seconds=0.0)
    assert not drawn_of(made_of(made.cells, {"costs": free}), "costs")


def test_a_drawing_takes_the_colours_of_the_page_and_names_nothing_twice() -> None:
    with plot_style.drawing_for(WIDE):
        figure, axes = plot_style.canvas(2.0)
        axes.plot([0, 1], [0, 1], "o-", color=ACCENT, clip_on=True)
        axes.set_title("fill: me & <you> $x$")
        one, other = plot_style.svg(figure, "one"), plot_style.svg(figure, "other")
    assert f"stroke: var(--accent, {ACCENT})" in one
    assert f"fill: var(--ink, {INK})" in one
    assert "fill: me &amp; &lt;you&gt; $x$" in one
    assert "fill: #ffffff" not in one  # no background
    assert "font-family" not in one
    ids = [set(re.findall(r'\bid="([^"]+)"', told)) for told in (one, other)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'(?:href="|url\()#([\w-]+)', one)) <= ids[0]


# --- decision metrics


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


@pytest.mark.parametrize(("deals", "panels"), [(1, 1), (6, 4)])
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


def test_a_heat_map_of_choices_is_what_is_beyond_chance() -> None:
    found = chosen(6)
    figure = choice_distribution(found, {cell: cell for cell in found["cell"]}, counts(6))
    shades = np.asarray(figure.axes[0].images[0].get_array())
    assert shades[:, 0] == pytest.approx([at + 1 - 12.5 for at in range(6)])
    assert figure.axes[0].texts[0].get_text() == "1"


def test_many_cells_are_their_median() -> None:
    found = chosen(101)
    figure = choice_distribution(found, {cell: cell for cell in found["cell"]}, counts(101))
    assert figure.axes[0].patches[0].get_width() == pytest.approx(51.0)  # type: ignore[attr-defined]
    (lines,) = figure.axes[0].collections
    assert lines.get_paths()[0].vertices[:, 0] == pytest.approx([6.0, 96.0])
    assert len(plot_style.svg(figure)) < 60_000
