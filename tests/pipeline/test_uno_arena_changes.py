"""UNO Arena's brackets: differences between two players on the same decks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.papers.published import Estimate, paper
from gauntlet.papers.uno_arena.blocks import our_block
from gauntlet.papers.uno_arena.changes import Side, change, ranked
from gauntlet.papers.uno_arena.lines import Line
from gauntlet.papers.uno_arena.rows import change_rows
from gauntlet.papers.uno_arena.tables import Block
from gauntlet.stats.proportions import wilson
from tests.pipeline.judgements import by_id, describe
from tests.pipeline.records import ended, placed, write

TOLD = paper("uno_arena")
COLUMNS = TOLD["columns"]


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
    found = by_id(change_rows(TOLD, "table4", block, wanted))
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
