"""Observer's rows of a reproduction: every printed number next to ours. Rates are in percent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from gauntlet.games.rock_paper_scissors import HANDS, RockPaperScissors
from gauntlet.games.rock_paper_scissors.strategies import ANSWERS
from gauntlet.papers.observer import ideal
from gauntlet.papers.observer.runs import same_outcomes
from gauntlet.papers.observer.totals import PERCENT
from gauntlet.papers.published import (
    Row,
    exact_row,
    known_share_row,
    mean_row,
    not_run,
    only_drawn,
    unreferenced_row,
)
from gauntlet.papers.verdicts import Estimate
from gauntlet.stats.means import limits

CHANCE = PERCENT / 19**2
"""SIR of uniformly random guesses, in percent."""
ROUNDED = 5e-5
"""Rounding error of a printed outcome probability."""
PARTS = ("player1", "player2", "same_outcome", "null_rate")
LOSSES = ("ce", "brier", "ev_loss", "union", "late")


def records(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for row in frame.to_dict("records"):
        yield {str(name): value for name, value in row.items()}


def match_up_id(match_up: str) -> str:
    """Convert a match-up to its form in ids: H-C is H_vs_C."""
    return match_up.replace("-", "_vs_")


def setting_rows(reported: Mapping[str, Any], our_settings: Mapping[str, float]) -> Iterator[Row]:
    """Compare the paper's settings, by name, with those played; ours alone where it gives none."""
    for printed in reported["settings"]:
        entry, name = {**printed, "kind": "setting"}, printed["id"].rpartition(".")[2]
        if name not in our_settings:
            yield not_run(entry)
        elif "value" in entry:
            yield exact_row(entry, our_settings[name], ROUNDED)
        else:
            yield unreferenced_row(entry, Estimate(our_settings[name]))


def table1_rows(reported: Mapping[str, Any], frame: pd.DataFrame) -> Iterator[Row]:
    """Table 1: the paper's models, then our observers; the ideal one against our earlier result.

    frame: from `totals.totals`.
    """
    table, ours = reported["table1"], frame.set_index(["match_up", "observer"])
    for place, name in enumerate(reported["match_ups"]):
        match_up = name.replace("_vs_", "-")
        for model, line in table["rows"].items():
            entry = {"id": f"observer_rps.table1.{model}.{name}.sir", "value": line[place]}
            entry |= {"n": table["runs"], "without": CHANCE}
            played = (match_up, model) in ours.index
            yield _sir(entry, ours.loc[(match_up, model)]) if played else not_run(entry)
    for row in records(frame):
        if row["observer"] not in table["rows"]:
            where = f"observer_rps.table1.{row['observer']}.{match_up_id(row['match_up'])}"
            yield _sir({"id": f"{where}.sir", **_earlier_reference(reported, row, "lag1", 50)}, row)
        yield from part_rows("table1", row)


