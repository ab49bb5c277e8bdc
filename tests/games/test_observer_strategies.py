"""The 19 strategies of Observer, Not Player and their steady states, against the published mixes,
closed forms and long runs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.games.rock_paper_scissors import RockPaperScissors, strategies
from gauntlet.games.rock_paper_scissors.strategies import (
    ANSWERS,
    CODES,
    MIXES,
    first_mix,
    responses,
)
from gauntlet.pipeline.plan.identity import describe

PAIRS = strategies.all_pairs()
codes = st.sampled_from(CODES)
GAME = RockPaperScissors(rounds=210)


def mix_of(code: str, second: str) -> np.ndarray:
    """What a code plays in the long run against a fixed one."""
    mix = np.array(MIXES.get(code) or MIXES[second])
    return np.roll(mix, ANSWERS.get(code, 0))


def product(first: str, second: str) -> list[float]:
    table = np.outer(mix_of(first, second), mix_of(second, first))
    won = table[1, 0] + table[2, 1] + table[0, 2]
    return [won, float(np.trace(table)), 1 - won - float(np.trace(table))]


@given(codes, codes)
def test_outcomes_are_the_product_of_the_mixes(first: str, second: str) -> None:
    """Where both look back, all outcomes are equally likely: from any of the nine pairs of hands
    the two follow a permutation, and the lead modulo three is uniform in round 1."""
    wanted = [1 / 3] * 3 if {first, second} <= ANSWERS.keys() else product(first, second)
    assert GAME.outlook((first, second)) == pytest.approx(wanted, abs=1e-12)


def test_the_exact_chain_is_the_mean_of_a_long_run() -> None:
    """Period 6 divides the rounds that are averaged, so periodic pairs come out too."""
    joint = strategies.exact(PAIRS)
    opening = np.array([[first_mix(name) for name in pair] for pair in PAIRS])
    now = opening[:, 0, :, None] * opening[:, 1, None, :]
    answer = np.array([responses(pair) for pair in PAIRS])
    total = np.zeros_like(now)
    for number in range(24):
        now = np.einsum("pab,pbc,pad->pcd", now, answer[:, 0], answer[:, 1])
        total += now * (number >= 12)
    assert joint == pytest.approx(total / 12, abs=1e-12)
    assert joint.sum(axis=(1, 2)) == pytest.approx(np.ones(361))


@pytest.mark.parametrize(
    ("pair", "hands", "wanted"),
    [("XX", "RR", (0, 1, 0)), ("XX", "PR", (0.5, 0, 0.5)), ("XY", "RR", (0, 0.5, 0.5)),
     ("XZ", "RP", (0, 0, 1)), ("XA", "RR", (1, 0, 0))],
)  # fmt: skip
def test_two_who_answer_each_other_go_round_for_ever(
    pair: str, hands: str, wanted: tuple[float, float, float]
) -> None:
    """The lead is followed by hand: the mean over its period, whatever the chain's is."""
    start = np.eye(3)[["RPS".index(hand) for hand in hands]]
    found = strategies.outcomes(strategies.exact([(pair[0], pair[1])], init=start))[0]
    assert found == pytest.approx(wanted, abs=1e-12)


def test_all_pairs_settle_in_well_under_a_second() -> None:
    strategies.grid.cache_clear()
    began = time.process_time()
    found = strategies.steady(PAIRS)
    exact = strategies.grid().reshape(-1, 3)
    assert time.process_time() - began < 0.5
    assert found.converged.all()
    assert found.iterations.max() < 20
    assert found.outcomes == pytest.approx(exact, abs=1e-4)
    both = [{*pair} <= ANSWERS.keys() for pair in PAIRS]
    assert found.degenerate.tolist() == both
    assert (found.iterations[both] == 1).all()


@given(st.sampled_from(PAIRS), st.floats(0.05, 0.95), st.integers(0, 2**32 - 1))
def test_what_has_settled_is_a_fixed_point(
    pair: tuple[str, str], damping: float, seed: int
) -> None:
    """From every start, and with every damping; a fixed player stays unchanged."""
    init = np.random.default_rng(seed).dirichlet(np.ones(3), size=2)
    found = strategies.steady([pair], init=init, damping=damping, tolerance=1e-9)
    assert found.converged.all()
    mixes, answer = found.mixes[0], responses(pair)
    for seat, code in enumerate(pair):
        assert mixes[seat] == pytest.approx(mixes[1 - seat] @ answer[seat], abs=1e-6)
        assert mixes[seat].sum() == pytest.approx(1)
        assert code in ANSWERS or mixes[seat] == pytest.approx(MIXES[code])


