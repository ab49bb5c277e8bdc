"""A cell's outcomes in columns hold the same as a plain list of them, in minimal memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.pipeline.log.outcomes import ROW, Outcome, Outcomes

COUNT = st.integers(0, 2**32 - 1)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
OUTCOMES = st.builds(
    Outcome,
    match=st.text("0123456789abcdef", min_size=16, max_size=16),
    cell=st.just("cell"),
    deal=st.integers(0, 12),
    rotation=st.integers(0, 2),
    value=NUMBER,
    figure=NUMBER,
    winners=st.integers(0, 1),
    plies=COUNT,
    decisions=COUNT,
    forced=COUNT,
    fallbacks=COUNT,
    tokens=COUNT,
    seconds=NUMBER,
    all_tokens=COUNT,
    device_seconds=NUMBER,
    measured=st.integers(1, 10),
    calls=COUNT,
)


def first_of_each_place(outcomes: list[Outcome]) -> list[Outcome]:
    places: dict[tuple[int, int], Outcome] = {}
    for outcome in outcomes:
        places.setdefault((outcome.deal, outcome.rotation), outcome)
    return [places[place] for place in sorted(places)]


@given(st.lists(OUTCOMES), st.integers(0, 14))
def test_what_is_put_in_comes_out_in_order(outcomes: list[Outcome], deals: int) -> None:
    expected, kept = first_of_each_place(outcomes), Outcomes.from_outcomes("cell", outcomes)
    assert list(kept) == expected
    assert len(kept) == len(expected)
    assert list(kept.first(deals)) == [o for o in expected if o.deal < deals]
    assert kept.won.tolist() == [o.won for o in expected]
    for name in ("deal", "rotation", "tokens", "value", "figure"):
        assert kept.column(name).tolist() == [getattr(o, name) for o in expected]
    there = {(o.deal, o.rotation) for o in expected}
    assert all(kept.has(d, r) == ((d, r) in there) for d in range(15) for r in range(4))


PLACES = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 2)))


@given(PLACES, PLACES, st.integers(1, 3))
def test_the_gap_free_deals_are_those_before_the_first_hole(
    played: set[tuple[int, int]], aside: set[tuple[int, int]], rotations: int
) -> None:
    aside = {(deal, rotation) for deal, rotation in aside if rotation < rotations}
    one = Outcome("match", "cell", 0, 0, 1.0, 1.0, 1, 9, 5, 4, 0, 99, 0.1)
    kept = Outcomes.from_outcomes("cell", (replace(one, deal=d, rotation=r) for d, r in played))
    ended = played | aside
    holes = [d for d in range(7) if any((d, r) not in ended for r in range(rotations))]
    assert kept.complete_deals(rotations, aside) == holes[0]


def test_a_match_costs_tens_of_bytes() -> None:
    assert ROW.itemsize <= 116


def test_a_name_that_would_be_cut_off_is_refused() -> None:
    with pytest.raises(AssertionError, match="longer than"):
        Outcomes("cell").add(
            Outcome("longer than 16 bytes", "cell", 0, 0, 1.0, 1.0, 1, 9, 5, 4, 0, 99, 0.1)
        )
