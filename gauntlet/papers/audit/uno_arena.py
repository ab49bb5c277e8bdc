"""Findings about UNO Arena, from its printed tables: WR and ODHR in percent, ADR in ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gauntlet.papers.audit.findings import ALPHA, Finding, format_tests, z_and_p, z_and_p_of_two
from gauntlet.papers.published import paper
from gauntlet.papers.uno_arena.changes import scaled_change
from gauntlet.stats.regression import pearson

Rows = Mapping[str, Mapping[str, float]]
"""A printed table: values by row and column."""

MOST_GAMES = 1000
"""Largest number of games tried for the printed win rates."""
HALF = 0.5
ROUNDED = 0.0006
"""Combined rounding error of printed ADR@2 and ODHR@2."""
MISPRINTS = {("GPT-3.5", "ADR@2"): "UA-03", ("without strategy", "ADR@4"): "UA-04"}
"""Bracketed changes of ADR that another finding shows to be wrong."""


def published(table: str) -> Any:
    """Return one part of the paper's numbers."""
    return paper("uno_arena")[table]


def rows(table: str, part: str = "rows") -> Rows:
    columns, lines = published("columns"), published(table)[part]
    return {name: dict(zip(columns, line, strict=True)) for name, line in lines.items()}


def best_first(table: Rows, column: str) -> list[str]:
    """Return the players sorted by one column, best first: low for ADR, high for the others."""
    sign = 1 if column.startswith("ADR") else -1
    return sorted(table, key=lambda player: sign * table[player][column])


def format_places(table: Rows, places: Mapping[str, str]) -> str:
    """Format the player in a given place of each column, with its value."""
    return ", ".join(f"{c} {player} {table[player][c]:g}" for c, player in places.items())


def against_half(table: Rows, games: int) -> dict[str, tuple[float, float]]:
    return {name: z_and_p(row["WR"] / 100, HALF, games) for name, row in table.items()}


def ua_01() -> Finding:
    names = published("names")
    unknown = [name for name in names["tables"] if name not in names["text"]]
    unmatched = [name for name in names["text"] if name not in names["tables"]]
    return (
        f"Tables 2 to 5 show {', '.join(names['tables'])}",
        f"not defined: {', '.join(unknown) or 'none'}; defined, and not in the tables: "
        f"{', '.join(unmatched) or 'none'}",
        not unknown,
    )


def ua_02() -> Finding:
    games, rates = published("table3")["games"], [row["WR"] for row in rows("table3").values()]
    fits = [n for n in range(1, MOST_GAMES + 1) if all(reachable(rate, n) for rate in rates)]
    wins = [rate * games / 100 for rate in rates]
    recomputed = f"of {games} games these are {' / '.join(f'{count:g}' for count in wins)} wins"
    if fits and games not in fits:
        win_counts = [round(rate * fits[0] / 100) for rate in rates]
        recomputed += (
            f"; whole, up to {MOST_GAMES:,} games, only with {' or '.join(map(str, fits))}: "
            f"{' / '.join(map(str, win_counts))} of {fits[0]}, in all {sum(rates):.2f}%, so "
            f"{sum(win_counts) - fits[0]} shared wins"
        )
    shown = " / ".join(f"{rate:.2f}" for rate in rates)
    return f"the five win {shown}% of {games} games", recomputed, games in fits


def reachable(rate: float, games: int) -> bool:
    """Return whether some number of wins gives this percentage, to the two printed decimals."""
    return round(100 * round(rate * games / 100) / games, 2) == rate


def ua_03() -> Finding:
    change, table = rows("table4", "changes")["GPT-3.5"], rows("table4")
    new, old = table["GPT-3.5 TUTRI"], table["GPT-3.5 vanilla"]
    hits = new["ODHR@2"] - old["ODHR@2"]
    rank = float(scaled_change(new["ADR@2"], old["ADR@2"], 2))
    return (
        f"Table 4, GPT-3.5: ODHR@2 {change['ODHR@2']:+.2f}%, ADR@2 {change['ADR@2']:+.2f}%",
        f"{new['ODHR@2']:.2f} - {old['ODHR@2']:.2f} = {hits:+.2f}; ADR@2 {rank:+.2f}%",
        printable_as(hits, change["ODHR@2"]) and printable_as(rank, change["ADR@2"]),
    )