@pytest.mark.parametrize("pair", ["XY", "YX", "ZZ"])
def test_some_reactive_pairs_end_where_they_began(pair: str) -> None:
    """A continuum of fixed points: other starts end elsewhere (audit OB-10)."""
    ends = [
        strategies.steady([(pair[0], pair[1])], init=init).mixes[0, 0]
        for init in ([0.8, 0.1, 0.1], [0.1, 0.8, 0.1])
    ]
    assert np.abs(ends[0] - ends[1]).max() > 0.1
    for other in ("XX", "YY", "XZ", "ZY"):
        start = [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]]
        end = strategies.steady([(other[0], other[1])], init=start, tolerance=1e-8)
        assert end.mixes == pytest.approx(1 / 3, abs=1e-4)
        assert not end.degenerate.any()


def test_a_pair_that_does_not_converge_is_flagged_and_averaged() -> None:
    """Almost without damping X and Y swap their starts forever; the mean is between."""
    start = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    found = strategies.steady([("X", "Y"), ("H", "C")], init=start, damping=1 - 1e-9, cap=500)
    assert found.converged.tolist() == [False, True]
    assert found.iterations.tolist() == [500, 1]
    assert found.mixes[0] == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0, 0.5]]), abs=1e-6)


def test_the_catalogue_is_the_published_one() -> None:
    """Table 3, in thousandths of rock and paper."""
    table = """
        A 0 0, B 1000 0, C 0 1000, D 333 333, E 500 500, F 500 0, G 0 500, H 500 250, I 250 500,
        J 250 250, K 500 333, L 500 167, M 333 500, N 167 500, O 333 167, P 167 333"""
    mixes = RockPaperScissors(legacy_D=True).mixes
    assert len(mixes) == 16
    for row in table.split(","):
        code, rock, paper = row.split()
        wanted = int(rock) / 1000, int(paper) / 1000, 1 - (int(rock) + int(paper)) / 1000
        assert mixes[code] == pytest.approx(wanted)
    assert RockPaperScissors().mixes["D"] == (1 / 3, 1 / 3, 1 / 3)
    assert len(RockPaperScissors.policies) == 19


def test_drawn_alone_a_reactive_player_plays_the_mix_it_settles_at() -> None:
    assert GAME.together("HY") == ("H", "Y")
    iid = RockPaperScissors(rounds=210, react="iid")
    names = iid.together("HY")
    assert names[0] == "H"
    for told in ((), ((0, 1),), ((2, 2),)):
        chances = iid.probabilities(names[1], iid.observe(told, 1))
        assert chances == pytest.approx((0.25, 0.25, 0.5), abs=1e-4)
    assert iid.outlook(names) == pytest.approx(iid.outlook("HY"), abs=1e-4)


@pytest.mark.parametrize("pair", ["XA", "HY", "ZX"])
def test_simulated_rounds_go_by_the_rules(pair: str) -> None:
    """Two rounds, so that the second answers the first: the chances by the tree of both."""
    game = RockPaperScissors(rounds=2)
    chances = np.zeros(3)
    for hands, chance in tree(game, pair, (), 1.0):
        lead = game.returns(hands)[0]
        chances[[1, 2, 0][int(lead) + 1]] += chance
    counts = game.simulate(pair, 100_000, seed=5)
    assert counts / 100_000 == pytest.approx(chances, abs=0.008)  # five standard errors


def tree(game: RockPaperScissors, pair: str, state: Any, chance: float) -> list[tuple[Any, float]]:
    """Every final state, with its chance."""
    if not game.to_move(state) or chance == 0:
        return [(state, chance)] * (chance > 0)
    first, second = (game.probabilities(pair[s], game.observe(state, s)) for s in (0, 1))
    return [
        leaf
        for a in range(3)
        for b in range(3)
        for leaf in tree(game, pair, game.play(state, (a, b)), chance * first[a] * second[b])
    ]


def test_older_cells_keep_their_description() -> None:
    """Settings at their default are omitted, so keys from before their introduction stay valid."""
    told = {"class": "games.rock_paper_scissors.RockPaperScissors", "num_seats": 2, "rounds": 10}
    assert describe(RockPaperScissors(rounds=10)) == told
    assert describe(RockPaperScissors(rounds=10, react="iid")) == {**told, "react": "iid"}


def test_two_hundred_rounds_are_told_in_no_time() -> None:
    """A seat observes all rounds at every turn; the clauses are stored once."""
    began, state = time.process_time(), ()
    while GAME.to_move(state):
        _ = [GAME.observe(state, seat) for seat in (0, 1)]
        state = GAME.play(state, (0, 1))
    assert time.process_time() - began < 0.25
