"""UNO Arena's tables: lines and verdicts from judged players, brackets, marks, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.papers import reproductions
from gauntlet.papers.audit.uno_arena import near
from gauntlet.papers.published import paper
from gauntlet.papers.uno_arena import reproduction as uno_arena
from gauntlet.papers.uno_arena import tables as uno_arena_tables
from gauntlet.papers.uno_arena.blocks import our_block, paper_block, traced
from gauntlet.papers.uno_arena.lines import Line, printed
from gauntlet.papers.uno_arena.rows import correlation_rows, table_rows, trace_rows
from gauntlet.papers.uno_arena.tables import Block, marks
from gauntlet.papers.verdicts import Estimate
from gauntlet.stats.decisions import scaled_change
from tests.pipeline.judgements import by_id, describe

TOLD = paper("uno_arena")
COLUMNS = TOLD["columns"]
Figures = tuple[float, float, float, float]
"""A win rate, and ODHR, ADR and half the width of all intervals."""


def judged(cell: str, player: int, name: str, games: int, figures: Figures) -> Iterator[Any]:
    """A player's rows of metrics.csv, the same figures for every number of options."""
    rate, odhr, adr, reach = figures
    won = round(rate * games)
    for fallbacks in ("left_out", "counted"):
        for options in (2, 3, 4):
            row: dict[str, Any] = {"cell": cell, "key": cell, "player": player, "name": name}
            row["games"] = games
            row |= {"wins": won, "solo_wins": won - 1, "shared_wins": 1, "win_rate": rate}
            row |= {"win_low": rate - reach, "win_high": rate + reach, "values": "true"}
            row |= {"threshold": 0.15, "fallbacks": fallbacks, "options": options}
            row |= {"decisions": 10, "odhr": odhr, "odhr_low": odhr - reach}
            row |= {"odhr_high": odhr + reach, "adr": adr, "adr_low": adr - reach}
            yield row | {"adr_high": adr + reach}


def folder_of(there: Path, rows: list[Any]) -> Path:
    """An output_dir with these rows; its cells, by age, use their names as keys."""
    (there / "metrics").mkdir(parents=True)
    pd.DataFrame(rows).to_csv(there / "metrics" / "metrics.csv", index=False)
    for age, cell in enumerate(dict.fromkeys(row["cell"] for row in rows)):
        describe(there, cell, cell, age)
    return there


@pytest.fixture
def table2(tmp_path: Path) -> Block:
    """GPT-4 and DQN as printed but for GPT-4's ranks, a random player, and pocket twice."""
    players = (
        ("random", (0.49, 0.5, 1.5, 0.04)),
        ("dqn", (0.574, 0.5, 2.0, 0.04)),
        ("llm.gpt-4.vanilla", (0.632, 0.6147, 3.5, 0.04)),
        ("llm.pocket.vanilla[max_tokens=9]", (0.1, 0.2, 1.1, 0.04)),
        ("llm.pocket.vanilla", (0.5, nan, nan, nan)),
    )
    rows = [row for name, own in players for row in judged(name, 1, name, 500, own)]
    beaten = (0.2, 0.3, 1.9, 0.04)
    rows += [row for name, _ in players for row in judged(name, 0, "random", 500, beaten)]
    return our_block({"table2": folder_of(tmp_path, rows)}, "table2", 0.15)


