"""Diagnostics of a cell's choices, from hand-made records with known figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.stats import entropy

from gauntlet.games.capabilities import WIN, Measure
from gauntlet.models.exchanges import TextExchange
from gauntlet.pipeline import report
from gauntlet.pipeline.log.exchanges import margin
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.tables.sweep.diagnostics import (
    ROUNDING,
    by_rounding,
    decision_at,
    sample,
    sample_matches,
    sensitivity,
)
from gauntlet.pipeline.tables.sweep.tallies import MOST_QUESTIONS, Choices, Replies
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.made import about, won
from tests.pipeline.records import decided, ended, scored


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


@given(st.permutations(range(12)))
def test_no_figure_depends_on_the_order_in_which_matches_ended(order: Sequence[int]) -> None:
    """Of twelve decisions: options of every number, equal counts, and one question thrice."""

    def figures(order: Sequence[int]) -> object:
        choices, replies = Choices(), Replies()
        for deal in order:
            decision = wrote(f"board {max(deal, 3)}", f"reply {deal % 5}")
            options = tuple("abcdefghijk"[: 2 + deal % 9])
            choices.add(replace(decision, options=options, chosen=deal % 2))
            replies.add(decision, deal, 0, 0)
        rows = [*choices.rows(), *replies.rows()]
        return repr((choices.diagnostics(), replies.diagnostics(), choices.habit, rows))

    assert figures(order) == figures(range(12))


def test_samples_are_spread_over_the_deals_and_hang_on_the_matches_alone() -> None:
    outcomes = won(about("x"), [1, 0] * 50).outcomes
    matches = [int(name.removeprefix("match")) for name in sample_matches(outcomes)]
    assert [at // 20 for at in matches] == [0, 1, 2, 3, 4]
    assert sample_matches(outcomes) == sample_matches(outcomes)
    assert sample_matches(won(about("x"), []).outcomes) == {}


def test_a_sample_shows_the_end_of_the_question_and_the_reply() -> None:
    question = "\n".join(f"line {number}" for number in range(40))
    chosen = decision_at([decided(1, asked=()), wrote(question, "x\x1b[2J")], 0.0)
    assert chosen is not None
    found = sample(ended(), chosen)
    assert found.text.splitlines()[:2] == ["match m, deal 0", "line 28"]
    assert r"-> 'x\x1b[2J'" in found.text
    assert found.decision.prompts[0].text == question
    assert decision_at([decided(1, asked=())], 0.5) is None


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
