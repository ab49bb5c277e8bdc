"""What a sweep found, in one short paragraph for each question that its cells can answer.

The same sentences head the terminal, the report, the pages, the notes in MLflow and the exported
tables. They claim nothing beyond the experiment's tests after Holm's correction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from gauntlet.common.errors import UserError, counted
from gauntlet.common.process import invocation
from gauntlet.games.capabilities import win_or_score
from gauntlet.pipeline.log.results import ORDER_MATTERS, CellResults
from gauntlet.pipeline.tables.formatting import Scale
from gauntlet.pipeline.tables.media.sheets import WINS
from gauntlet.pipeline.tables.registry import Results, read_table, table
from gauntlet.pipeline.tables.sweep import stopped, tournament
from gauntlet.pipeline.tables.sweep.claims import comparison_group, equal_value, null_value
from gauntlet.pipeline.tables.sweep.conditions import family_size, tested
from gauntlet.pipeline.tables.sweep.controls import rivals
from gauntlet.pipeline.tables.sweep.primary_test import unbeaten_control
from gauntlet.pipeline.tables.sweep.standings import RoundRobin, best_first, round_robins
from gauntlet.stats.checks import Side
from gauntlet.stats.multiple import ALPHA
from gauntlet.stats.power import detectable_mean

POWER = 0.8
GROUPS, NAMES = 6, 3
"""Paragraphs, and names or numbers in a list."""
FIXED = (
    "Nothing is said about who plays better: players kept their seats, and a seat can be worth as "
    "much; rotate=true, in games that allow it, plays every deal from every seat."
)
UNREPEATABLE = (
    "Nothing is claimed about {}: a match came out otherwise when it was played again, so "
    f"{ORDER_MATTERS}."
)
PARTIAL = "Nothing is tested before all deals and controls are played; the same command goes on."
BETTER, WORSE, OPEN, UNREAD = "better", "worse", "open", "unread"
"""What a cell's test shows. UNREAD: better than the baseline, not than always taking an option."""


@table("verdict", {"cells": "the cells that it is about", "verdict": "what was found"}, place=2)
def paragraphs(results: Results) -> Iterator[dict[str, str]]:
    """A row for each group of comparable cells, and each round robin."""
    if settled := tournament.tournament_verdict(results):
        game = results.cells[0].about.labels["game"]
        settled += unrepeatable(results, results.cells)
        yield {"cells": game, "verdict": f"{game}: {' '.join(settled)}"}
        return
    robins = results.cached(round_robins)
    met = {(robin.about.experiment, robin.about.labels["game"]) for robin in robins}
    rest = [cell for cell in results.cells if comparison_group(cell.about)[:2] not in met]
    for robin in robins:
        game = robin.about.labels["game"]
        yield {"cells": game, "verdict": f"{game}: {_order(results, robin)}"}
    cells = defaultdict[tuple[str, ...], list[CellResults]](list)
    for cell in rest:
        cells[comparison_group(cell.about)].append(cell)
    groups = {name: _Group(results, members) for name, members in cells.items()}
    if len(groups) > GROUPS:
        yield {"cells": "all", "verdict": _overview(groups.values())}
        groups = dict(sorted(groups.items(), key=lambda each: not each[1].shown))
    several = len(groups) + len(robins) > 1
    for key, group in groups.items():
        name, sentences = " ".join(key[1:]), " ".join(group.sentences())
        yield {"cells": name, "verdict": f"{name}: {sentences}" if several else sentences}


def _overview(groups: Collection[_Group]) -> str:
    """How many cells of many groups show something; their groups come first."""
    outcomes = [shown for group in groups for shown in group.outcomes]
    better, worse = (outcomes.count(kind) for kind in (BETTER, WORSE))
    of_all = f"Of {len(outcomes):,} cells in {len(groups):,} groups,"
    if not better + worse:
        return f"{of_all} none is shown to do better or worse than the baseline or the other side."
    verb = "is" if better == 1 else "are"
    return (
        f"{of_all} {better:,} {verb} shown to do better than the baseline or the other side, and "
        f"{worse:,} worse."
    )


def verdict(results: Results) -> tuple[str, ...]:
    """The first paragraphs, and how many more there are."""
    return first_paragraphs([*results["verdict"]["verdict"]])


