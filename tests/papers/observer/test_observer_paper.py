"""Observer, Not Player: its rows from planted guesses and from a small run, and the ideal observer
in many matches at once."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.rock_paper_scissors.strategies import CODES, likelihoods
from gauntlet.games.watch import Watch, observation
from gauntlet.games.watch.transcript import measure, policy_outcomes
from gauntlet.papers import reproduce
from gauntlet.papers.observer import ideal, reproduction, rows, totals
from gauntlet.papers.observer import reproduction as observer
from gauntlet.papers.observer.runs import WatchedMatch, same_outcomes, watched_matches
from gauntlet.papers.published import paper
from gauntlet.papers.verdicts import Estimate, of_means
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.registry import read_table
from gauntlet.stats.means import limits
from gauntlet.stats.proportions import clopper_pearson
from tests.pipeline.conftest import Sweep

PUBLISHED = paper("observer")
GAME = Watch(of=RockPaperScissors(rounds=30))


def match(pair: str, guesses: Sequence[str], who: str = "planted", deal: int = 0) -> WatchedMatch:
    """Return a match with these guesses, "-" for none; a reason with the last."""
    made = tuple(None if one == "-" else (one[0], one[1]) for one in guesses)
    notes = [{}] * (len(guesses) - 1) + [{"reasoning": "all paper; no rock"}]
    decisions = tuple(decision(one, note) for one, note in zip(guesses, notes, strict=True))
    right, *said = [tuple(map(CODES.index, one)) if one else () for one in (pair, *made)]
    known = policy_outcomes(GAME.of, GAME.policies)
    measures = measure(GAME.watched, GAME.policies, right, said, known)
    return WatchedMatch(GAME, (pair[0], pair[1]), who, deal, made, decisions, measures)


def decision(text: str, notes: dict[str, Any]) -> DecisionRecord:
    unsaid: dict[str, Any] = {"scores": (), "margin": None, "chosen": 0, "forced": False}
    unsaid |= {"status": "ok", "fallback": False, "attempts": 1, "tokens": 0, "asked": ()}
    return DecisionRecord(seat=0, options=("guess",), **unsaid, notes=notes, text=text)


HC = [["HC", "HA", "-", "HC"], ["HC", "HC", "AC", "EX"]]
"""Two matches of H against C: 2 of 4 right in both, one null guess; E-X has their outcomes."""


def planted() -> pd.DataFrame:
    return totals.totals([match("HC", one, deal=at) for at, one in enumerate(HC)])


def test_planted_guesses_come_to_what_they_are() -> None:
    (row,) = planted().to_dict("records")
    assert (row["match_up"], row["deals"], row["guesses"]) == ("H-C", 2, 8)
    assert (row["sir"], row["sir_sd"]) == (50, 0)
    assert (row["player1"], row["player2"], row["same_outcome"]) == (62.5, 62.5, 62.5)
    assert row["null_rate"] == 12.5
    wanted = clopper_pearson(4, 8)
    assert (row["exact_low"], row["exact_high"]) == pytest.approx(
        (100 * wanted.low, 100 * wanted.high)
    )
    low, high = limits([0.5, 0.5], (0.0, 1.0))
    assert (row["deal_low"], row["deal_high"]) == pytest.approx((100 * low, 100 * high))
    assert (row["alike"], row["blind"]) == (15, False)


def test_what_no_loss_tells_apart_is_flagged() -> None:
    assert [int(same_outcomes(pair).sum()) for pair in ("HC", "NG", "DY")] == [15, 6, 46]
    table = totals.totals([match(pair, [pair]) for pair in ("HC", "NG", "DY", "XZ")])
    assert table["blind"].tolist() == [False, False, True, False]
    found = [match("DY", ["DY", "AD"]), match("HC", HC[1])]
    for table in (totals.totals(found), totals.unions(found), totals.by_round(found)):
        assert set(table.loc[table["match_up"] == "D-Y", "alike"]) == {46}
    shown = text(reproduction.table1_view(totals.totals(found), "Table 1"))
    assert "D-Y*" in shown
    assert "H-C*" not in shown
    assert reproduction.match_up_label("D-Y") == "D-Y (46 pairs alike)"


def text(view: Any) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(view)
    told = console.export_text()
    assert max(map(len, told.splitlines())) <= 100
    return told


def test_losses_are_had_in_every_way() -> None:
    """Two modes by three grids and two eps, and the raw mean by two; places within a match-up."""
    found = [match("HC", HC[1], "good"), match("HC", ["BA"] * 4, "bad")]
    table = totals.unions(found)
    assert len(table) == 2 * (2 * 3 * 2 + 2)
    assert dict(table.groupby("observer")["place"].max()) == {"good": 1, "bad": 2}
    row = table.query("observer == 'bad' and mode == 'paper' and grid == 'guess'").iloc[0]
    every = observation.union
    real, guess = RockPaperScissors().outlook("HC"), RockPaperScissors().outlook("BA")
    wanted = every(real, guess, totals.EVERY, "paper", "guess", row["eps"])
    assert row["union"] == pytest.approx(wanted)


def test_a_curve_is_the_mean_of_the_guesses_that_are_not_null() -> None:
    found = totals.by_round([match("HC", one, deal=at) for at, one in enumerate(HC)])
    assert found["both_named"].tolist() == [1, 0.5, 0, 0.5]
    assert found["union"].iloc[0] == pytest.approx(0, abs=1e-9)
    third = observation.union(*map(RockPaperScissors().outlook, ("HC", "AC")), totals.EVERY)
    assert found["union"].iloc[2] == pytest.approx(third)


def test_a_model_of_the_papers_name_is_set_against_it() -> None:
    """With one run each: our result is shown, and one run of theirs says little."""
    table = pd.concat([planted().assign(observer=name) for name in ("o3", "ours", "likeliest")])
    found = {row.id: row for row in rows.table1_rows(PUBLISHED, table)}
    own = found["observer_rps.table1.o3.H_vs_C.sir"]
    assert (own.published, own.ours, own.n, own.verdict) == (57.5, 50, 2, "uninformative")
    assert own.kind == "result"
    assert found["observer_rps.table1.o3.N_vs_G.sir"].verdict == "not_run"
    assert found["observer_rps.table1.ours.H_vs_C.sir"].verdict == "no_reference"
    earlier = found["observer_rps.table1.likeliest.H_vs_C.sir"]
    assert (earlier.published, earlier.kind) == (48.6, "own_earlier")
    by_guess = found["observer_rps.table1.o3.H_vs_C.sir_by_guess"]
    assert (by_guess.n, by_guess.ours) == (8, 50)
    assert by_guess.ci_high - by_guess.ci_low < own.ci_high - own.ci_low


def test_quoted_shares_are_those_of_so_many_throws() -> None:
    found = {row.id.rpartition("table2.")[2]: row for row in rows.table2_rows(PUBLISHED)}
    assert {name: row.verdict for name, row in found.items()} == {
        "o3_r40.P2.rock": "agrees",
        "claude_r140.P1.paper": "agrees",
        "claude_r140.P1.scissors": "uninformative",  # .05 from a third
        "claude_r140.P2.scissors": "uninformative",
        "claude_r140.P2.paper": "uninformative",
    }
    paper_share = found["claude_r140.P1.paper"]
    assert (paper_share.published_n, paper_share.ours) == (50, 0.5)
    assert paper_share.p_value == pytest.approx(0.2026, abs=1e-4)
    other = paper("observer")
    other["table2"]["snippets"][0]["hands"]["rock"] = 0.02
    assert next(iter(rows.table2_rows(other))).verdict == "differs"


def test_reasons_are_told_with_what_was_guessed() -> None:
    own = [match("NG", guesses, "m") for guesses in (["NG", "NA", "-"], ["AA", "NG"], ["NA"])]
    found = reproduction.reasons(own)
    assert found["guess"].tolist() == ["-", "N-G", "N-A"]
    assert found["round"].tolist() == [3, 2, 1]
    assert found["right"].tolist() == [False, True, False]
    assert "all paper; no rock" in text(reproduction.reasons_view(found, ["m"]))
    assert "no model gave reasons" in text(reproduction.reasons_view(found.head(0), []))


def played(settings: Any, models: Sequence[str], extra: Any = None) -> list[WatchedMatch]:
    """What three observers guess, in two matches each of the match-ups that there are."""
    pairs = ("DY",) if extra and extra.name == "iid" else ("HC", "NG", "DY")
    names = ("likeliest", "nearest", *models)
    return [
        match(pair, [pair, "AB", "-" if name == "fake" else pair], name, deal)
        for name in names
        for pair in pairs
        for deal in range(2)
    ]


def shared_lines() -> set[str]:
    """The rows expected from the paper and its prototype."""
    models = ("gpt-4o-mini", "o3", "claude-3.7-sonnet")
    found = {
        f"table1.{one}.{pair}.sir" for one in models for pair in ("H_vs_C", "N_vs_G", "D_vs_Y")
    }
    hands = ("rock", "paper", "scissors")
    found |= {f"table3.{code}.mix.{hand}" for code in "ABCDEFGHIJKLMNOP" for hand in hands}
    found |= {f"table3.{code}.rule" for code in "XYZ"}
    found |= {f"fig{number}.curves" for number in (1, 3, 4, 5)}
    found |= {f"setting.{name}" for name in ("rounds", "top_p", "damping_alpha", "n_conditions")}
    ends = ("win", "draw", "loss")
    found |= {f"derived.{pair}.outcome.{end}" for pair in PUBLISHED["match_ups"] for end in ends}
    found |= {f"derived.{pair}.alike" for pair in PUBLISHED["match_ups"]}
    return {f"observer_rps.{line}" for line in found}


def test_the_table_has_every_published_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer, "watch_all", played)
    monkeypatch.setattr(observer, "drawings", lambda *_: ())
    assert reproduce.main(["observer", "--models", "fake", "--out", str(tmp_path)]) == 0
    table = read_table(tmp_path / "observer.csv").set_index("id")
    assert table.index.is_unique
    assert shared_lines() <= set(table.index)
    verdicts = table["verdict"]
    models = [line for line in shared_lines() if ".table1." in line]
    assert set(verdicts[models]) == {"not_run"}
    assert set(verdicts[verdicts.index.str.contains("table3|derived")]) == {"agrees"}
    settings = verdicts[verdicts.index.str.contains("setting")]
    assert settings["observer_rps.setting.rounds"] == "differs"  # 3 here
    assert settings["observer_rps.setting.temperature"] == "agrees"
    assert settings["observer_rps.setting.brier_range_claimed"] == "differs"
    assert settings["observer_rps.setting.top_p"] == "not_run"
    kinds = table.groupby("kind")["published"].count().to_dict()
    assert kinds == {"result": 17, "setting": 66, "own_derivation": 12, "own_earlier": 15}
    assert table.loc["observer_rps.table1.fake.N_vs_G.null_rate", "ours"] == pytest.approx(100 / 3)
    assert table.loc["observer_rps.iid.likeliest.D_vs_Y.sir", "published"] == 0
    assert table.loc["observer_rps.window_all.likeliest.H_vs_C.sir", "published"] == 72
    written = {file.stem for file in (tmp_path / "tables").glob("*.csv")}
    parts = ("table1", "curves", "unions", "reasoning", "window20", "window_all", "iid")
    assert written == {f"observer_{part}" for part in parts}


def test_figures_have_what_they_show() -> None:
    with plot_style.drawing_for(plot_style.WIDE):
        drawn = dict(observer.drawings(played(None, ["fake"])))
    names = [f"fig1_{name}" for name in ("likeliest", "nearest", "fake")]
    parts = ("fig4", "fig5", "fig3_fixed", "fig3_paper", "fig3_blind", *names)
    assert drawn.keys() == {f"observer_{part}" for part in parts}
    titles = [axes.get_title(loc="left") for axes in drawn["observer_fig4"].axes]
    assert titles == ["H-C (15 pairs alike)", "N-G (6 pairs alike)", "D-Y (46 pairs alike)"]
    assert [len(axes.lines) for axes in drawn["observer_fig4"].axes] == [3] * 3
    ringed, *dots = reversed(drawn["observer_fig3_fixed"].axes[0].lines)
    assert (ringed.get_xdata()[0], ringed.get_ydata()[0]) == (CODES.index("B"), CODES.index("A"))
    assert len(dots) == 8
    rounds = [line.get_xdata() for line in drawn["observer_fig1_fake"].axes[0].lines[1::2]]
    assert [list(one) for one in rounds] == [[1, 2]] * 2  # the third guess is none


def test_matches_are_read_from_their_log(sweep: Sweep, folder: Path) -> None:
    """Two observers of one match of H against C, which both see C always play paper."""
    words = ["experiment=observer_table1", "game.players=[H,C]", "game.of.rounds=24", "deals=1"]
    assert sweep(*words, "agent=nearest,likeliest") == 0
    found = {one.observer: one for one in watched_matches(folder)}
    assert found.keys() == {"nearest", "likeliest"}
    for one in found.values():
        assert (one.pair, one.deal, len(one.guesses)) == (("H", "C"), 0, 14)
        assert {guess[1] for guess in one.guesses if guess} == {"C"}
    assert {one.observer for one in watched_matches(folder, "mine")} == {"mine"}


def test_the_ideal_observers_figures_come_out_again() -> None:
    """Our earlier result, the mean of 120 runs: the new mean is within chance of it."""
    told, count = paper("observer")["ideal"], 0
    for pair, by_react in told["sir"].items():
        for react, windows in by_react.items():
            for window, (mean, sd) in windows.items():
                runs = ideal.sir(pair.replace("-", ""), react, window)
                reach = 2 * max(sd, runs.std()) / np.sqrt(len(runs))
                found = float(runs.mean())
                own = Estimate(found, found - reach, found + reach)
                assert of_means(own, 119, mean).p_value >= 0.05, (pair, react, window)
                count += 1
    assert count == 8


@pytest.mark.parametrize("pair", ["NG", "DY", "XZ"])
@pytest.mark.parametrize("window", [20, 50, 210])
def test_windows_are_summed_as_guess_by_guess(pair: str, window: int) -> None:
    """Against the game's own chances, a round at a time."""
    game = RockPaperScissors(rounds=60)
    hands = np.random.default_rng(3).integers(3, size=(2, 1, 60))
    chances = likelihoods(hands[0], hands[1])
    state = tuple(zip(*(one[0].tolist() for one in hands), strict=True))
    slow = np.array(
        [
            [game.probabilities(code, game.observe(state[:at], 0))[state[at][0]] for code in CODES]
            for at in range(60)
        ]
    )
    np.testing.assert_allclose(chances[0], slow)
    found = ideal.correct_probability(chances, CODES.index(pair[0]), window)
    for number in (0, 17, 49):
        end = ideal.WARMUP + number + 1
        with np.errstate(divide="ignore"):
            logs = np.log(slow[max(0, end - window) : end]).sum(axis=0)
        best = np.flatnonzero(logs >= logs.max() - 1e-9)
        wanted = (CODES.index(pair[0]) in best) / len(best)
        assert found[0, number] == pytest.approx(wanted)


def test_among_equally_likely_strategies_one_is_drawn() -> None:
    chances = np.full((1, 30, 4), 0.5)
    chances[..., 3] = 0.25
    assert ideal.correct_probability(chances, 0, 20) == pytest.approx(1 / 3)
    assert ideal.correct_probability(chances, 3, 20) == pytest.approx(0)
