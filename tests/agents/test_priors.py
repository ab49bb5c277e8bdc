"""Dividing out a letter's prior: the formulas by hand, and the behaviour without a prior."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.priors import Divided, Priors, averaged, divided, learnt
from tests.agents.play import drive, silent, table, turn_with

LOW, HIGH = 1e-6, 1.0
weights = st.lists(st.floats(LOW, HIGH), min_size=2, max_size=8)


def logs(*probabilities: float) -> tuple[float, ...]:
    return tuple(math.log(p) if p else -math.inf for p in probabilities)


def exp_all(logs: tuple[float, ...] | None) -> list[float]:
    assert logs is not None
    return [math.exp(value) for value in logs]


def test_one_prompt_tells_its_own_shares() -> None:
    """Contextual calibration: .3 and .1 of the whole vocabulary are 3/4 and 1/4 of the letters."""
    assert exp_all(learnt([logs(0.3, 0.1)])) == pytest.approx([0.75, 0.25])


def test_several_prompts_tell_their_geometric_mean() -> None:
    """PriDe by hand: A has sqrt(.8 * .2) = .4, B sqrt(.1 * .4) = .2, together .6."""
    assert exp_all(learnt([logs(0.8, 0.1), logs(0.2, 0.4)])) == pytest.approx([2 / 3, 1 / 3])


def test_several_prompts_tell_their_arithmetic_mean() -> None:
    """By hand: A has (.9 + .1) / 2 = .5, B .1, together .6; the geometric means are .3 and .1."""
    rows = [logs(0.9, 0.1), logs(0.1, 0.1)]
    assert exp_all(averaged(rows)) == pytest.approx([5 / 6, 1 / 6])
    assert exp_all(learnt(rows)) == pytest.approx([3 / 4, 1 / 4])
    impossible = [logs(0.6, 0.2, 0.0), logs(0.0, 0.0, 0.0)]
    assert exp_all(averaged(impossible)) == pytest.approx([0.6, 0.2, 0.2])
    assert averaged([logs(0.0, 0.0)]) is averaged([]) is None


@given(weights)
def test_of_one_prompt_both_means_are_the_same_to_the_bit(row: list[float]) -> None:
    assert averaged([logs(*row)]) == learnt([logs(*row)])


@given(weights, st.lists(st.floats(LOW, HIGH), min_size=1, max_size=5))
def test_what_the_other_words_get_does_not_matter(row: list[float], scales: list[float]) -> None:
    """Whether a prompt's probabilities are over the vocabulary or the letters does not matter."""
    scaled = [logs(*(scale * value for value in row)) for scale in scales]
    assert exp_all(learnt(scaled)) == pytest.approx([value / sum(row) for value in row])


def test_an_impossible_letter_counts_as_the_least_possible_one() -> None:
    assert exp_all(learnt([logs(0.6, 0.2, 0.0)])) == pytest.approx([0.6, 0.2, 0.2])
    assert exp_all(learnt([logs(1.0, 0.0)])) == pytest.approx([0.5, 0.5])


def test_a_prompt_without_a_possible_letter_tells_nothing() -> None:
    assert exp_all(learnt([logs(0.0, 0.0), logs(0.3, 0.1)])) == pytest.approx([0.75, 0.25])
    assert learnt([logs(0.0, 0.0)]) is None
    assert learnt([]) is None


def test_a_probability_is_divided_by_its_prior() -> None:
    """.4/.8 = .5 and .1/.2 = .5: what looked like A is a draw. Then .3/.8 against .3/.2."""
    assert divided(logs(0.4, 0.1), logs(0.8, 0.2)) == pytest.approx((0.5, 0.5))
    assert divided(logs(0.3, 0.3), logs(0.8, 0.2)) == pytest.approx((0.2, 0.8))
    assert divided(logs(0.0, 0.3), logs(0.8, 0.2)) == (0.0, 1.0)
    assert divided(logs(0.0, 0.0), logs(0.8, 0.2)) is None


@given(weights)
def test_what_is_all_prior_says_nothing(prior: list[float]) -> None:
    even = divided(logs(*prior), Priors({len(prior): learnt([logs(*prior)])}).log_prior(len(prior)))
    assert even == pytest.approx([1 / len(prior)] * len(prior))


def test_where_nothing_was_learnt_letters_are_equally_likely() -> None:
    assert exp_all(Priors().log_prior(4)) == pytest.approx([0.25] * 4)


def test_the_nearest_number_of_letters_stands_in() -> None:
    known = Priors({2: logs(0.9, 0.1), 5: logs(0.4, 0.2, 0.2, 0.1, 0.1)})
    assert exp_all(known.log_prior(5)) == pytest.approx([0.4, 0.2, 0.2, 0.1, 0.1])
    assert exp_all(known.log_prior(4)) == pytest.approx([4 / 9, 2 / 9, 2 / 9, 1 / 9]), (
        "E is left out"
    )
    assert exp_all(known.log_prior(7)) == pytest.approx([4 / 12, 2 / 12, 2 / 12, *[1 / 12] * 4]), (
        "as E"
    )
    assert exp_all(known.log_prior(3)) == pytest.approx([0.9 / 1.1, 0.1 / 1.1, 0.1 / 1.1]), (
        "2 is nearer"
    )
    assert exp_all(known.log_prior(1)) == [1.0]
    assert exp_all(Priors({2: logs(0.9, 0.1), 4: logs(*[0.25] * 4)}).log_prior(3)) == pytest.approx(
        [1 / 3] * 3
    )


def test_a_decision_tells_the_prior_that_it_used() -> None:
    agent = LLM(Divided(moves=0, priors=Priors({2: logs(0.8, 0.2)})))
    decision, _ = drive(agent, turn_with("a", "b"), table([[0.4, 0.3]]))
    assert decision.option == 1
    assert decision.scores == pytest.approx((0.25, 0.75))
    assert decision.notes["prior"] == pytest.approx((0.8, 0.2))


def test_more_options_than_letters_take_several_prompts() -> None:
    """30 options: the prompts begin with options 0 and 15, and each shows 26 in a ring."""
    names = [f"card {number}" for number in range(30)]
    row = [0.01] * 14 + [0.5] + [0.01] * 11
    decision, (request,) = drive(LLM(Divided(5)), turn_with(*names), table([row, [1 / 26] * 26]))
    assert decision.option == 14
    assert len(decision.scores) == 30
    first, second = (prompt.changing for prompt in request.prompts)  # type: ignore[union-attr]
    assert "A) card 0\n" in first
    assert "Z) card 25\n" in first
    assert "card 26\n" not in first
    assert "A) card 15\n" in second
    assert "Z) card 10\n" in second
    assert decision.scores[26] == pytest.approx(1 / 26), "shown in the second alone"
    assert decision.scores[11] == pytest.approx(0.01 / 0.75), "shown in the first alone"
    assert decision.scores[0] == pytest.approx((0.01 / 0.75 + 1 / 26) / 2), "shown in both"


def test_without_a_possible_letter_the_reply_is_malformed() -> None:
    decision, _ = drive(LLM(Divided(5)), turn_with("a", "b"), silent)
    assert (decision.status, decision.fallback) == ("malformed", True)