def saved_verdict(folder: Path) -> tuple[str, ...]:
    """The first paragraphs of a run's verdict.csv; none without it. Raises UserError if it is
    damaged."""
    file = folder / "verdict.csv"
    if not file.exists():
        return ()
    try:
        return first_paragraphs([*read_table(file)["verdict"]])
    except (ValueError, KeyError) as error:
        raise UserError(
            f"{file} is damaged ({error}); `{invocation('pipeline.report', folder)}` "
            "writes it again"
        ) from error


def first_paragraphs(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """Those that a page shows, and how many more there are."""
    more = len(paragraphs) - GROUPS
    note = (f"And {more:,} more groups of cells: verdict.csv.",) if more > 0 else ()
    return (*paragraphs[:GROUPS], *note)


def outcome(row: pd.Series[Any]) -> str:
    """What a cell's declared test shows, after Holm's correction."""
    if not row["p_holm"] < ALPHA:
        return OPEN
    below = row["estimate"] < row["null"] if np.isnan(row["baseline"]) else row["difference"] < 0
    return WORSE if below and row["test"] == "two_sided" else BETTER


def outcome_verb(kind: str, test: str, helping: bool, other: str) -> str:
    """What is shown, or is not: "beat random"."""
    if test == "non_inferior":
        return f"keep up with {other}"
    if kind == WORSE:
        return "harm the partner" if helping else f"do worse than {other}"
    return "help the partner" if helping else f"beat {other}"


def third_person(verb: str) -> str:
    """ "beats random"."""
    first, _, rest = verb.partition(" ")
    return f"{first}{'es' if first == 'do' else 's'} {rest}"


def detectable(row: pd.Series[Any], low: float, high: float, tests: int, side: Side) -> str:
    """The effect that a test of an estimate with this 95% interval shows with POWER, in words; ""
    if the measure's range has none."""
    scale, error = Scale.from_row(row), (high - low) / 2 / float(ndtri(0.975))
    least = detectable_mean(error, POWER, ALPHA, tests, side)
    if least > row["measure_high"] - row["measure_low"]:
        return ""
    return scale.difference(least, sign=False)


# --- a round robin


def _order(results: Results, robin: RoundRobin) -> str:
    """The players by score, and how many pairings are settled."""
    rows, cells = (_of_game(results[name], robin) for name in ("standings", "summary"))
    rows = best_first(rows)
    players = [cell for cell in results.cells if cell.about.key in robin.cells]
    scores = win_or_score(robin.about.measure.name)
    scale = WINS if scores else results.scale(rows.iloc[0].to_dict())
    places = [
        f"{row['player']} {scale.mean(row['score' if scores else 'mean'])}"
        for _, row in rows.iterrows()
    ]
    named = ", ".join(places[: 2 * NAMES]) + (", ..." if len(places) > 2 * NAMES else "")
    raw = "raw " if (cells["estimator"] == "adjusted").any() else ""  # standings keep the luck
    order = f"by {raw}{'score' if scores else scale.title} {named}"
    if any(cell.partial for cell in players):
        return f"{order}. {PARTIAL}"
    if notes := unrepeatable(results, players):
        return f"{order}. {notes[0]}"
    if not robin.fair:
        return f"{order}. {FIXED}"
    tests = cells.loc[cells["baseline"].isna(), "p_holm"].dropna()  # of one side against the other
    if tests.empty:
        return f"{order}."
    return f"{order}; {(tests < ALPHA).sum()} of {len(tests)} pairings show which side is better."


def unrepeatable(results: Results, cells: Sequence[CellResults]) -> list[str]:
    """That nothing is claimed about those of the cells whose matches cannot be repeated."""
    names = [results.names[cell.about.name] for cell in cells if cell.unrepeatable]
    if len(names) > NAMES:
        names = [*names[: NAMES - 1], f"{len(names) - NAMES + 1:,} others"]
    return [UNREPEATABLE.format(_listed(names))] if names else []


def _of_game(rows: pd.DataFrame, robin: RoundRobin) -> pd.DataFrame:
    about = robin.about
    return rows[(rows["experiment"] == about.experiment) & (rows["game"] == about.labels["game"])]


# --- comparable cells


class _Group:
    """Cells of one experiment, game and seating."""

    def __init__(self, results: Results, cells: Sequence[CellResults]) -> None:
        self._results, self._about = results, cells[0].about
        self._partial = any(cell.partial for cell in cells)
        self._unrepeatable = unrepeatable(results, cells)
        rows = results["summary"]
        nulls = {cell.about.name: null_value(cell.about) for cell in cells}
        rows = rows[rows["cell"].isin(nulls) & (rows["matches"] > 0)]
        self._rows = rows.assign(null=rows["cell"].map(nulls))
        self._compared = self._rows[self._rows["p"].notna()]
        labels = ("model", "prompt", "agent")
        varying = [label for label in labels if self._rows[label].nunique() > 1]
        single = len(varying) == 1 and self._rows[varying[0]].is_unique
        self._label = varying[0] if single else "cell"  # by which the cells differ

    @cached_property
    def outcomes(self) -> list[str]:
        """What the test of each compared cell shows."""
        return [self._outcome(row) for _, row in self._compared.iterrows()]

    @property
    def shown(self) -> bool:
        """Whether any cell is shown to do better or worse."""
        return not {BETTER, WORSE}.isdisjoint(self.outcomes)

    def sentences(self) -> Iterator[str]:
        if self._rows.empty:
            yield "No deal is finished yet."
            return
        if rule := self._results.cached(stopped.verdicts):
            for name in self._rows["cell"].head(2 * NAMES):
                yield f"{self._results.names[name]}: {rule[name]}."
            return
        if self._compared.empty:
            yield self._means()
        else:
            for kind in (BETTER, WORSE, UNREAD, OPEN):
                chosen = self._compared[[shown == kind for shown in self.outcomes]]
                if not chosen.empty:
                    everybody = len(chosen) == len(self._compared)
                    yield self._against_sentence(kind, chosen, everybody)
        yield from self._unrepeatable
        if self._partial:
            yield PARTIAL
        yield from self._conditions()

    def _means(self) -> str:
        """The cells' means where nothing is compared with a baseline."""
        best = self._rows.sort_values("estimate", ascending=False, kind="stable").head(NAMES)
        parts = [
            f"{self._name(row)} {Scale.from_row(row).mean(row['estimate'])} (95% interval "
            f"{Scale.from_row(row).span(row['ci_low'], row['ci_high'])})"
            for _, row in best.iterrows()
        ]
        first = "" if len(self._rows) <= NAMES else f"The highest of {len(self._rows):,}: "
        means = f"{first}{Scale.from_row(best.iloc[0]).title}: {', '.join(parts)}."
        about = self._about
        sides = about.baseline is None and not np.isnan(equal_value(about))
        sides = sides and not self._unrepeatable
        return f"{means} {FIXED}" if sides and not about.balanced() else means

    # --- against the baseline

    def _outcome(self, row: pd.Series[Any]) -> str:
        shown = outcome(row)
        rival = self._results.cached(rivals).get(row["cell"])
        unread = row["p"] < ALPHA and unbeaten_control(row, rival)
        return UNREAD if shown != WORSE and unread else shown

    def _against_sentence(self, kind: str, rows: pd.DataFrame, everybody: bool) -> str:
        negative, single, opponent = kind in (OPEN, UNREAD), len(rows) == 1, self._opponent()
        who = self._who(rows, everybody, negative)
        if kind == UNREAD and single:
            return self._habit_sentence(rows.iloc[0])
        verb = outcome_verb(kind, self._about.test.name, self._about.helping, opponent)
        if kind == UNREAD:
            verb = "read the game: always taking one option may do as well"
        over = f" over {opponent}" if kind == UNREAD else ""
        if not negative:
            verb = third_person(verb) if single else verb
        elif everybody and not single:
            verb = f"is shown to {verb}"
        else:
            verb = f"{'is' if single else 'are'} not shown to {verb}"
        return f"{who} {verb} ({self._changes(rows, over)})."

    def _habit_sentence(self, row: pd.Series[Any]) -> str:
        """Of a cell that beats its baseline, but not a control."""
        scale = Scale.from_row(row)
        lead = scale.change(row["control_difference"])
        span = scale.reach(row["control_low"], row["control_high"])
        return (
            f"{self._name(row)} beats {self._opponent()} ({self._changes(row.to_frame().T)}), but "
            f"not clearly a player that always takes the {row['control']} ({lead}, {span}), so no "
            "skill is claimed."
        )

    def _opponent(self) -> str:
        """The baseline's name, the opponent's, or the other side."""
        policies = {
            cell.about.baseline.policy
            for cell in self._results.cells
            if cell.about.baseline and comparison_group(cell.about) == comparison_group(self._about)
        }
        if not policies:
            return self._about.labels["seats"].partition(" against ")[2] or "the other side"
        return policies.pop() if len(policies) == 1 else "the baseline"

    def _changes(self, rows: pd.DataFrame, over: str = "") -> str:
        """The differences from the baseline, or the means without one. over: whom they are over, if
        the sentence is about somebody else."""
        scale = Scale.from_row(rows.iloc[0])
        unit = (" points" if scale.share else f" {scale.title}") + over
        differences = rows["difference"].where(
            rows["baseline"].notna(), rows["estimate"] - rows["null"]
        )
        text = _listed([*map(scale.change, differences)])
        if len(rows) > NAMES:
            text = f"{scale.change(differences.min())} to {scale.change(differences.max())}"
        text += unit
        if len(rows) == 1:
            row = rows.iloc[0]
            ends = row["difference_low"], row["difference_high"]
            if np.isnan(row["baseline"]):
                ends = row["ci_low"] - row["null"], row["ci_high"] - row["null"]
            text += f", 95% interval {scale.reach(*ends)}"
        return f"{text}, luck removed" if (rows["estimator"] == "adjusted").all() else text

    def _who(self, rows: pd.DataFrame, everybody: bool, negative: bool) -> str:
        """The cells in words. everybody: whether they are all of the group."""
        count, noun = len(rows), f"{self._label}s"
        names = [self._name(row) for _, row in rows.iterrows()]
        if everybody and count == 2:
            return f"Neither {self._label}" if negative else f"Both {noun}"
        if everybody and count > 2:
            return f"None of the {count:,} {noun}" if negative else f"All {count:,} {noun}"
        if count > NAMES:
            names = [*names[: NAMES - 1], f"{count - NAMES + 1:,} other {noun}"]
        return _listed(names)

    def _name(self, row: pd.Series[Any]) -> str:
        if self._label != "cell":
            return str(row[self._label])
        return self._results.names[row["cell"]]

    # --- against each other

    def _conditions(self) -> Iterator[str]:
        """What models and prompts change."""
        group = comparison_group(self._about)
        conditions = [each for each in self._results.cached(tested) if each.group == group]
        effects = [effect for one in conditions for effect in one.effects if not np.isnan(effect.p)]
        shown = [each for each in effects if each.p_holm < ALPHA and not each.p_control >= ALPHA]
        yield from (f"{effect.claim}." for effect in shown[:NAMES])
        if len(shown) > NAMES:
            yield f"{len(shown) - NAMES:,} more effects are shown."
        if effects and not shown:
            labels = dict.fromkeys(f"{effect.label}s" for effect in effects)
            unread = any(one.p < ALPHA <= one.p_control for one in effects)
            why = ", as not every cell is shown to read" if unread else self._missed(effects)
            yield f"No difference between the {_listed([*labels])} is shown{why}."

    def _missed(self, effects: Sequence[Any]) -> str:
        """The largest difference, and what these deals could have shown."""
        if len(effects) > 1 or effects[0].reach is None:
            return ""
        change, low, high = effects[0].reach
        row, scale = self._rows.iloc[0], Scale.from_row(self._rows.iloc[0])
        text = f"{effects[0].name}: {scale.difference(change)}"
        text += f", 95% interval {scale.reach(low, high)}"
        if np.isnan(low):
            return f" ({text})"
        tests = family_size(
            self._results["summary"], self._results.cached(tested), self._about.experiment
        )
        could = detectable(row, low, high, tests, "either")
        deals = counted(effects[0].deals, "deal")
        if not could:
            return f" ({text}; with {deals} no difference could be shown)"
        return f" ({text}; {deals} could have shown {could})"


def _listed(names: Sequence[str]) -> str:
    """a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
