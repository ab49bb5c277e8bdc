"""TALAGA's rows of a reproduction: every printed number of its tables next to ours.

Except for random and minmax, the paper's players use gpt-3.5-turbo; their rows appear once per
model of ours, with its name as suffix. Rates are in percent, as printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import pandas as pd

from gauntlet.papers.published import (
    Entry,
    Row,
    exact_row,
    known_share_row,
    mean_row,
    not_run,
    only_drawn,
    share_row,
    unreferenced_row,
)
from gauntlet.papers.talaga.ends import PERCENT, TURNED, Counted, Ends, Met
from gauntlet.papers.verdicts import Estimate

FIRST, SECOND, DRAWN = 100 * 737 / 1260, 100 * 121 / 420, 100 * 8 / 63
"""Win rates of a random player against another in Tic-Tac-Toe, moving first or second, and their
draw rate, in percent: exact."""
CHANCE = (FIRST + SECOND) / 2

NAMES = {"minmax": "minimax", "prompt": "direct", "cot-sc": "cot_sc"}
"""The paper's players whose files in conf/player have other names."""
SCRIPTED = ("random", "minmax")
UNBEATEN = "minmax"
STAND_INS = ("minimax_d1", "minimax_eps")
"""Players that lose sometimes, like the paper's MinMax."""
VARIANTS = {
    "k2_n2": "talaga[n1=2]",
    "k2_n4_2": "talaga[n1=4]",
    "plus_hallucination_control": "talaga",
}
"""Table 3's rows by their names in our output_dirs."""
TABLE2 = {"wins": "talaga_win", "losses": "other_win", "draws": "draw", "margin": "margin"}
TABLE3 = {
    "wins": ("talaga_wr", "all", "win"),
    "losses": ("tot_wr", "all", "loss"),
    "first_wins": ("talaga_first.talaga_wins", "first", "win"),
    "first_losses": ("talaga_first.tot_wins", "first", "loss"),
    "second_losses": ("tot_first.tot_wins", "second", "loss"),
    "second_wins": ("tot_first.talaga_wins", "second", "win"),
}
"""Table 3's columns: the name in ids, who moved first, and whose wins they count."""
PER_SIDE = 50
"""Matches of Table 3 where one side moved first; its wins there are counts."""


def our_name(player: str) -> str:
    return NAMES.get(player, player)


def table1_rows(reported: Mapping[str, Any], ends_by_pair: Met, model: str = "") -> Iterator[Row]:
    """Table 1's pairs: with `model` those that use it, without those that use none.

    ends_by_pair: results; missing ones are not_run.
    """
    players, rows = reported["players"], reported["table1"]["rows"]
    for name, line in rows.items():
        for other, value in zip(players, line, strict=True):
            if value is not None and bool(model) != ({name, other} == {*SCRIPTED}):
                where = f"talaga.table1.{name}.vs.{other}.win_rate{model_suffix(model)}"
                entry: dict[str, Any] = {
                    "id": where,
                    "value": value,
                    "n": reported["table1"]["games"],
                }
                entry["without"] = CHANCE
                row = _share(
                    entry, ends_by_pair.get((our_name(name), our_name(other))), "all", "win"
                )
                yield unbeaten(entry, row) if other == UNBEATEN else row


def unbeaten(entry: Entry, row: Row) -> Row:
    """The row of losses of full-depth minimax, which are provably 0: TA-02 checks all lines."""
    if row.verdict == "not_run":
        return row
    return replace(known_share_row(entry, 0.0, PERCENT), n=row.n, deals=row.deals)


