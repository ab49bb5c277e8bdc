"""Findings about LLM-UNO. Simulated games replace a baseline that was itself a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from math import ceil, floor, sqrt
from typing import Any

from scipy.stats import norm

from gauntlet.games.uno import Uno
from gauntlet.papers.audit.findings import ALPHA, Finding, format_tests, z_and_p, z_and_p_of_two
from gauntlet.papers.llm_uno.reproduction import example_rows
from gauntlet.papers.published import paper

GAMES = 1_000_000
"""Games per simulated baseline: a standard error of .0005."""
SEED = 1
COOP_TESTS = 8


def published(name: str) -> Mapping[str, Any]:
    """Return one published entry of LLM-UNO by the end of its id."""
    data = paper("llm_uno")
    entries = [*data["cells"], *data["seats"], data["gain"], data["significant"]]
    return next(entry for entry in entries if entry["id"] == f"llm_uno.{name}")


SOLO = {
    "1B": "fig5.llama3.2-1b.cloze.win_rate",
    "8B": "fig5.llama3.1-8b.best_prompt.win_rate",
    "24B": "fig5.mistral-24b.cloze.win_rate",
    "70B": "fig5.llama3.3-70b.cloze.win_rate",
}
COOP = {
    "1B": "fig6.llama3.2-1b.cloze.teammate_win_rate",
    "24B": "fig6.mistral-24b.counterfactual.teammate_win_rate",
    "70B": "fig6.llama3.3-70b.cloze.teammate_win_rate",
}
SOLO_BASELINE = "baseline.solo.random_seat1.win_rate"
COOP_BASELINE = "baseline.coop.rule_rule_random.seat1.win_rate"


def tests(lines: Mapping[str, str], baseline: float) -> dict[str, tuple[float, float]]:
    """Return z and p of each printed entry against a fixed baseline."""
    entries = {model: published(line) for model, line in lines.items()}
    return {model: z_and_p(e["value"], baseline, e["n"]) for model, e in entries.items()}


@cache
def simulated(*players: str) -> tuple[int, ...]:
    """Return wins by seat in GAMES games of scripted players."""
    return tuple(Uno(len(players)).simulate(players, GAMES, SEED).tolist())


def lu_01() -> Finding:
    line, gain = published(SOLO["70B"]), published("fig5.llama3.3-70b.cloze.gain")["value"]
    rate, n, baseline = line["value"], line["n"], published(SOLO_BASELINE)["value"]
    near = [floor(rate * n), ceil(rate * n)]
    reachable = any(round(wins / n, 4) == rate for wins in near)
    wins = round((baseline + gain) * n)
    return (
        f"70B cloze wins {rate:.2%} of {n:,} games, {100 * gain:.2f} points over {baseline:.2%}",
        f"{rate:.2%} is {100 * (rate - baseline):.2f} points above, and no count of {n:,} games "
        f"gives it: {near[0]:,} give {near[0] / n:.2%}, {near[1]:,} give {near[1] / n:.2%}; "
        f"{100 * gain:.2f} points would be {wins:,} wins, {wins / n:.2%}",
        reachable and round(rate - baseline, 4) == gain,
    )


def lu_02() -> Finding:
    results = tests(SOLO, published(SOLO_BASELINE)["value"])
    return (
        "every model beats 48.96% with at least one prompt at p < .05 (baseline taken as exact)",
        format_tests(results),
        all(p < ALPHA for _, p in results.values()),
    )


def lu_03() -> Finding:
    baseline = published(COOP_BASELINE)["value"]
    results = tests(COOP, baseline)
    least = ", ".join(
        f"{baseline + norm.isf(ALPHA) * sqrt(baseline * (1 - baseline) / n):.2%} of {n:,}"
        for n in (10_000, 7_000)
    )
    significant = {model for model, (_, p) in results.items() if p < ALPHA}
    return (
        "helping: only 70B cloze is significant, 1B and 24B come near (baseline taken as exact)",
        f"{format_tests(results)}; significant from {least} games on",
        significant == {"70B"},
    )


def lu_04() -> Finding:
    line, p0 = published(COOP["70B"]), published(COOP_BASELINE)["value"]
    ps = {n: z_and_p_of_two(line["value"], line["n"], p0, n)[1] for n in (10_000, 100_000)}
    return (
        "70B helps significantly over a baseline of 10,000 games (elsewhere: 100,000)",
        "two-proportion z, as the baseline is a sample too: "
        + "; ".join(f"p={p:.4f} with {n:,} baseline games" for n, p in ps.items()),
        all(p < ALPHA for p in ps.values()),
    )


def lu_05() -> Finding:
    p = tests(COOP, published(COOP_BASELINE)["value"])["70B"][1]
    step, chance = ALPHA / COOP_TESTS, 1 - (1 - ALPHA) ** COOP_TESTS
    return (
        f"70B helps significantly, one of {COOP_TESTS} tests at alpha {ALPHA:g} each",
        f"p={p:.4f} is not below {step:.5f} (Bonferroni); with {COOP_TESTS} true null hypotheses "
        f"some p < {ALPHA:g} has chance {chance:.0%}",
        p < step,
    )


def lu_06() -> Finding:
    p0 = published(COOP_BASELINE)["value"]
    found = tests(COOP, p0)
    gains = [100 * (published(line)["value"] - p0) for line in COOP.values()]
    above = sum(p > ALPHA for _, p in found.values())
    return (
        "three combinations give reliable gains for the partner",
        f"{above} of the three have p > {ALPHA:g}; gains of {min(gains):.2f} to "
        f"{max(gains):.2f} points",
        above == 0,
    )


def lu_08() -> Finding:
    rate, line = simulated("random", "random")[1] / GAMES, published(SOLO_BASELINE)
    off = z_and_p(line["value"], rate, line["n"])[0]
    results = tests(SOLO, rate)
    return (
        "a random second player wins 48.96% (10,000 games), and all four models beat that",
        f"{rate:.2%} in {GAMES:,} games of ours; 48.96% is {off:+.2f} standard errors off, within "
        f"noise. Against ours: {format_tests(results)}",
        all(p < ALPHA for _, p in results.values()),
    )


def lu_09() -> Finding:
    rate = simulated("random", "rule")[1] / GAMES
    best = max(published(line)["value"] for line in SOLO.values())
    return (
        "language models play about as well as a strong agent",
        f"RLCard's rule player wins {rate:.2%} from the same seat ({GAMES:,} games of ours); the "
        f"best model won {best:.2%}",
        best >= rate,
    )


def lu_12() -> Finding:
    rows = example_rows(paper("llm_uno")["example"])
    return (
        "Fig. 3: cumulative scores " + " / ".join(f"{row.published:.4f}" for row in rows),
        "sums of the printed shares " + " / ".join(f"{row.ours:.4f}" for row in rows),
        all(row.verdict == "agrees" for row in rows),
    )


def lu_14() -> Finding:
    wins = simulated("rule", "rule", "random")
    rates = [count / GAMES for count in wins[:3]]
    results = tests(COOP, rates[1])
    line = published(COOP_BASELINE)
    off = z_and_p(line["value"], rates[1], line["n"])[0]
    return (
        "seat 1 wins 35.00% unaided (10,000 games), and 70B raises that significantly",
        f"{' / '.join(f'{rate:.2%}' for rate in rates)} in {GAMES:,} games of ours; 35.00% is "
        f"{off:+.2f} standard errors off. Against ours: {format_tests(results)}",
        results["70B"][1] < ALPHA,
    )


CHECKS: dict[str, Callable[[], Finding]] = {
    "LU-01": lu_01,
    "LU-02": lu_02,
    "LU-03": lu_03,
    "LU-04": lu_04,
    "LU-05": lu_05,
    "LU-06": lu_06,
    "LU-08": lu_08,
    "LU-09": lu_09,
    "LU-12": lu_12,
    "LU-14": lu_14,
}