def part_rows(part: str, row: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the other results of an observer and match-up: SIR treating guesses as independent,
    each player, the class, and the losses."""
    where = f"observer_rps.{part}.{row['observer']}.{match_up_id(row['match_up'])}"
    each = Estimate(row["sir"], row["exact_low"], row["exact_high"])
    yield unreferenced_row({"id": f"{where}.sir_by_guess"}, each, row["guesses"], row["deals"])
    for name in (*PARTS, *LOSSES):
        yield unreferenced_row(
            {"id": f"{where}.{name}"}, Estimate(row[name]), row["deals"], row["deals"]
        )


def extra_rows(
    reported: Mapping[str, Any], part: str, frame: pd.DataFrame, react: str, window: int
) -> Iterator[Row]:
    """SIR with another window or other reactions."""
    for row in records(frame):
        where = f"observer_rps.{part}.{row['observer']}.{match_up_id(row['match_up'])}.sir"
        yield _sir({"id": where, **_earlier_reference(reported, row, react, window)}, row)


def _sir(entry: dict[str, Any], row: Mapping[str, Any]) -> Row:
    found, deals = Estimate(row["sir"], row["deal_low"], row["deal_high"]), int(row["deals"])
    return mean_row(entry, found, deals, deals)


def _earlier_reference(
    reported: Mapping[str, Any], row: Mapping[str, Any], react: str, window: int
) -> dict[str, Any]:
    """Return the ideal observer's result in our earlier runs, if they have it."""
    known = reported["ideal"]["sir"].get(row["match_up"], {}).get(react, {})
    if row["observer"] != "likeliest" or window not in known:
        return {}
    return _earlier_result(reported, row["match_up"], react, window)


def _earlier_result(
    reported: Mapping[str, Any], match_up: str, react: str, window: int
) -> dict[str, Any]:
    """Return our own earlier result."""
    published = reported["ideal"]["sir"][match_up]
    return {
        "kind": "own_earlier",
        "value": round(PERCENT * published[react][window][0], 1),
        "n": reported["ideal"]["runs"],
        "without": CHANCE,
    }


def ideal_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """The ideal observer in as many runs as before, without the pipeline."""
    for match_up, by_react in reported["ideal"]["sir"].items():
        for react, windows in by_react.items():
            for window in windows:
                runs = ideal.sir(match_up.replace("-", ""), react, window)
                each = (float(runs.mean()), *map(float, limits(runs, (0.0, 1.0))))
                where = f"observer_rps.ideal.{match_up_id(match_up)}.{react}.window{window}.sir"
                entry = {"id": where, **_earlier_result(reported, match_up, react, window)}
                found = Estimate(*(PERCENT * one for one in each))
                yield mean_row(entry, found, len(runs), len(runs))


def table2_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """Compare the shares of throws that models quote with the strategy's mix; without an effect all
    hands are equally frequent."""
    table, mixes = reported["table2"], RockPaperScissors().mixes
    for snippet in table["snippets"]:
        for hand, share in snippet["hands"].items():
            chance = mixes[snippet["strategy"]][HANDS.index(hand)]
            where = f"{snippet['model']}_r{snippet['round']}.P{snippet['player']}.{hand}"
            entry: dict[str, Any] = {"id": f"observer_rps.table2.{where}", "value": share}
            entry |= {"n": table["window"], "without": 1 / len(HANDS)}
            yield known_share_row(entry, chance)


def table3_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """The catalogue, one probability per row, and how the reactive strategies answer."""
    mixes = RockPaperScissors(legacy_D=True).mixes
    for code, mix in reported["table3"]["mixes"].items():
        for at, hand in enumerate(HANDS):
            entry = {"id": f"observer_rps.table3.{code}.mix.{hand}", "value": mix[at]}
            yield exact_row({**entry, "kind": "setting"}, mixes[code][at])
    for code, ahead in reported["table3"]["rules"].items():
        entry = {"id": f"observer_rps.table3.{code}.rule", "value": ahead, "kind": "setting"}
        yield exact_row(entry, ANSWERS[code])


def outcome_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """The outcomes of the match-ups, from the mixes, and how many pairs no loss tells from them."""
    for match_up, chances in reported["outcomes"].items():
        one, other = match_up.split("_vs_")
        ours = RockPaperScissors().outlook((one, other))
        for name, value, found in zip(("win", "draw", "loss"), chances, ours, strict=True):
            entry = {"id": f"observer_rps.derived.{match_up}.outcome.{name}", "value": value}
            yield exact_row({**entry, "kind": "own_derivation"}, found, ROUNDED)
        entry = {
            "id": f"observer_rps.derived.{match_up}.alike",
            "value": reported["alike"][match_up],
        }
        yield exact_row(
            {**entry, "kind": "own_derivation"}, float(same_outcomes((one, other)).sum())
        )


def figure_rows(reported: Mapping[str, Any]) -> Iterator[Row]:
    """The figures, which print no number and are drawn from ours; then the text's statements about
    the paper's models in one of them."""
    for figure in reported["figures"]:
        yield only_drawn({"id": f"observer_rps.{figure}.curves"})
    yield from map(not_run, reported["fig5"])
