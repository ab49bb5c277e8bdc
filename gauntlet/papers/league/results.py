"""What the league found: `python -m gauntlet.papers.league.results [PART] [--logs LOG ...]`.

Games are the units of every interval and test: a player's mean score in each game is one value,
and a statement is about games like these, however many matches of each were played. Ratings
(`pipeline.ratings`) take deals as units.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import t as student

from gauntlet.common.errors import UserError
from gauntlet.common.process import as_process
from gauntlet.papers.league.matches import ANCHOR, Games, contest, logs, read, unpacked_logs
from gauntlet.pipeline.tables.commands.ratings import rate_contest, rating_span
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import Results
from gauntlet.stats import placing
from gauntlet.stats.intervals import NOTHING
from gauntlet.stats.multiple import ALPHA, holm
from gauntlet.stats.paired import clustered_mean
from gauntlet.stats.ratings import rated

RUNGS = {ANCHOR: 1, "uct_4": 4, "uct_16": 16, "uct_64": 64}
"""Playouts a decision of the search players that give the unit; random play is one."""
ROUNDING = 1e-9
LEAST = 5
"""Games that a player must share with the search players."""
REAL = ("smollm2_135m", "gemma3_270m")
METHODS = ("pride", "cloze", "counterfactual")
"""One prompt, its letters' prior taken out; all rotations; every option by itself."""
COMPARED = ("first_option", "uct_4", "uct_16", "uct_64")
"""Players without a model that a short table has beside the models."""
HEADS = (
    *("player", "rating (90%)", "score", "like UCT of", "games", "matches"),
    *("tokens a decision", "unusable replies"),
)
OBFUSCATED = {"obfuscated_uno": "uno", "obfuscated_tic_tac_toe": "tic_tac_toe"}


@dataclass(frozen=True)
class Mean:
    """The mean of one value a unit, with its 95% interval and the p-value of 0. Units are games, or
    deals of one game."""

    value: float
    low: float
    high: float
    p: float
    units: int

    @classmethod
    def over_units(cls, values: ArrayLike) -> Mean:
        """By Student's t, for two or more units; fewer have no interval; nan is left out. Equal
        values have none either, and the p-value of the sign test."""
        each = np.asarray(values, float)
        each = each[np.isfinite(each)]
        mean = clustered_mean(each, np.arange(len(each)))
        if mean.error <= NOTHING:
            p = 0.5 ** (mean.deals - 1) if mean.estimate else 1.0
            return cls(mean.estimate, np.nan, np.nan, p, mean.deals)
        p = 2 * float(student.sf(abs(mean.estimate) / mean.error, mean.deals - 1))
        return cls(mean.estimate, mean.low, mean.high, p, mean.deals)

    def score(self) -> str:
        """As a score around one half."""
        return self._shown("{:.0f}", "%", 50.0)

    def brief(self) -> str:
        return self._shown("{:+.0f}")

    def points(self) -> str:
        return self._shown("{:+.1f}", " points")

    def _shown(self, form: str, unit: str = "", zero: float = 0.0) -> str:
        """In points, with the interval if there is one."""
        value, low, high = (form.format(zero + 100 * x) for x in (self.value, self.low, self.high))
        return f"{value}{unit}" + (f" ({low} to {high})" if np.isfinite(self.low) else "")


def by_game(games: Games) -> pd.DataFrame:
    """Mean scores against the anchor: players in rows, games in columns."""
    found = games.deals.groupby(["player", "game"])["score"].mean().unstack()
    return found.reindex(columns=sorted(found))


def difference(games: Games, player: str, other: str) -> Mean:
    """The first player's mean score less the other's, on the deals of both."""
    wide = games.deals.pivot(index=["game", "variant", "deal"], columns="player", values="score")
    if not {player, other} <= {*wide}:
        return Mean.over_units([])
    apart = (wide[player] - wide[other]).dropna()
    return Mean.over_units([float(each.mean()) for _, each in apart.groupby("game")])


def playouts(scores: pd.DataFrame, player: str) -> tuple[float, float, float]:
    """The playouts a decision of a search player with the same mean score over the games that both
    play, with a 95% interval: those whose line between the rungs the player's scores do not differ
    from by Student's t over games, with the error of the line (`stats.placing`). 1 is random play,
    and the highest rung a limit. nan for fewer than LEAST such games."""
    rungs = scores.reindex([*RUNGS])
    rungs.loc[ANCHOR] = 0.5
    own = scores.reindex([player]).to_numpy(float)[0]
    levels = rungs.to_numpy(float)
    shared = np.isfinite(levels).all(axis=0) & np.isfinite(own)
    if shared.sum() < LEAST:
        return np.nan, np.nan, np.nan
    levels, own = levels[:, shared], own[shared]
    rungs_mean, numbers = levels.mean(axis=1), np.arange(len(levels))
    steps = placing.places(len(levels))
    line = np.array([np.interp(steps, numbers, level) for level in levels.T]).T
    apart = own - line
    error = apart.std(axis=1, ddof=1) / len(own) ** 0.5
    reach = student.ppf(0.975, len(own) - 1) * np.hypot(error, placing.between(steps, rungs_mean))
    at = np.interp(own.mean(), np.maximum.accumulate(rungs_mean), numbers)
    inside = steps[np.abs(apart.mean(axis=1)) <= reach + ROUNDING]
    at, low, high = placing.playouts_at([at, inside.min(initial=at), inside.max(initial=at)])
    return float(at), float(low), float(high)


