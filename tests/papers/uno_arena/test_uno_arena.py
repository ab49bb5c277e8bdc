"""UNO Arena's tables: lines and verdicts from judged players, brackets, marks, figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.papers import reproductions
from gauntlet.papers.published import paper
from gauntlet.papers.uno_arena import reproduction as uno_arena
from gauntlet.papers.uno_arena import tables as uno_arena_tables
from gauntlet.papers.uno_arena.changes import Side, change, ranked
from gauntlet.papers.uno_arena.lines import Line, published_lines
from gauntlet.papers.uno_arena.reproduction import our_block, paper_block, read_traces
from gauntlet.papers.uno_arena.rows import change_rows, correlation_rows, table_rows, trace_rows
from gauntlet.papers.uno_arena.tables import Block, marks
from gauntlet.papers.verdicts import Estimate
from gauntlet.stats.proportions import wilson
from tests.papers.uno_arena.judgements import by_id, describe
from tests.pipeline.records import ended, placed, write

PUBLISHED = paper("uno_arena")
COLUMNS = PUBLISHED["columns"]
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
    found = by_id(table_rows(PUBLISHED, "table2", table2.lines, ["random", "pocket", "nobody"]))
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
    assert table2.lines["random"].measures["WR"].value == pytest.approx(49)
    assert table2.lines["pocket"].measures["WR"].value == 50.0, "of two cells the newer"
    assert isnan(found["table2.nobody.wr"].published)
    assert isnan(found["table2.pocket.odhr3"].ours)


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
    assert set(read_traces(there)["key"]) == {"new"}


def test_win_rates_are_of_games_and_all_else_is_a_mean_over_decks() -> None:
    """316 of 500 won in print, 13.2 points from a random player's rate. With 500 of ours the
    half-width is 6 points, with 50 it is 14."""
    for games, off, verdict in ((500, 0, "agrees"), (500, 7, "differs"), (50, 0, "uninformative")):
        reach = 4 * sqrt(500 / games)
        measures = {column: Estimate(nan) for column in COLUMNS}
        measures["WR"] = Estimate(63.2 + off, 59.2, 67.2)
        measures["ODHR@2"] = Estimate(61.47 + off, 61.47 + off - reach, 61.47 + off + reach)
        found = by_id(table_rows(PUBLISHED, "table2", {"gpt-4": Line(games, measures)}, []))
        wins, hits = found["table2.gpt-4.wr"], found["table2.gpt-4.odhr2"]
        assert (wins.verdict, wins.deals, hits.verdict) == (verdict, games, verdict)
        assert (wins.matters, hits.matters) == pytest.approx((13.2, 11.47))


def test_in_table_4_each_model_is_marked_by_itself() -> None:
    found = paper_block(PUBLISHED, "table4").marks()
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
    found = by_id(table_rows(PUBLISHED, "table3", block.lines, []))
    assert found["table3.gpt-4.wr"].verdict == "not_run"


def test_the_printed_correlations_are_those_of_table_3() -> None:
    ours = {table: dict(published_lines(PUBLISHED, table)) for table in ("table2", "table3")}
    ours["table2"].pop("gpt-4")
    found = by_id(correlation_rows(PUBLISHED, ours))
    names = ("table2.wr_odhr3", "table2.wr_adr3", "table3.wr_odhr3", "table3.wr_adr3")
    checks = {name: found[f"fig2.printed.{name}"] for name in names}
    assert [row.verdict for row in checks.values()] == ["differs", "differs", "agrees", "agrees"]
    assert checks["table2.wr_odhr3"].ours == pytest.approx(0.705, abs=5e-4)
    assert checks["table3.wr_adr3"].ours == pytest.approx(-0.866, abs=5e-4)
    assert found["fig2.pearson.wr_odhr3"].verdict == "not_run"
    assert found["fig2.ours.table2.wr_odhr2"].n == 5
    assert found["fig2.ours.table2.wr_odhr2"].verdict == "no_reference"


def test_with_all_players_here_the_printed_correlation_is_judged() -> None:
    ours = {table: published_lines(PUBLISHED, table) for table in ("table2", "table3")}
    found = by_id(correlation_rows(PUBLISHED, ours))["fig2.pearson.wr_adr3"]
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
    found = by_id(trace_rows(PUBLISHED, table, ["pocket", "gpt-4"]))
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
        own = table2 if table == "table2" else paper_block(PUBLISHED, table)
        with out.capture() as capture:
            out.print(uno_arena_tables.view(table, (paper_block(PUBLISHED, table), own), COLUMNS))
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


# --- uno arena changes


def side(wins: Sequence[float], hits: Sequence[float]) -> Side:
    """One game per deck, with a decision of every number of options, of rank 1 or the last."""
    rows = [(deck, k, 1 if hit else k) for k in (2, 3, 4) for deck, hit in enumerate(hits)]
    return Side(pd.Series(list(wins)), pd.DataFrame(rows, columns=["deal", "options", "rank"]))


def test_all_intervals_are_by_deck() -> None:
    """Five decks, four of them won by the new player only: two of 2 ** 4 sign patterns reach it."""
    found = change(side([1, 1, 1, 1, 1], [1, 1, 1, 0, 0]), side([0, 0, 0, 0, 1], [1, 1, 0, 0, 0]))
    assert found.p_value == 2 / 16
    assert found.measures["WR"].value == pytest.approx(80.0)
    reach = 100 * 2.776 * 0.2
    assert found.measures["WR"].low == pytest.approx(80 - reach, abs=0.1)
    for k in (2, 3, 4):
        hits, places = found.measures[f"ODHR@{k}"], found.measures[f"ADR@{k}"]
        assert (hits.value, hits.low) == pytest.approx((20, 20 - reach), abs=0.1)
        assert (places.value, places.high) == pytest.approx((-20, -20 + reach), abs=0.1)


def test_what_both_sides_share_on_a_deck_is_no_noise() -> None:
    """Hits that go with the deck, but for one in twenty: a tenth of the independent variance."""
    rng = np.random.default_rng(0)
    hits = rng.random(400) < 0.5
    other = np.where(rng.random(400) < 0.05, ~hits, hits)
    found = change(side(hits, hits), side(other, other)).measures["ODHR@3"]
    independent = 2 * 1.96 * 100 * (2 * 0.25 / 400) ** 0.5
    assert found.high - found.low < 0.4 * independent
    differ = np.mean(hits != other)
    assert found.high - found.low == pytest.approx(2 * 196 * (differ / 400) ** 0.5, rel=0.05)


def test_two_that_decide_alike_on_every_deck_could_still_differ() -> None:
    """A share of decks where they differ could have gone unseen, as large as Wilson's limit."""
    one = side([1, 0, 1, 1, 0] * 20, [1, 0, 0, 1, 1] * 20)
    found = change(one, one)
    reach = pytest.approx(100 * float(wilson(0, 100).high))
    assert found.p_value == 1
    for column in COLUMNS:
        measure = found.measures[column]
        assert (measure.value, -measure.low, measure.high) == (0, reach, reach)