def test_every_line_has_the_verdict_that_it_should(table2: Block) -> None:
    found = by_id(table_rows(TOLD, "table2", table2.lines, ["random", "pocket", "nobody"]))
    assert len(found) == 7 * (6 + 3)
    assert (found["table2.gpt-4.wr"].published, found["table2.gpt-4.wr"].ours) == (63.2, 63.2)
    assert (found["table2.gpt-4.wr"].ci_low, found["table2.gpt-4.wr"].n) == (
        pytest.approx(59.2),
        500,
    )
    verdicts = {
        "gpt-4.wr": "agrees",
        "gpt-4.odhr2": "agrees",
        "gpt-4.adr2": "differs",
        "dqn.wr": "agrees",
        "dqn.odhr4": "differs",
        "gpt-3.5.wr": "not_run",
        "random.wr": "no_reference",
        "nobody.wr": "not_run",
        "pocket.wr": "no_reference",
        "pocket.odhr3": "no_reference",
    }
    assert {line: found[f"table2.{line}"].verdict for line in verdicts} == verdicts
    assert isnan(found["table2.nobody.wr"].published)
    assert isnan(found["table2.pocket.odhr3"].ours)


def test_the_random_row_is_the_random_player_in_the_others_seat(table2: Block) -> None:
    assert table2.lines["random"].measures["WR"].value == pytest.approx(49)


def test_of_a_player_judged_twice_the_newer_cell_counts(table2: Block) -> None:
    assert table2.lines["pocket"].measures["WR"].value == 50.0


def test_of_two_cells_of_one_name_the_one_described_last_counts(tmp_path: Path) -> None:
    """Wherever it is in the file, and in the traces too."""
    rows = [
        {**row, "cell": "solo-dqn", "key": key}
        for key, rate in (("new", 0.6), ("old", 0.5))
        for row in judged(key, 1, "dqn", 100, (rate, 0.5, 1.5, 0.1))
    ]
    there = folder_of(tmp_path / "out", rows)
    describe(there, "solo-dqn", "old", 1)
    describe(there, "solo-dqn", "new", 2)
    lines = our_block({"table2": there}, "table2", 0.15).lines
    assert lines["dqn"].measures["WR"].value == pytest.approx(60)
    stands = [{"cell": "solo-dqn", "key": row["key"], "name": "dqn"} for row in rows]
    pd.DataFrame(stands).to_csv(there / "metrics" / "traces.csv", index=False)
    assert set(traced(there)["key"]) == {"new"}


def test_win_rates_are_of_games_and_all_else_is_a_mean_over_decks() -> None:
    """316 of 500 won in print, 13.2 points from a random player's rate. With 500 of ours the
    half-width is 6 points, with 50 it is 14."""
    for games, off, verdict in ((500, 0, "agrees"), (500, 7, "differs"), (50, 0, "uninformative")):
        reach = 4 * sqrt(500 / games)
        measures = {column: Estimate(nan) for column in COLUMNS}
        measures["WR"] = Estimate(63.2 + off, 59.2, 67.2)
        measures["ODHR@2"] = Estimate(61.47 + off, 61.47 + off - reach, 61.47 + off + reach)
        found = by_id(table_rows(TOLD, "table2", {"gpt-4": Line(games, measures)}, []))
        wins, hits = found["table2.gpt-4.wr"], found["table2.gpt-4.odhr2"]
        assert (wins.verdict, wins.deals, hits.verdict) == (verdict, games, verdict)
        assert (wins.matters, hits.matters) == pytest.approx((13.2, 11.47))


MISPRINTS = {
    ("table4", "gpt-3.5", "ODHR@2"),  # UA-03
    ("table4", "gpt-3.5", "ADR@2"),  # UA-03
    ("table5", "gemini-pro.minus_strategy", "ADR@4"),  # UA-04
}


def test_changes_are_the_published_brackets_but_for_the_misprints() -> None:
    missed = set()
    for table, new, old in (
        ("table4", "{}.tutri", "{}.vanilla"),
        ("table5", "{}", "gemini-pro.full"),
    ):
        lines = printed(TOLD, table)
        for player, bracket in printed(TOLD, table, "changes").items():
            after, before = lines[new.format(player)], lines[old.format(player)]
            for column in COLUMNS:
                metric, _, k = column.partition("@")
                pair = (line.measures[column].value for line in (after, before))
                found = scaled_change(*pair, int(k)) if metric == "ADR" else np.subtract(*pair)
                if not near(float(found), bracket.measures[column].value):
                    missed.add((table, player, column))
    assert missed == MISPRINTS


