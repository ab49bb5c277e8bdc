"""Findings about TALAGA, from its printed tables: rates in percent of matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from gauntlet.agents.minimax import outcome
from gauntlet.games.tic_tac_toe import State, TicTacToe
from gauntlet.papers.audit.findings import ALPHA, Finding, Open
from gauntlet.papers.published import paper
from gauntlet.stats.proportions import sign_test

HALF_PERCENT = 0.5
"""One match of 200, in percent."""
ROUNDED = 0.005
"""Rounding error of a printed mean."""
GRID, START = TicTacToe(), State((0, 0), ())


def printed(table: str) -> Any:
    """Return one part of the paper's numbers."""
    return paper("talaga")[table]


def rows(table: str) -> dict[str, dict[str, float]]:
    columns, lines = printed(table)["columns"], printed(table)["rows"]
    return {name: dict(zip(columns, line, strict=True)) for name, line in lines.items()}


def printed_win_rates() -> dict[str, dict[str, float]]:
    """Table 1: win rate of each player against each other one."""
    players, lines = printed("players"), printed("table1")["rows"]
    return {
        name: {other: rate for other, rate in zip(players, line, strict=True) if rate is not None}
        for name, line in lines.items()
    }


def row_mean(player: str) -> float:
    return float(np.mean(list(printed_win_rates()[player].values())))


def column_mean(player: str) -> float:
    return float(
        np.mean([line[player] for name, line in printed_win_rates().items() if name != player])
    )


def ta_01() -> Finding:
    table, players = printed("table1"), printed("players")
    printed_means = [*table["wins"], *table["losses"]]
    means = [*map(row_mean, players), *map(column_mean, players)]
    off = [
        place
        for place, mean in enumerate(means)
        if abs(mean - printed_means[place]) > ROUNDED + 1e-9
    ]
    rates = [rate for line in printed_win_rates().values() for rate in line.values()]
    multiples = sum((rate / HALF_PERCENT).is_integer() for rate in rates)
    return (
        f"Table 1: {len(printed_means)} means of rows and columns, of {len(rates)} rates of "
        f"{table['games']} games",
        f"{len(printed_means) - len(off)} of {len(printed_means)} means are those of the printed "
        f"rates to .01; {multiples} of {len(rates)} rates are multiples of {HALF_PERCENT}%",
        not off and multiples == len(rates),
    )


def ta_02() -> Finding:
    rates = [line["minmax"] for name, line in printed_win_rates().items() if name != "minmax"]
    ends = sum(count_losses(START, seat) for seat in (0, 1))
    wins = np.mean([win_chance_vs_random(START, seat) for seat in (0, 1)])
    return (
        f"MinMax loses {min(rates):g}% to {max(rates):g}%, {np.mean(rates):.2f}% in the mean",
        f"full-depth minimax on {GRID.size} x {GRID.size}, whatever best move it takes and "
        f"whatever the other plays, loses in {ends} final positions, so 0.00%; against random it "
        f"wins {wins:.2%} over both seats, exactly, and draws the rest (printed: "
        f"{printed_win_rates()['minmax']['random']:g}%, and "
        f"{printed_win_rates()['random']['minmax']:g}% lost)",
        ends > 0,
    )


def best(state: State, seat: int) -> Iterator[State]:
    """Yield the states after minimax's optimal moves."""
    sign = 1 - 2 * seat
    after = [GRID.play(state, (cell,)) for cell in GRID.legal(state, seat)]
    worth = [sign * outcome(GRID, one) for one in after]
    yield from (one for one, value in zip(after, worth, strict=True) if value == max(worth))


@cache
def reached(state: State, seat: int) -> frozenset[State]:
    """Return every final position that minimax in this seat can reach against any opponent."""
    movers = GRID.to_move(state)
    if not movers:
        return frozenset((state,))
    free = [GRID.play(state, (cell,)) for cell in GRID.legal(state, movers[0])]
    after = best(state, seat) if movers == (seat,) else free
    return frozenset(last for one in after for last in reached(one, seat))


def count_losses(start: State, seat: int) -> int:
    """Count the final positions in which minimax in this seat has lost."""
    return sum(GRID.returns(last)[seat] < 0 for last in reached(start, seat))


@cache
def win_chance_vs_random(state: State, seat: int) -> float:
    """Return the probability that minimax in this seat beats a uniformly random player."""
    movers = GRID.to_move(state)
    if not movers:
        return float(GRID.returns(state)[seat] > 0)
    free = [GRID.play(state, (cell,)) for cell in GRID.legal(state, movers[0])]
    after = list(best(state, seat)) if movers == (seat,) else free
    return float(np.mean([win_chance_vs_random(one, seat) for one in after]))


def ta_03() -> Finding:
    claims, table = printed("table1")["claims"], printed_win_rates()
    leads = {
        name: line["random"] - table["random"][name]
        for name, line in table.items()
        if name not in ("random", "minmax")
    }
    above = {name for name, lead in leads.items() if lead > 0}
    text = ", ".join(f"{name} {lead:+g}" for name, lead in leads.items())
    (below,) = claims["below_random"]
    return (
        f"only {' and '.join(claims['above_random'])} beat random, moderately; {below} is worse "
        "(by means of rows)",
        f"head to head with random, in points: {text}. A row's mean is over other opponents than "
        "random's, as nobody plays itself",
        above == set(claims["above_random"]),
    )