def stand_in_rows(reported: Mapping[str, Any], ends_by_pair: Met) -> Iterator[Row]:
    """Table 1's pair of scripted players with the weaker minimax variants as MinMax; then all pairs
    of our own scripted players, which the paper does not have."""
    players, rows = reported["players"], reported["table1"]["rows"]
    for name in STAND_INS:
        for pair in (("random", "minmax"), ("minmax", "random")):
            column = players.index(pair[1])
            names = [name if player == "minmax" else player for player in pair]
            entry: dict[str, Any] = {"id": f"talaga.table1.{names[0]}.vs.{names[1]}.win_rate"}
            entry |= {"value": rows[pair[0]][column], "n": reported["table1"]["games"]}
            entry["without"] = CHANCE
            yield _share(entry, ends_by_pair.get((names[0], names[1])), "all", "win")
    done = {("random", "minimax"), *(("random", name) for name in STAND_INS)}
    for pair, ends in ends_by_pair.items():
        if not {pair, pair[::-1]} & done:
            entry = {"id": f"talaga.table1.{pair[0]}.vs.{pair[1]}.win_rate"}
            yield _share(entry, ends, "all", "win")


def mean_rows(reported: Mapping[str, Any], means: Mapping[str, Ends], model: str) -> Iterator[Row]:
    """Table 1's means of rows and columns. means: of our players, by name."""
    table = reported["table1"]
    for column, end in (("wins", "win"), ("losses", "loss")):
        for name, value in zip(reported["players"], table[column], strict=True):
            where = f"talaga.table1.{name}.avg_{end}_rate{model_suffix(model)}"
            games = table["games"] * (len(reported["players"]) - 1)
            entry: dict[str, Any] = {"id": where, "value": value, "n": games, "without": CHANCE}
            found = means.get(our_name(name))
            row = _share(entry, {"all": found} if found else None, "all", end)
            yield unbeaten(entry, row) if (name, end) == (UNBEATEN, "loss") else row


def table2_rows(reported: Mapping[str, Any], ends_by_pair: Met, model: str) -> Iterator[Row]:
    """Table 2, and the abstract's advantage over tot, which is one of its margins."""
    table = reported["table2"]
    without = {"wins": CHANCE, "losses": CHANCE, "draws": DRAWN, "margin": 0.0}
    for place, column in enumerate(table["columns"]):
        for other, line in table["rows"].items():
            where = f"talaga.table2.vs_{other}.{TABLE2[column]}{model_suffix(model)}"
            entry: dict[str, Any] = {"id": where, "value": line[place], "n": table["games"]}
            entry |= {"without": without[column], "error": margin_error(line, table["games"])}
            ends = ends_by_pair.get(("talaga", our_name(other)))
            end = {"wins": "win", "losses": "loss", "draws": "draw"}.get(column, column)
            yield _share(entry, ends, "all", end)
            if column == "margin" and other == reported["abstract"]["opponent"]:
                value = reported["abstract"]["advantage"]
                entry |= {"id": f"talaga.abstract.advantage{model_suffix(model)}", "value": value}
                yield _share(entry, ends, "all", end)


def margin_error(line: Sequence[float], games: int) -> float:
    """Return the standard error of wins minus losses; line: both, in percent of games, which may be
    drawn."""
    won, lost = (rate / PERCENT for rate in line[:2])
    return PERCENT * sqrt((won + lost - (won - lost) ** 2) / games)


def table3_rows(reported: Mapping[str, Any], ends_by_pair: Met, model: str) -> Iterator[Row]:
    """Table 3: rates in percent, then wins of either first mover, as counts out of PER_SIDE."""
    table = reported["table3"]
    without = {"all": CHANCE, "first": FIRST, "second": SECOND}
    for place, column in enumerate(table["columns"]):
        name, moved, end = TABLE3[column]
        scale = 1.0 if moved == "all" else PER_SIDE / 100
        chance = without[moved if end == "win" else TURNED[moved]]
        for variant, line in table["rows"].items():
            where = f"talaga.table3.{variant}.{name}{model_suffix(model)}"
            entry: dict[str, Any] = {"id": where, "value": line[place]}
            entry |= {"n": table["games"] if moved == "all" else PER_SIDE}
            entry["without"] = scale * chance
            yield _share(entry, ends_by_pair.get((VARIANTS[variant], "tot")), moved, end, scale)