def test_best_and_second_are_those_of_the_numbers() -> None:
    """The statement of UA-07 about the printed marks."""
    found = marks(printed(TOLD, "table2"))
    best = {
        column: player for player, own in found.items() for column in own if own[column] == "best"
    }
    second = {c: player for player, own in found.items() for c in own if own[c] == "second"}
    assert best == {**dict.fromkeys(COLUMNS, "gpt-4"), "ODHR@4": "dqn"}
    assert second["ODHR@4"] == "gpt-4"
    assert {second["ODHR@2"], second["ADR@2"]} == {"gpt-3.5"}
    assert {second[c] for c in ("WR", "ODHR@3", "ADR@3", "ADR@4")} == {"dqn"}


def test_in_table_4_each_model_is_marked_by_itself() -> None:
    found = paper_block(TOLD, "table4").marks()
    assert found["gpt-3.5.tutri"]["WR"] == "best"
    assert found["gpt-3.5.vanilla"]["WR"] == "second"
    assert sum(own["WR"] == "best" for own in found.values()) == 5


def test_equal_values_share_a_place_and_what_is_unknown_has_none() -> None:
    values = {"a": 2.0, "b": 2.0, "c": 1.0, "d": nan}
    found = marks({player: Line(1, {"WR": Estimate(value)}) for player, value in values.items()})
    assert [own.get("WR") for own in found.values()] == ["best", "best", "second", None]


def test_a_table_of_five_names_scripted_players_by_the_model_there(tmp_path: Path) -> None:
    names = ("random", "rule", "search", "llm.{0}.vanilla", "llm.{0}.tutri")
    rows = [
        row
        for model in ("pocket", "gpt-4")
        for player, name in enumerate(names)
        for row in judged(f"five-{model}", player, name.format(model), 200, (0.2, 0.5, 1.5, 0.1))
    ]
    block = our_block({"table3": folder_of(tmp_path, rows)}, "table3", 0.15)
    assert len(block.lines) == 10
    assert {"random.with_pocket", "random.with_gpt-4", "gpt-4.tutri"} <= set(block.lines)
    found = by_id(table_rows(TOLD, "table3", block.lines, []))
    assert found["table3.gpt-4.wr"].verdict == "not_run"


def test_the_printed_correlations_are_those_of_table_3() -> None:
    ours = {table: dict(printed(TOLD, table)) for table in ("table2", "table3")}
    ours["table2"].pop("gpt-4")
    found = by_id(correlation_rows(TOLD, ours))
    names = ("table2.wr_odhr3", "table2.wr_adr3", "table3.wr_odhr3", "table3.wr_adr3")
    checks = {name: found[f"fig2.printed.{name}"] for name in names}
    assert [row.verdict for row in checks.values()] == ["differs", "differs", "agrees", "agrees"]
    assert checks["table2.wr_odhr3"].ours == pytest.approx(0.705, abs=5e-4)
    assert checks["table3.wr_adr3"].ours == pytest.approx(-0.866, abs=5e-4)
    assert found["fig2.pearson.wr_odhr3"].verdict == "not_run"
    assert found["fig2.ours.table2.wr_odhr2"].n == 5
    assert found["fig2.ours.table2.wr_odhr2"].verdict == "no_reference"


def test_with_all_players_here_the_printed_correlation_is_judged() -> None:
    ours = {table: printed(TOLD, table) for table in ("table2", "table3")}
    found = by_id(correlation_rows(TOLD, ours))["fig2.pearson.wr_adr3"]
    assert (found.published, found.n) == (-0.86, 6)
    assert found.ours == pytest.approx(-0.924, abs=5e-4)
    assert found.verdict == "uninformative", "with six players r = 0 would have had .86 inside too"