def printable_as(value: float, printed: float) -> bool:
    """Return whether `value` can be printed with two decimals as `printed`: truncated, or computed
    from numbers rounded before."""
    return abs(value - printed) <= 0.01 + 1e-9


def ua_04() -> Finding:
    change, table = rows("table5", "changes")["without strategy"]["ADR@4"], rows("table5")
    new, old = table["without strategy"]["ADR@4"], table["whole"]["ADR@4"]
    rank = float(scaled_change(new, old, 4))
    return (
        f"Table 5: without the strategy module ADR@4 changes by {change:+.2f}%",
        f"{new:.4f} - {old:.4f} = {new - old:+.4f}, over 3 is {rank:+.2f}%: "
        + ("worse, not better" if rank > 0 > change else "as printed"),
        printable_as(rank, change),
    )


def ua_05() -> Finding:
    four, five = published("table4")["threshold"], published("table5")["threshold"]
    row, other = rows("table4")["Gemini TUTRI"], rows("table5")["whole"]
    same = sum(row[column] == other[column] for column in row)
    return (
        f"the threshold of a critical decision is {four:.2f} in Table 4 and {five:.2f} in Table 5",
        f"the row of Gemini with TUTRI is the same in {same} of {len(row)} numbers; at 0.00 every "
        "decision is critical",
        four == five or same < len(row),
    )


def ua_06() -> Finding:
    claim = published("correlations")
    by_table = {name: correlations(name) for name in ("table2", "table3")}
    texts = (
        f"Table {name[-1]}: " + ", ".join(f"{column} {r:.3f}" for column, r in of.items())
        for name, of in by_table.items()
    )
    strongest = claim["strongest"]
    sources = [name[-1] for name, of in by_table.items() if supports(of, strongest)]
    return (
        f"WR in Table {claim['table'][-1]} correlates strongest with "
        + " and ".join(f"{column} ({r:+.2f})" for column, r in strongest.items()),
        f"{'; '.join(texts)}. The claim fits Table {' or '.join(sources) or '(none)'}",
        claim["table"][-1] in sources,
    )


def supports(correlations: Mapping[str, float], claimed: Mapping[str, float]) -> bool:
    """Return whether the claimed correlations are the highest and the lowest, with those values."""
    extremes = {
        max(correlations, key=correlations.__getitem__),
        min(correlations, key=correlations.__getitem__),
    }
    return extremes == set(claimed) and all(
        printable_as(correlations[column], r) for column, r in claimed.items()
    )


def correlations(table: str) -> dict[str, float]:
    """Return the correlations of WR with each other column."""
    players = rows(table).values()
    wins, others = [row["WR"] for row in players], published("columns")[1:]
    return {column: pearson(wins, [row[column] for row in players])[0] for column in others}


def ua_07() -> Finding:
    claim, table = published("table2"), rows("table2")
    places = {column: best_first(table, column) for column in published("columns")}
    first = {c: order[0] for c, order in places.items() if order[0] != claim["best"]}
    second = {c: order[1] for c, order in places.items() if order[1] != claim["second"]}
    return (
        f"Table 2: {claim['best']} is best and {claim['second']} second in every column",
        f"best else: {format_places(table, first) or 'none'}; second else: "
        f"{format_places(table, second) or 'none'}",
        not first and not second,
    )


def ua_08() -> Finding:
    claim, table = published("table3")["worst"], rows("table3")
    worst = {column: best_first(table, column)[-1] for column in published("columns")}
    other_worst = {c: worst[c] for c in claim["columns"] if worst[c] != claim["player"]}
    worst_columns = [column for column, player in worst.items() if player == claim["player"]]
    return (
        f"Table 3: {claim['player']} is worst in {', '.join(claim['columns'])}",
        f"worst are {format_places(table, other_worst) or 'no others'}; {claim['player']} is worst "
        f"in {', '.join(worst_columns)}",
        not other_worst,
    )


def ua_11() -> Finding:
    bracket_fits = brackets("table4", "{} TUTRI", "{} vanilla") | brackets("table5", "{}", "whole")
    missed = [where for where, fits in bracket_fits.items() if not fits]
    exceptions = (f"{' '.join(where)} ({MISPRINTS.get(where, 'no misprint')})" for where in missed)
    return (
        "Tables 4 and 5 give changes of ADR@K in percent, and not of what",
        "100 (new - old) / (K - 1), in percent of its span, gives "
        f"{len(bracket_fits) - len(missed)} of {len(bracket_fits)} brackets to .01; "
        f"others: {', '.join(exceptions) or 'none'}",
        set(missed) <= set(MISPRINTS),
    )


