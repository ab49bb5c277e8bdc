"""The study of letter labels: its figures from a hand-made log, and the experiment end to end."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.tables.commands import labels
from gauntlet.pipeline.tables.registry import Results
from gauntlet.stats.means import limits, per_deal
from tests.pipeline.conftest import Full, Once, Sweep
from tests.pipeline.records import decided, scored, write


@pytest.fixture
def studied(once: Once) -> Path:
    return once("experiment=label_prior", "deals=12")


def tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_csv(folder / "labels.csv"), pd.read_csv(folder / "debiasing.csv")


def own_choices(folder: Path) -> list[DecisionRecord]:
    return [decision for _, decision in dealt_choices(folder)]


def dealt_choices(folder: Path) -> list[tuple[int, DecisionRecord]]:
    """Each with its deal."""
    return [
        (record.deal, decision)
        for record in Folder(folder).matches()
        for decision in record.decisions
        if decision.seat == 1 and not decision.forced
    ]


def test_the_experiment_leaves_its_tables(sweep: Sweep, folder: Path, full: Full) -> None:
    assert sweep("experiment=label_prior", "deals=6") == 0
    said = full()
    prior, debiasing = tables(folder)
    assert list(prior.columns) == [*labels.PRIOR]
    assert list(debiasing.columns) == [*labels.DEBIASING]
    assert list(debiasing["method"].unique()) == [
        *("full rotation", "single", "calibrated", "calibrated_averaged", "pride"),
        "pride_arithmetic",
    ]
    page = (folder / "report.html").read_text()
    for title in ("Letter prior of", "Debiasing of", "agrees"):
        assert title in said
        assert title in page
    assert any(line.startswith("calibrated") for line in said.splitlines())


def test_the_prior_is_the_mean_share_of_each_letter(studied: Path) -> None:
    prior, _ = tables(studied)
    own = own_choices(studied)
    for options, rows in prior.groupby("options"):
        some = [decision for decision in own if len(decision.options) == options]
        assert set(rows["decisions"]) == {len(some)}
        assert "".join(rows["letter"]) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(rows)]
        assert rows["probability"].sum() == pytest.approx(1)
        for place, expected in enumerate(rows["probability"]):
            shares = [
                math.exp(row[place]) / sum(map(math.exp, row))
                for decision in some
                for row in decision.asked[0].logprobs
            ]
            assert expected == pytest.approx(sum(shares) / len(shares))


def test_agreement_is_counted_decision_by_decision_and_known_by_deal(studied: Path) -> None:
    _, debiasing = tables(studied)
    own = dealt_choices(studied)
    for _, row in debiasing[debiasing["method"] != "full rotation"].iterrows():
        some = [(at, d) for at, d in own if row["options"] in ("all", str(len(d.options)))]
        same = [d.notes["cheaper"][row["method"]]["chosen"] == d.chosen for _, d in some]
        assert (row["decisions"], row["agreed"]) == (len(some), sum(same))
        assert row["agreement"] == pytest.approx(sum(same) / len(same))
        expected = limits(per_deal(np.array(same, float), [at for at, _ in some]), (0, 1))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected)


def test_the_cost_is_what_was_asked(studied: Path) -> None:
    _, debiasing = tables(studied)
    whole = debiasing[debiasing["options"] == "all"].set_index("method")
    own = own_choices(studied)
    rotations = sum(len(decision.asked[0].branches) for decision in own)
    assert whole.loc["full rotation", "prompts"] == pytest.approx(rotations / len(own))
    (preparation,) = [r.preparation for r in Folder(studied).matches() if r.preparation]
    asked = sum(len(exchange.branches) for exchange in preparation[0].asked)
    needed = whole["preparation"]
    assert needed["calibrated_averaged"] + needed["pride"] == asked
    assert (needed["calibrated"], needed["calibrated_averaged"]) == (25, 75)
    assert needed["pride_arithmetic"] == needed["pride"]
    assert whole.loc["single", "prompts_with_preparation"] == 1
    assert whole.loc["pride", "prompts_with_preparation"] == pytest.approx(
        1 + whole.loc["pride", "preparation"] / len(own)
    )


def test_two_decisions_by_hand(studied: Path) -> None:
    """A log in which one deal has two decisions of two options: shares of A .9 and .5 over the
    rotations of the first, .6 and .4 of the second, so .7 and .5, in the mean .6."""
    only_deal(
        studied,
        decision([[0.9, 0.1], [0.3, 0.3]], chosen=0, single=0, pride=1),
        decision([[0.06, 0.04], [0.04, 0.06]], chosen=1, single=0, pride=1),
    )
    found = Results.load(studied)
    assert list(found["labels"]["probability"]) == pytest.approx([0.6, 0.4])
    assert list(found["labels"]["mass"]) == pytest.approx([0.45, 0.45])
    whole = found["debiasing"].query("options == 'all'").set_index("method")
    assert list(whole["agreed"].dropna()) == [1, 1]
    assert whole.loc["pride", "agreement"] == 0.5
    assert whole.loc["pride", "prompts_with_preparation"] == 1 + 40 / 2


def decision(rows: list[list[float]], chosen: int, **cheaper: int) -> DecisionRecord:
    noted = {name: {"chosen": option, "prompts": 40} for name, option in cheaper.items()}
    logprobs = tuple(tuple(math.log(p) if p else None for p in row) for row in rows)
    asked = (scored(logprobs=logprobs),)
    return decided(1, chosen=chosen, asked=asked, notes={"cheaper": noted})


def only_deal(folder: Path, *decisions: DecisionRecord) -> None:
    """Reduce the log to its first deal, with these decisions."""
    (path,) = Folder(folder).record_files()
    record = next(record for record in Folder(folder).matches() if record.deal == 0)
    asked = (asked.static for made in decisions for asked in made.asked)
    statics = {**record.statics, **dict.fromkeys(asked, "Rules.\n")}
    write(
        path,
        [replace(record, clock=None, plies=len(decisions), decisions=decisions, statics=statics)],
    )


def test_impossible_letters_share_nothing(studied: Path) -> None:
    """The log writes null for a probability of zero; a prompt without any letter is even."""
    only_deal(studied, decision([[1.0, 0.0], [0.0, 0.0]], chosen=0, single=0))
    found = Results.load(studied)
    assert list(found["labels"]["probability"]) == pytest.approx([0.75, 0.25])
    assert list(found["labels"]["mass"]) == pytest.approx([0.5, 0.5])


def test_only_the_subject_is_studied(sweep: Sweep, folder: Path) -> None:
    seat = ("seats.0.agent=llm", "seats.0.model=fake", "seats.0.prompt=label_study")
    assert sweep("experiment=label_prior", "deals=4", *seat) == 0
    _, debiasing = tables(folder)
    whole = debiasing[debiasing["options"] == "all"]
    assert set(whole["decisions"]) == {len(own_choices(folder))}
