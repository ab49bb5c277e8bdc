"""Diagnostics of a cell's choices and the study of letter labels, from hand-made records with known
figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import entropy

from gauntlet.games.capabilities import WIN, Measure
from gauntlet.models.exchanges import TextExchange
from gauntlet.pipeline import report
from gauntlet.pipeline.log.exchanges import margin
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.tables.commands import labels
from gauntlet.pipeline.tables.registry import Results
from gauntlet.pipeline.tables.sweep.diagnostics import (
    ROUNDING,
    by_rounding,
    sample_matches,
    sensitivity,
)
from gauntlet.pipeline.tables.sweep.tallies import MOST_QUESTIONS, Choices, Replies
from gauntlet.stats.means import limits, per_deal
from tests.pipeline.conftest import Capsys, Full, Once, Sweep
from tests.pipeline.made import about, won
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


def test_no_table_depends_on_the_order_in_which_matches_ended(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    """With the lines of its log in order, and backwards."""
    assert sweep("game=tic_tac_toe", "prompt=cloze", "deals=40", "rotate=true") == 0
    (log,) = (folder / "records").iterdir()
    tables = []
    for turned in (1, -1):
        lines = sorted(log.read_bytes().splitlines(keepends=True))
        log.write_bytes(b"".join(lines[::turned]))
        assert report.main([str(folder)]) == 0
        files = [*folder.glob("*.csv"), folder / "samples.txt"]
        tables.append({file.name: file.read_bytes() for file in files})
    assert len(tables[0]) > 10
    assert [name for name, text in tables[0].items() if tables[1][name] != text] == []


def chose(at: int, *options: str) -> DecisionRecord:
    return decided(1, options=options, chosen=at)


def wrote(question: str, text: str) -> DecisionRecord:
    told = {"static": "0" * 16, "cue": "", "logical_tokens": 2, "tokens": (1, 1)}
    return decided(
        1, asked=(TextExchange(**told, shared=question, settings=(9, 0.0, (), 0), text=text),)
    )


def test_shares_stand_beside_those_of_a_random_player() -> None:
    choices = Choices()
    for decision in (*[chose(0, "hit", "stay")] * 3, chose(2, "hit", "stay", "fold")):
        choices.add(decision)
    found = choices.diagnostics()
    assert (found["decisions"], found["options"]) == (4, 9 / 4)
    assert (found["first"], found["last"]) == (3 / 4, 1 / 4)
    assert found["end_random"] == pytest.approx((3 / 2 + 1 / 3) / 4)
    assert (found["option"], found["option_share"]) == ("hit", 3 / 4)
    assert found["option_random"] == found["end_random"]
    assert found["place_bits"] == pytest.approx(entropy([3, 1], base=2))
    assert found["place_bits_random"] == pytest.approx(entropy([11, 11, 2], base=2))
    rows = {(row["kind"], row["value"]): row for row in choices.rows()}
    assert [value for kind, value in rows if kind == "place"] == ["1", "2", "3", "last"]
    assert rows["place", "2"]["count"] == 0
    assert rows["option", "fold"]["random"] == pytest.approx(1 / 12)


def test_options_of_one_name_are_one_move() -> None:
    choices = Choices()
    choices.add(chose(1, "draw", "draw", "pass"))
    assert choices.moves.random("draw") == pytest.approx(2 / 3)


@given(st.lists(st.integers(1, 6), min_size=1), st.data())
def test_what_a_random_player_takes_sums_to_one(counts: Sequence[int], data: st.DataObject) -> None:
    choices = Choices()
    for count in counts:
        at = data.draw(st.integers(0, count - 1))
        choices.add(chose(at, *"abcdef"[:count]))
    for tally in (choices.places, choices.moves):
        assert math.fsum(map(tally.expected, tally.offers)) == pytest.approx(len(counts))
        assert tally.total == tally.counts.total() == len(counts)


def test_a_habit_is_a_place_that_was_there_often_enough() -> None:
    choices = Choices()
    for _ in range(30):
        choices.add(chose(1, "a", "b", "c"))
    for _ in range(10):
        choices.add(chose(0, "a", "b"))
    for _ in range(5):
        choices.add(chose(3, "a", "b", "c", "d"))
    assert choices.habit == ("second", 30 / 45, 45)


def test_the_same_question_counts_once() -> None:
    """A player shown the same position repeatedly may well repeat its answer."""
    replies = Replies()
    for at in range(50):
        replies.add(wrote("the empty board", "centre"), 0, 0, at)
    assert replies.top == ("centre", 1.0, 1)
    for board in range(3):
        replies.add(wrote(f"board {board}", " corner\n"), 1, 0, board)
    assert replies.top == ("corner", 3 / 4, 4)


def test_letters_are_told_from_verdicts() -> None:
    """A letter names an option of the list in its prompt; a verdict on each option does not."""
    listed = scored(
        shared="Options:\n",
        branches=("A) x\nB) y\n", "A) y\nB) x\n"),
        logprobs=((-1.0, -2.0), (-3.0, None)),
        tokens=(3, 3),
    )
    verdict = scored(choices=("good", "bad"), shared="Options: x, y\n")
    replies = Replies()
    replies.add(decided(1, asked=(listed,)), 0, 0, 0)
    replies.add(decided(1, asked=(verdict,)), 0, 0, 1)
    assert replies.counts("letter") == Counter(A=2)
    assert replies.top == ("A", 1.0, 2)
    assert replies.diagnostics()["reply_random"] == 0.5
    assert replies.counts("word") == Counter(good=1)


def test_the_memory_that_replies_take_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gauntlet.pipeline.tables.sweep.tallies.MOST_QUESTIONS", 3)
    replies = Replies()
    for board in (5, 4, 8, 0, 7, 2, 3, 6, 1, 5):
        replies.add(wrote(f"board {board}", f"reply {board}"), board, 0, 0)
        assert len(replies.first["text"]) < 6 < MOST_QUESTIONS
    assert [*replies.counts("text")] == ["reply 0", "reply 1", "reply 2"]


def test_samples_are_spread_over_the_deals_and_hang_on_the_matches_alone() -> None:
    outcomes = won(about("x"), [1, 0] * 50).outcomes
    matches = [int(name.removeprefix("match")) for name in sample_matches(outcomes)]
    assert [at // 20 for at in matches] == [0, 1, 2, 3, 4]
    assert sample_matches(outcomes) == sample_matches(outcomes)
    assert sample_matches(won(about("x"), []).outcomes) == {}


@pytest.mark.parametrize("dtype", ROUNDING)
@given(data=st.data())
def test_beyond_the_margin_no_rounding_turns_a_choice(dtype: str, data: st.DataObject) -> None:
    """Of sums of probabilities over prompts, and of differences within one."""
    rounding = ROUNDING[dtype]
    count = data.draw(st.integers(2, 4))
    logs = st.lists(st.floats(-8, -0.8), min_size=2 * count, max_size=2 * count)
    off = st.floats(-rounding, rounding)
    rows = np.array(data.draw(logs)).reshape(count, 2)
    moved = rows + [[data.draw(off) for _ in row] for row in rows]
    sign = data.draw(st.sampled_from([1, -1]))
    before, after = (np.exp(x[:, 0]) + sign * np.exp(x[:, 1]) for x in (rows, moved))
    asked = scored(branches=("",) * count, logprobs=tuple(map(tuple, rows.tolist())))
    scores = tuple(before.tolist())
    options = tuple("abcd"[:count])
    told = {"options": options, "scores": scores, "margin": margin(scores)}
    decision = decided(1, asked=(asked,), **told)
    if not by_rounding(decision, rounding):
        assert after.argmax() == before.argmax()


def test_what_counts_as_settled_by_rounding() -> None:
    tie = decided(1, scores=(0.5, 0.5), margin=0.0)
    assert by_rounding(tie, 0.0)
    clear = decided(1, scores=(0.5, 0.4), margin=0.1)
    assert not by_rounding(clear, ROUNDING["float32"])
    assert by_rounding(clear, ROUNDING["bfloat16"])
    assert not by_rounding(decided(1, scores=(0.5, 0.5), margin=0.0, fallback=True), 0.0)
    assert not by_rounding(decided(1, scores=(0.5, 0.5), margin=0.0, asked=()), 0.0), "a search"
    assert not by_rounding(decided(1), 0.1), "no scores"
    assert not by_rounding(decided(1, scores=(0.5, None), margin=None), 0.1)


def test_bounds_are_the_worst_and_the_best_that_unsure_matches_can_be() -> None:
    wins, unsure = np.array([1.0, 1.0, 0.0, 0.0]), np.array([True, False, False, True])
    found = sensitivity(wins, unsure, np.zeros(4, bool), 0, WIN)
    assert (found["fallback_low"], found["fallback_high"]) == (0.25, 0.75)
    chips = sensitivity(wins, unsure, np.zeros(4, bool), 0, Measure("chips"))
    assert (chips["fallback_low"], chips["fallback_high"]) == (-math.inf, math.inf)
    assert (found["fallback_matches"], found["without_fallbacks"]) == (2, 0.5)
    assert (found["close_low"], found["close_high"]) == (0.5, 0.5)