def test_without_decisions_there_is_no_change() -> None:
    one = side([1, 0], [1, 0])
    empty = Side(one.wins, one.ranks[:0])
    found = change(one, empty)
    assert isnan(found.measures["ODHR@2"].value)
    assert isnan(found.measures["ADR@4"].low)
    assert found.measures["WR"].value == 0


def test_brackets_of_models_that_are_not_here_are_not_run() -> None:
    line = Line(8, {column: Estimate(50.0, 40.0, 60.0) for column in COLUMNS})
    lines = {"pocket.vanilla": line, "pocket.tutri": line}
    own = change(side([1.0, 0.5], [1, 0]), side([0.0, 0.5], [0, 0]))
    block = Block("ours", lines, {"pocket.tutri": own}, True)
    wanted = ["pocket.vanilla", "pocket.tutri", "other.vanilla", "other.tutri"]
    found = by_id(change_rows(PUBLISHED, "table4", block, wanted))
    assert len(found) == 7 * (5 + 2)
    assert found["table4.gpt-3.5.delta_odhr2"].published == 0.06
    assert found["table4.gpt-3.5.delta_odhr2"].verdict == "not_run"
    assert found["table4.pocket.delta_wr"].ours == pytest.approx(50.0)
    assert found["table4.pocket.delta_wr"].verdict == "no_reference"
    assert found["table4.other.delta_wr"].verdict == "not_run"


RATES = {"vanilla": 0.25, "tutri": 0.5}


@pytest.fixture
def tutri(tmp_path: Path) -> Path:
    """Four decks, a decision on each by either player; TUTRI hits on two, vanilla on one."""
    describe(tmp_path, "tutri", "7e1", 0)
    (tmp_path / "metrics").mkdir()
    rows, lines, records = [], [], []
    for player, prompt in enumerate(RATES):
        for deal in range(4):
            rank = 1 if deal < 4 * RATES[prompt] else 2
            true = {"criticality": 0.2, "rank": rank, "values": [0.6, 0.4]}
            place = {"cell": "tutri", "key": "7e1", "player": player, "deal": deal}
            lines.append({**place, "options": ["a", "b"], "fallback": False, "true": true})
        row: dict[str, Any] = {"cell": "tutri", "key": "7e1", "player": player, "games": 4}
        row |= {"name": f"llm.pocket.{prompt}", "values": "true", "threshold": 0.15}
        row |= {"fallbacks": "left_out", "options": 2, "decisions": 4, "odhr": RATES[prompt]}
        row |= dict.fromkeys(("win_rate", "win_low", "win_high", "odhr_low", "odhr_high"), 0.5)
        row |= {"adr": 1.5, "adr_low": 1.2, "adr_high": 1.8, "solo_wins": 2, "shared_wins": 0}
        rows += [row, {**row, "options": 3}, {**row, "options": 4}]
    for deal in range(4):
        returns = (-1.0, 1.0) if deal < 3 else (1.0, -1.0)
        records.append(placed(ended(cell="7e1", deal=deal, returns=returns)))
    pd.DataFrame(rows).to_csv(tmp_path / "metrics" / "metrics.csv", index=False)
    write(tmp_path / "records" / "tutri-7e1.jsonl", records)
    told = "".join(json.dumps(one) + "\n" for one in lines)
    (tmp_path / "metrics" / "decisions.jsonl").write_text(told)
    return tmp_path


def test_decisions_that_count_are_read_from_the_file(tutri: Path) -> None:
    file = tutri / "metrics" / "decisions.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["fallback"] = True
    lines[1]["true"]["criticality"] = 0.149
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(ranked(tutri, 0.15, "left_out")) == 6
    assert len(ranked(tutri, 0.0, "left_out")) == 7
    assert len(ranked(tutri, 0.15, "counted")) == 7
    assert list(ranked(tutri, 0.2, "counted")["rank"]) == [1, 2, 2, 1, 1, 2, 2]


def test_table_4_pairs_the_two_players_of_a_cell(tutri: Path) -> None:
    block = our_block({"table4": tutri}, "table4", 0.15)
    found = block.changes["pocket.tutri"].measures
    assert found["WR"].value == pytest.approx(50.0)
    assert found["ODHR@2"].value == pytest.approx(25.0)
    assert found["ODHR@2"].high == pytest.approx(25 + 3.182 * 25, abs=0.1)
    assert found["ADR@2"].value == pytest.approx(-25.0)
    assert isnan(found["ODHR@4"].value)