def brackets(table: str, new: str, old: str) -> dict[tuple[str, str], bool]:
    """Return whether each change of ADR@K is in percent of its range, K - 1."""
    lines, results = rows(table), {}
    for name, change in rows(table, "changes").items():
        for k in (2, 3, 4):
            column = f"ADR@{k}"
            before, after = lines[old.format(name)][column], lines[new.format(name)][column]
            results[name, column] = printable_as(
                float(scaled_change(after, before, k)), change[column]
            )
    return results


def ua_12() -> Finding:
    tables = [row for n in (2, 3, 4, 5) for row in rows(f"table{n}").values()]
    same = sum(abs(row["ADR@2"] - (2 - row["ODHR@2"] / 100)) <= ROUNDED for row in tables)
    return (
        "ODHR@2 and ADR@2 are two metrics",
        f"ADR@2 = 2 - ODHR@2 / 100 in {same} of {len(tables)} rows, so that one tells the other; "
        "tied options at their mean rank, 1.5, would break that",
        same < len(tables),
    )


def ua_13() -> Finding:
    lines = {name: row for name, row in rows("table4").items() if name.endswith("TUTRI")}
    results = against_half(lines, published("table4")["games"])
    ps, step = [p for _, p in results.values()], ALPHA / len(results)
    return (
        "the results strongly support TUTRI over vanilla",
        f"wins against 50%: {format_tests(results)}; {sum(p < ALPHA for p in ps)} of {len(ps)} "
        f"have p < {ALPHA:g}, {sum(p < step for p in ps)} have p < {step:g} (Bonferroni)",
        all(p < ALPHA for p in ps),
    )


def ua_14() -> Finding:
    table, games = rows("table5"), published("table5")["games"]
    whole_row = table["whole"]
    less = {name: row for name, row in table.items() if name != "whole"}
    results = {
        name: z_and_p_of_two(whole_row["WR"] / 100, games, row["WR"] / 100, games)
        for name, row in less.items()
    }
    hits = ", ".join(f"{row['ODHR@2'] - whole_row['ODHR@2']:+.2f}" for row in less.values())
    return (
        f"both modules are needed: {whole_row['WR']:.1f}% wins fall to "
        + " and ".join(f"{row['WR']:.1f}%" for row in less.values()),
        f"{format_tests(results)}; ODHR@2 changes by {hits} points",
        all(p < ALPHA for _, p in results.values()),
    )


def ua_15() -> Finding:
    table = rows("table2")
    results = against_half(table, published("table2")["games"])
    above = [name for name, row in table.items() if row["WR"] > 100 * HALF]
    fail = [name for name in above if results[name][1] >= ALPHA]
    return (
        f"players that win over 50% play with understanding: {', '.join(above)}",
        f"{format_tests(results)}; not significant: {', '.join(fail) or 'none'}. A random player's "
        "own rate in the second seat, which need not be 50%, is not printed",
        not fail,
    )


def ua_16() -> Finding:
    table, games = rows("table4"), published("table4")["games"]
    sums = {
        name: table[f"{name} vanilla"]["WR"] + table[f"{name} TUTRI"]["WR"]
        for name in rows("table4", "changes")
    }
    shared = {name: total * games / 100 - games for name, total in sums.items()}
    return (
        "Table 4: win rates of the two sides sum to "
        + " / ".join(f"{total:g}" for total in sums.values()),
        f"shared wins in {games} games, possible where the deck runs out: "
        + ", ".join(f"{name} {count:g}" for name, count in shared.items()),
        all(count >= 0 and count.is_integer() for count in shared.values()),
    )


CHECKS: dict[str, Callable[[], Finding]] = {
    "UA-01": ua_01,
    "UA-02": ua_02,
    "UA-03": ua_03,
    "UA-04": ua_04,
    "UA-05": ua_05,
    "UA-06": ua_06,
    "UA-07": ua_07,
    "UA-08": ua_08,
    "UA-11": ua_11,
    "UA-12": ua_12,
    "UA-13": ua_13,
    "UA-14": ua_14,
    "UA-15": ua_15,
    "UA-16": ua_16,
}