def stands(chances: Mapping[str, list[tuple[float, float]]]) -> pd.DataFrame:
    """Rows of traces.csv by match: values of random and pocket after each ply."""
    return pd.DataFrame(
        {"match": match, "who": who, "ply": ply, "true": pair[seat]}
        for match, plies in chances.items()
        for ply, pair in enumerate(plies)
        for seat, who in enumerate(("random", "pocket"))
    )


def test_the_steepest_fall_of_a_deck_is_found_and_who_gained() -> None:
    table = stands({"m": [(0.5, 0.5), (0.4, 0.6), (0.75, 0.26), (0.7, 0.3)], "n": [(0.4, 0.6)]})
    found = by_id(trace_rows(TOLD, table, ["pocket", "gpt-4"]))
    assert found["fig3.pocket.deck1.largest_drop"].ours == pytest.approx(34.0)
    assert found["fig3.pocket.deck1.random_gain_there"].ours == pytest.approx(35.0)
    assert isnan(found["fig3.pocket.deck2.largest_drop"].ours)
    told = found["fig3.deck1.random_drop_round28_29"]
    assert (told.published, told.verdict) == (34.5, "not_run")
    assert len(found) == 2 + 4


def test_tables_fit_a_terminal(table2: Block) -> None:
    from gauntlet.common.terminal import console

    out = console()
    for table in ("table2", "table4", "table5"):
        own = table2 if table == "table2" else paper_block(TOLD, table)
        with out.capture() as capture:
            out.print(uno_arena_tables.view(table, (paper_block(TOLD, table), own), COLUMNS))
        text = capture.get()
        assert max(map(len, text.splitlines())) <= 100
        assert "…" not in text


def test_a_file_tells_solo_and_shared_wins_and_marks(table2: Block) -> None:
    rows = uno_arena_tables.layout(table2, COLUMNS).set_index("player")
    assert (rows.loc["dqn", "solo_wins"], rows.loc["dqn", "shared_wins"]) == (286, 1)
    assert rows.loc["gpt-4", "best"] == "WR ODHR@2 ODHR@3 ODHR@4"
    assert rows.loc["dqn", "decisions@3"] == 10


def test_no_more_decks_than_asked_for_and_than_the_paper_has(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    class Settings:
        def __init__(self, deals: int) -> None:
            self.deals = deals

        def run(self, experiment: str, folder: str, *words: str) -> Path:
            asked.append((folder, next(word for word in words if word.startswith("deals="))))
            return tmp_path / folder

    for deals in (2000, 50):
        settings: Any = Settings(deals)
        uno_arena.play(settings, ["pocket"])
    tables = ("table2", "table3", "table3_rotated", "tutri")
    assert [folder for folder, _ in asked] == 2 * [f"uno_arena_{table}" for table in tables]
    sizes = [deals for _, deals in asked]
    assert sizes == [f"deals={n}" for n in (500, 200, 40, 100, 50, 50, 40, 50)]


@pytest.mark.parametrize(
    ("overrides", "launch"),
    [
        ((), []),
        (("launch=inline", "launch.workers=2"), []),
        (("deals=3", "launch=local", "launch.workers=2"), ["--launch", "local", "workers=2"]),
        (("launch=ray", "launch.address=a:1"), ["--launch", "ray", "address=a:1"]),
    ],
)
def test_decisions_are_judged_where_the_matches_were_played(
    monkeypatch: pytest.MonkeyPatch, overrides: tuple[str, ...], launch: list[str]
) -> None:
    ran: list[tuple[str, ...]] = []
    monkeypatch.setattr(reproductions, "command", lambda *words: ran.append(words))
    settings = reproductions.Settings(
        ("pocket",), 5, 77, Path("out"), (*overrides, "tracking.store=there")
    )
    settings.judge(Path("folder"), "--tie", "min")
    (words,) = ran
    assert words[:2] == ("pipeline.metrics", "folder")
    assert [*words[2:]] == ["--playouts", "77", "--store", "there", "--tie", "min", *launch]