def actor_rows(ends_by_pair: Met) -> Iterator[Row]:
    """Table 3's variants with scripted actors against a scripted tree of thoughts, by their labels
    k, n1 and votes: win rates, the opponent's, and the margin."""
    for (player, other), ends in ends_by_pair.items():
        if player.startswith("lookahead["):
            for end in ("win", "loss", "margin"):
                yield _share({"id": f"talaga.table3.{player}.vs_{other}.{end}"}, ends, "all", end)


def table4_rows(reported: Mapping[str, Any], hands: Counted, model: str) -> Iterator[Row]:
    """Table 4: shares of hands; the paper does not report the number of hands."""
    table = reported["table4"]
    for column, name in (("wins", "talaga_hand_win_rate"), ("losses", "other_hand_win_rate")):
        for other, line in table["rows"].items():
            where = f"talaga.table4.vs_{other}.{name}{model_suffix(model)}"
            entry: dict[str, Any] = {"id": where, "value": line[table["columns"].index(column)]}
            share, *sizes = hands.get(("talaga", our_name(other)), (None, 0, 0))
            if share is None:
                yield not_run(entry)
            else:
                if column == "losses":
                    share = Estimate(100 - share.value, 100 - share.high, 100 - share.low)
                yield unreferenced_row(entry, share, *sizes)


def figure_rows(
    reported: Mapping[str, Any], finals_by_figure: Mapping[str, Counted], model: str
) -> Iterator[Row]:
    """The figures, which print no number; finals_by_figure: ours, as in `chip_rows`."""
    for figure in reported["figures"]:
        entry = {"id": f"talaga.{figure}.curves{model_suffix(model)}"}
        yield only_drawn(entry) if finals_by_figure.get(figure) else not_run(entry)


def chip_rows(finals_by_figure: Mapping[str, Counted], model: str = "") -> Iterator[Row]:
    """Final chips of each pair, by the figure that shows it."""
    for figure, finals in finals_by_figure.items():
        for (own, other), (share, games, deals) in finals.items():
            where = f"talaga.{figure}.{own}.vs.{other}.final_chips{model_suffix(model)}"
            yield unreferenced_row({"id": where}, share, games, deals)


def cost_rows(costs: pd.DataFrame, model: str) -> Iterator[Row]:
    """Cost of a move, which the paper does not report. n is the number of decisions."""
    for _, cost in costs.iterrows():
        for name in ("calls", "tokens_in", "tokens_out"):
            where = f"talaga.cost.{cost['game']}.{cost['method']}.{name}{model_suffix(model)}"
            yield unreferenced_row({"id": where}, Estimate(cost[name]), int(cost["decisions"]))


def setting_rows(reported: Mapping[str, Any], our_settings: Mapping[str, float]) -> Iterator[Row]:
    """Compare the paper's settings, by name, with those played."""
    for printed in reported["settings"]:
        entry, name = {**printed, "kind": "setting"}, printed["id"].rpartition(".")[2]
        yield exact_row(entry, our_settings[name]) if name in our_settings else not_run(entry)


def _share(
    entry: dict[str, Any],
    by_mover: Mapping[str, Ends] | None,
    moved: str,
    end: str,
    scale: float = 1,
) -> Row:
    """The row of a share of the matches in which `moved` moved first; scale: the row's unit."""
    if not by_mover or moved not in by_mover:
        return not_run(entry)
    ends = by_mover[moved]
    share: Estimate = getattr(ends, end)
    estimate = Estimate(*(scale * one for one in (share.value, share.low, share.high)))
    if end == "margin":
        return mean_row(entry, estimate, ends.games, ends.deals, entry.get("error"))
    return share_row(
        entry, estimate, ends.games, ends.deals, scale * PERCENT, ends.independent[end]
    )


def model_suffix(model: str) -> str:
    return f".{model}" if model else ""