def ta_04() -> Finding:
    claims, table = printed("table1")["claims"], printed_win_rates()
    worse, better = claims["worse"], claims["better"]
    one, other = table[worse][better], table[better][worse]
    losses = {name: column_mean(name) for name in (worse, better)}
    return (
        f"{worse} plays worse than {better} (means of rows {row_mean(worse):.2f} and "
        f"{row_mean(better):.2f})",
        f"{one:g} to {other:g} head to head; it loses {losses[worse]:.2f}%, and {better} "
        f"{losses[better]:.2f}%",
        one < other and losses[worse] > losses[better],
    )


def ta_05() -> Finding:
    published = printed("actions")
    free = [name for name in published["listed"] if name not in published["forced"]]
    return (
        f"hold'em has only {published['said']} actions",
        f"{len(published['listed'])} are listed; {' and '.join(published['forced'])} are forced, "
        f"and {len(free)} are choices",
        len(published["listed"]) == published["said"],
    )


def ta_10() -> Finding:
    table = rows("table2")
    ps = {name: sign_test_p(row) for name, row in table.items()}
    step = ALPHA / len(ps)
    least = [name for name, p in ps.items() if p >= ALPHA]
    strict = [name for name, p in ps.items() if step <= p < ALPHA]
    fits = all(
        sum(row[part] for part in ("wins", "losses", "draws")) == 100
        and row["wins"] - row["losses"] == row["margin"]
        for row in table.values()
    )
    return (
        "TALAGA plays significantly better than each of the others",
        "exact sign test of the decisive games, one-sided: "
        + ", ".join(f"{name} p={p:.2g}" for name, p in ps.items())
        + f"; not below {ALPHA:g}: {', '.join(least) or 'none'}; not below {step:g} (Bonferroni): "
        f"{', '.join(strict) or 'no others'}. Rows and margins "
        + ("add up" if fits else "do not add up"),
        max(ps.values()) < ALPHA,
    )


def sign_test_p(row: Mapping[str, float]) -> float:
    """Return the p-value of the one-sided sign test of a row's wins among a hundred matches."""
    return float(sign_test(row["wins"], row["losses"], "above"))


def ta_11() -> Finding:
    table = rows("table3")
    sums = {
        name: (sum_over_movers(row, "wins"), sum_over_movers(row, "losses"))
        for name, row in table.items()
    }
    fits = [name for name, pair in sums.items() if pair == tuple(rates(table[name]))]
    return (
        "Table 3: win rates beside counts by who moved first",
        f"counts add up to the rates in {len(fits)} of {len(table)} rows: "
        + ", ".join(f"{one:g}/{other:g}" for one, other in sums.values()),
        len(fits) == len(table),
    )


def sum_over_movers(row: Mapping[str, float], end: str) -> float:
    """Return the sum over moving first and moving second."""
    return row[f"first_{end}"] + row[f"second_{end}"]


def rates(row: Mapping[str, float]) -> Sequence[float]:
    return row["wins"], row["losses"]


def ta_13() -> Finding:
    claim = printed("abstract")
    wins, losses = rates(rows("table2")[claim["opponent"]])
    relative = 100 * (wins - losses) / losses
    return (
        f"TALAGA is better than {claim['opponent']} by {claim['advantage']}%",
        f"{wins:g}% to {losses:g}% are {wins - losses:g} points, and {relative:.0f}% more wins",
        abs(relative - claim["advantage"]) < 1,
    )


def ta_14() -> Finding:
    table = rows("table3")
    first, *more = table
    wins, losses = rates(table[first])
    p = float(sign_test(wins, losses, "below"))
    return (
        "the look-ahead tree makes the model better",
        f"with 2 candidates and no control of hallucinations it loses to tot, {wins:g} to "
        f"{losses:g} (sign test, one-sided, p={p:.2g}); ahead only with what is added: "
        + ", ".join(f"{name} {table[name]['wins']:g}-{table[name]['losses']:g}" for name in more),
        wins > losses,
    )


CHECKS: dict[str, Callable[[], Finding]] = {
    "TA-01": ta_01,
    "TA-02": ta_02,
    "TA-03": ta_03,
    "TA-04": ta_04,
    "TA-05": ta_05,
    "TA-10": ta_10,
    "TA-11": ta_11,
    "TA-13": ta_13,
    "TA-14": ta_14,
}

OPEN: dict[str, Open] = {
    "TA-06": (
        "Sec. 5.1: Tic-Tac-Toe is played in 10 trials, after 100 matches of it",
        "words alone: 10 trials are hold'em's",
    ),
    "TA-07": (
        "Sec. 5.4: Table 1 shows hold'em, with results in 4",
        "words alone: Figure 4 and Table 4 do",
    ),
    "TA-08": (
        "Sec. 4.2: the reward, from 0 to 1, is drawn from the opponent's distribution",
        "words alone: it is the value model's, whose prompt asks for 0 to 100",
    ),
    "TA-09": (
        "Eq. 2: rewards are weighted by the chances of the actions",
        "the chances were not to be had from the model, and the text backs up plain minima and "
        "maxima; neither is printed",
    ),
    "TA-12": (
        "Table 4: TALAGA wins 53.8 to 78.0% of hands",
        "the number of hands is not given, so there is no interval and no test; rows add up to "
        "100%, so split pots went to one player",
    ),
}
"""Findings that no printed number decides: the claim, and why."""