def leaderboard(games: Games, folders: Sequence[Path]) -> pd.DataFrame:
    """A row per player, by rating: rating, its 90% limits, score, playouts with limits, games,
    matches, tokens for each decision asked, and the share of these with no usable reply."""
    ratings = rate_contest(contest(folders), rated)["ratings"].set_index("player")
    scores, rows = by_game(games), []
    for player, own in games.matches.groupby(games.matches["player"].astype(str)):
        line = ratings.loc[player]
        placed = playouts(scores, player)
        rows.append(
            {
                "player": player,
                **{name: line[name] for name in ("rating", "low", "high")},
                "score": scores.loc[player].mean(),
                **dict(zip(("playouts", "fewest", "most"), placed, strict=True)),
                "games": scores.loc[player].count(),
                "matches": len(own),
                "tokens": own["tokens"].sum() / max(1, own["asked"].sum()),
                "unusable": own["fallbacks"].sum() / max(1, own["asked"].sum()),
                "asked": own["asked"].sum(),
            }
        )
    return pd.DataFrame(rows).sort_values("rating", ascending=False, kind="stable")


def table_lines(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    return leaderboard_lines(leaderboard(games, folders))


def leaderboard_lines(board: pd.DataFrame) -> Iterator[str]:
    """The leaderboard in Markdown."""
    yield f"| {' | '.join(HEADS)} |"
    yield "|" + "---|" * len(HEADS)
    for row in board.to_dict("records"):
        like = f"{row['playouts']:.1f} ({row['fewest']:.1f} to {row['most']:.1f})"
        cells = (
            f"`{row['player']}`",
            f"{row['rating']:+.2f} ({rating_span(row['low'], row['high'])})"
            if np.isfinite(row["rating"])
            else "-",
            f"{100 * row['score']:.1f}%",
            like if np.isfinite(row["playouts"]) else "-",
            f"{row['games']}",
            f"{row['matches']:,}",
            f"{row['tokens']:,.0f}" if row["asked"] else "-",
            f"{row['unusable']:.0%}" if row["asked"] else "-",
        )
        yield f"| {' | '.join(cells)} |"


def facts(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """How much was played."""
    frame = games.matches
    asked = frame[frame["asked"] > 0]
    yield (
        f"{len(frame):,} matches of {frame['player'].nunique()} players against a random one in "
        f"{frame['variant'].nunique()} games; {asked['asked'].sum():,} decisions of models, "
        f"{asked['tokens'].sum() / 1e6:.1f} million tokens, {asked['fallbacks'].sum():,} unusable "
        "replies for which a random move was played."
    )


def brief_lines(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """The scores of models by method, and of players to compare them with."""
    scores = by_game(games)
    means = {str(one): Mean.over_units(scores.loc[one] - 0.5) for one in scores.index}
    models = (*REAL, "pocket")
    yield f"| score against random play, 95% over games | {' | '.join(METHODS)} |"
    yield "|---" * (1 + len(METHODS)) + "|"
    for model in models:
        cells = (means.get(f"{model}/{method}") for method in METHODS)
        yield f"| `{model}` | {' | '.join(one.score() if one else '-' for one in cells)} |"
    others = (f"`{one}` {means[one].score()}" for one in COMPARED if one in means)
    yield f"\nFor comparison: {', '.join(others)}."


# --- findings


def findings(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """Five findings, each with its test."""
    for number, each in enumerate((reading, methods, luck, obfuscation, letters), start=1):
        lines = [*each(games, folders)]
        yield f"{number}. {lines[0]}"
        yield from (f"   - {line}" for line in lines[1:])


def reading(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """Do small real models read?"""
    scores = by_game(games)
    players = [f"{model}/{method}" for model in REAL for method in METHODS]
    found = {one: Mean.over_units(scores.loc[one] - 0.5) for one in players if one in scores.index}
    p = _holm(found)
    yield (
        f"**What do small real models read?** By t over games, Holm over {len(found)}, {_shown(p)} "
        "shown to differ from random play."
    )
    for player, one in found.items():
        rest = difference(games, player, "first_option")
        yield (
            f"`{player}`, {one.units} games: {one.points()}, p Holm {p[player]:.3f}; less "
            f"`first_option`: {rest.points()}"
        )


def methods(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """Which method helps whom?"""
    first, *others = METHODS
    every = {
        f"{model}/{one}": difference(games, f"{model}/{one}", f"{model}/{first}")
        for model in (*REAL, "pocket")
        for one in others
    }
    found = {player: mean for player, mean in every.items() if mean.units > 1}
    p = _holm(found)
    yield (
        f"**Which method helps whom?** Compared with the same model by `{first}`, which asks once, "
        f"on the same deals, {_shown(p)} shown to differ (t over games, Holm over {len(found)})."
    )
    for player, mean in found.items():
        yield f"`{player}`, {mean.units} games: {mean.points()}, p Holm {p[player]:.3f}"


def _holm(means: Mapping[str, Mean]) -> dict[str, float]:
    return dict(zip(means, holm([one.p for one in means.values()]), strict=True))


def _shown(p: Mapping[str, float]) -> str:
    """Those below 5%, with a verb."""
    named = [f"`{one}`" for one, value in p.items() if value < ALPHA]
    return f"{', '.join(named)} {'is' if len(named) == 1 else 'are'}" if named else "none is"


def luck(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """What does luck hide? Of the first log: nobody checks the corrections of those that joined."""
    results = Results.load(folders[0])
    summary, worth = results["summary"], results["luck"]["worth"].median()
    removed = summary[summary["estimator"] == "adjusted"]
    turned = ((removed["estimate"] - 0.5) * (removed["raw"] - 0.5) < 0).sum()
    yield (
        f"**What does luck hide?** It could be removed in {len(removed)} of {len(summary)} cells. "
        f"In the median cell, one match is then worth {worth:.1f}; in {turned} cells the lead over "
        "random changes its sign. So few deals leave little to learn values from; after hundreds "
        "a match is worth more ([gains by game](measurements.md#luck-between-models))."
    )


def obfuscation(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """What does obfuscation cost?"""
    players = sorted(games.deals["player"].unique())
    lost = {
        f"{player} in {game}": cost
        for made_up, game in OBFUSCATED.items()
        for player in players
        if (cost := _cost(games, player, game, made_up)).units > 1
    }
    yield (
        "**What does obfuscation cost?** Points of score lost where the same rules have made-up "
        "names, and options another order. By t over deals, Holm over "
        f"{len(lost)}, {_shown(_holm(lost))} shown to differ."
    )
    for game in OBFUSCATED.values():
        costs = {one: lost[key] for one in players if (key := f"{one} in {game}") in lost}
        for kind, readers in (("models", True), ("players that read no words", False)):
            own = (f"`{one}` {costs[one].brief()}" for one in costs if ("/" in one) == readers)
            yield f"{game}, {kind}: {', '.join(own)}"


def _cost(games: Games, player: str, game: str, made_up: str) -> Mean:
    """A player's score in a game less that under made-up names, on the same deals."""
    own = games.deals[games.deals["player"] == player]
    wide = own.pivot(index="deal", columns="variant", values="score")
    return Mean.over_units(wide[game] - wide[made_up] if {game, made_up} <= {*wide} else [])


def letters(games: Games, folders: Sequence[Path]) -> Iterator[str]:
    """Where do letters decide?"""
    yield (
        "**Where do letters decide?** Options take turns under the letters, so a player that reads "
        "answers A in its share of the questions (equal scores share an answer):"
    )
    for player, answers in games.letters.groupby("player"):
        fair = (1 / answers["options"]).mean()
        shares = answers.groupby("game")["first"].mean()
        yield (
            f"`{player}` answered A to {answers['first'].mean():.0%} of {len(answers):,} questions "
            f"({fair:.0%} by chance); by game {shares.min():.0%} ({shares.idxmin()}) to "
            f"{shares.max():.0%} ({shares.idxmax()})"
        )


# --- the map


def draw(games: Games, file: Path) -> None:
    """The mean scores by player and game, less 1/2, as a heat map."""
    scores = by_game(games)
    order = scores.mean(axis=1).sort_values(ascending=False).index
    values = (scores.loc[order] - 0.5).to_numpy()
    texts = [["" if np.isnan(x) else f"{100 * x + 50:.0f}" for x in line] for line in values]
    with plot_style.drawing_for(plot_style.Medium("page", 10.0)):
        figure, axes = plot_style.canvas(0.24 * len(order) + 1.9)
        image = plot_style.heat_map(axes, values, 0.5, texts)
        axes.set_yticks(range(len(order)), order)
        axes.set_xticks(range(len(scores.columns)), scores.columns)
        plot_style.rotate_labels(axes)
        plot_style.add_colour_bar(figure, axes, image, "score less 50%")
        plot_style.set_title(figure, "Mean score against a random player, in percent")
        figure.savefig(file, dpi=130)


Part = Callable[[Games, Sequence[Path]], Iterator[str]]
PARTS: dict[str, Part] = {
    "table": table_lines,
    "brief": brief_lines,
    "facts": facts,
    "findings": findings,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m gauntlet.papers.league.results", description=__doc__
    )
    parser.add_argument("part", nargs="?", choices=[*PARTS], help="default: table and findings")
    parser.add_argument("--logs", type=Path, nargs="+", metavar="LOG", help="packed, or folders")
    parser.add_argument("--figure", type=Path, metavar="FILE", help="also draw the map")
    options = parser.parse_args(arguments)
    try:
        with unpacked_logs(options.logs or logs()) as folders:
            games = read(folders)
            for part in [options.part] if options.part else ("table", "findings"):
                print("\n".join(PARTS[part](games, folders)), end="\n\n")
            if options.figure:
                draw(games, options.figure)
    except UserError as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    as_process(main)
