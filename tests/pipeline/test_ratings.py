"""Ratings of logs: player identity, matches that count, output, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline import ratings, run
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.tables.commands.rating_figures import interval_plot, rating_figures
from gauntlet.pipeline.tables.commands.ratings import (
    chance_matrix,
    rate_contest,
    rating_sheets,
    write_ratings,
)
from gauntlet.pipeline.tables.media import plot_style
from gauntlet.pipeline.tables.sweep.contest import Contest, load_contest, seated_sides
from gauntlet.stats.matches import Matches
from gauntlet.stats.ratings import rated
from tests.pipeline.conftest import FAST, Capsys, Sweep

ROBIN = ("game=tic_tac_toe", "pairing=round_robin", "players=[random,greedy,minimax]")
FILES = ("ratings", "ratings_by_game", "ratings_pairs", "ratings_left_out")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A round robin at 3 x 3, and one at 4 x 4 of two of its players."""
    where = tmp_path_factory.mktemp("ratings")
    few = (*ROBIN[:2], "players=[random,greedy]", "game.size=4", "rotate=true", "deals=3")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        patch.setattr("gauntlet.pipeline.tables.sweep.report.drawings", lambda *_: {})
        for name, words in (("small", (*ROBIN, "rotate=true")), ("large", few)):
            given = {word.partition("=")[0] for word in words}
            base = [word for word in FAST if word.partition("=")[0] not in given]
            argv = ["pipeline.run", *base, *words, f"output_dir={where / name}"]
            patch.setattr("sys.argv", argv)
            assert run.main() == 0
    return where / "small", where / "large"


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])


def test_a_contest_has_every_match_with_its_score(played: tuple[Path, Path]) -> None:
    found = load_contest(played)
    assert found.players == ["greedy", "minimax", "random"]
    assert found.games == ["tic_tac_toe", "tic_tac_toe[size=4]"]
    records = {path.name: list(Folder(path).matches()) for path in played}
    assert len(found.game_matches(0)) == len(records["small"]) == 3 * 6 * 2
    assert len(found.game_matches(1)) == len(records["large"]) == 3 * 2
    won = sum((record.returns[seat] + 1) / 2 for record in records["large"]
              for seat in record.measured)  # fmt: skip
    assert found.game_matches(1).points[2, 0] == pytest.approx(won)


def test_matches_of_one_deal_share_it_over_cells(played: tuple[Path, Path]) -> None:
    own = load_contest(played[:1]).matches
    assert len(np.unique(own.deals)) == 6
    assert np.bincount(own.deals).tolist() == [6] * 6


def test_a_folder_that_is_named_twice_counts_once(played: tuple[Path, Path]) -> None:
    small, _ = played
    assert len(load_contest([small, small / ".." / "small"]).matches) == 36


def test_who_helps_is_on_the_side_of_whom_it_helps(sweep: Sweep, folder: Path) -> None:
    """Seat 2, random, helps seat 1: their side has its result, and is as strong as their mean."""
    assert sweep("game=uno", "seats=coop", "agent=random", "deals=8", "rotate=true") == 0
    found = load_contest([folder])
    assert found.matches.teams is not None
    assert found.matches.teams.tolist() == [[0.5, 0.5], [0, 1]]
    scores = 0.0
    for record in Folder(folder).matches():  # rotation r puts player p in seat p + r
        helped, other = ((player + record.rotation) % 3 for player in (1, 0))
        scores += (1 + np.sign(record.returns[helped] - record.returns[other])) / 2
    assert found.matches.points[0, 1] == scores
    assert rated(found.matches).matches.tolist() == [24, 24]


def test_players_who_kept_their_seats_are_not_rated(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    """The first of every pairing would lead by what its seat is worth."""
    here, there = folder / "here", folder / "there"
    for where, players in ((here, "[random,greedy]"), (there, "[greedy,random]")):
        words = (*ROBIN[:2], "rotate=false", "deals=4", f"output_dir={where}")
        assert sweep(*words, f"players={players}") == 0
    assert load_contest([here]).unrotated == 1
    assert len(load_contest([here]).matches) == 0
    capsys.readouterr()
    assert ratings.main([str(here)]) == 2
    assert "rotate=true" in capsys.readouterr().err
    both = load_contest([here, there])
    assert (both.unrotated, len(both.matches), both.swapped) == (0, 8, True)


def test_seats_that_beat_each_other_in_a_circle_are_no_circle_of_players() -> None:
    """In every rotation of three, each player is before the same one twice and behind it once."""
    circle = [(0, 1), (1, 2), (2, 0)]
    pairs = [*circle, *circle, *((b, a) for a, b in circle)] * 40
    found = contest_of_pairs(pairs, 3)
    assert not rate_contest(found, rated)["ratings_cycles"].empty
    assert rate_contest(replace(found, swapped=False), rated)["ratings_cycles"].empty


THREE = ("game=uno", "seats=three_random", "seats.0.player=random", "seats.1.player=rule",
         "seats.2.player=first", "rotate=true", "deals=10")  # fmt: skip


def test_a_league_of_three_seats_from_run_to_ratings(sweep: Sweep, folder: Path) -> None:
    assert sweep(*THREE) == 0
    records = list(Folder(folder).matches())
    standings = pd.read_csv(folder / "standings.csv").set_index("player")
    assert standings.index.tolist() == ["random", "rule", "first"]
    assert standings["matches"].tolist() == [30] * 3 == [len(records)] * 3
    names = ["random", "rule", "first"]
    won = dict.fromkeys(names, 0)
    for record in records:  # rotation r puts player p in seat p + r
        (seat,) = np.flatnonzero(np.array(record.returns) > 0)
        won[names[(seat - record.rotation) % 3]] += 1
    for name in names:  # the winner is before two, the others tie
        assert standings.loc[name, "win"] == pytest.approx(won[name] / 30)
        lost = 30 - won[name]
        assert standings.loc[name, "score"] == pytest.approx((won[name] + lost / 4) / 30)
    assert ratings.main([str(folder)]) == 0
    found = read(folder / "ratings", "ratings").set_index("player")
    assert found["matches"].tolist() == [30] * 3
    assert (found["low"] <= found["rating"]).all()
    assert found.loc[names, "score"].tolist() == pytest.approx(standings["score"].tolist())


@pytest.mark.parametrize(
    ("seating", "team", "helps", "expected"),
    [
        ((0, 1, 2), (), {}, {("a",): [0], ("b",): [1], ("c",): [2]}),
        ((2, 0, 1), (), {}, {("c",): [0], ("a",): [1], ("b",): [2]}),
        ((0, 1, 3), (), {}, {("a",): [0, 2], ("b",): [1]}),
        ((2, 3, 0, 1), (0, 1), {}, {("a", "c"): [0, 1], ("a", "b"): [2, 3]}),
        ((0, 1, 2), (), {2: 1}, {("a",): [0], ("b", "c"): [1]}),
    ],
)
def test_seats_make_sides(
    seating: tuple[int, ...],
    team: tuple[int, ...],
    helps: dict[int, int],
    expected: dict[tuple[str, ...], list[int]],
) -> None:
    """Players 0 and 3 are the same one."""
    found = seated_sides(seating, team, "abca", [helps.get(player) for player in range(4)])
    assert found == expected


def test_older_logs_of_two_sides_are_rated_too(
    played: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not say who sat where, beside the measured player."""
    now, cells = load_contest(played), Folder.sweep_cells
    monkeypatch.setattr(
        Folder, "sweep_cells", lambda self: [replace(one, seatings=()) for one in cells(self)]
    )
    old = load_contest(played)
    assert not old.omitted
    assert old.matches.points.tolist() == now.matches.points.tolist()


def test_scores_of_a_measure_are_shares_of_its_range(sweep: Sweep, folder: Path) -> None:
    assert sweep(*THREE[:-1], "deals=2", "measure=win") == 0
    ranked, shared = (load_contest([folder], scoring=way) for way in ("rank", "measure"))
    assert ranked.matches.scores.tolist() == shared.matches.scores.tolist()
    assert set(shared.matches.scores) <= {0.0, 0.5, 1.0}
    assert not ranked.swapped


def test_another_measure_and_chosen_matches_are_noted(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    poker = ("game=holdem_hands", "rotate=true", "deals=8", "players=[random,tight]")
    assert sweep(*poker, "pairing=round_robin") == 0
    capsys.readouterr()
    assert ratings.main([str(folder)]) == 0
    assert "judged by bb_per_hand" in capsys.readouterr().out
    assert ratings.main([str(folder), "--score", "measure"]) == 0
    assert "judged by" not in capsys.readouterr().out
    chosen = folder.with_name("chosen")
    words = ("game=tic_tac_toe", "players=[random,minimax]", "deals=16", "pairing=adaptive")
    assert sweep(*words, f"output_dir={chosen}") == 0
    capsys.readouterr()
    assert ratings.main([str(chosen)]) == 0
    assert "which biases ratings" in capsys.readouterr().out


def test_a_field_that_goes_round_is_told_in_words(tmp_path: Path) -> None:
    """p0 beats p1 beats p2 beats p0 in 19 of 20 deals; p3 loses to all."""
    circle = [(0, 1), (1, 2), (2, 0)]
    pairs = [*circle * 19, *((b, a) for a, b in circle), *((at, 3) for at in (0, 1, 2))] * 3
    pairs += [(3, 0), (3, 1), (3, 2)]
    found = rate_contest(contest_of_pairs(pairs, 4), rated)
    table = found["ratings_cycles"].set_index("player")
    assert table.loc["p3", "cycle"] == ""
    assert {*table["cycle"][["p0", "p1", "p2"]]} == {"p0 beats p1 beats p2 beats p0"}
    assert table["lottery"][["p0", "p1", "p2"]].tolist() == pytest.approx([1 / 3] * 3)
    (sheet,) = (one for one in rating_sheets(found) if one.title == "Cycles")
    assert sheet.foot.startswith("p0 beats p1 beats p2 beats p0.")
    assert "ratings_cycles.csv" in [path.name for path in write_ratings(found, tmp_path)]
    chance = rate_contest(contest_of_pairs(circle * 2, 3), rated)
    assert chance["ratings_cycles"].empty, "two wins each show nothing"
    assert "ratings_cycles.csv" not in [path.name for path in write_ratings(chance, tmp_path)]
    assert not (tmp_path / "ratings_cycles.csv").exists()


def test_strength_is_set_against_tokens(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    players = "players=[random,minimax,cloze]"
    assert sweep(*ROBIN[:2], players, "rotate=true", "deals=8") == 0
    assert ratings.main([str(folder), "--cost", "tokens"]) == 0
    table = read(folder / "ratings", "ratings_cost").set_index("player")
    spent = sum(one.tokens for record in Folder(folder).matches() for one in record.decisions)
    assert table.loc["cloze.fake", "cost"] == pytest.approx(spent / 32)
    assert table.loc["minimax", ["cost", "front"]].tolist() == [0, 1]
    assert table.loc["cloze.fake", "dominated_by"] == "minimax"
    assert "Strength against cost" in capsys.readouterr().out
    assert (folder / "ratings" / "figures" / "ratings_cost.png").exists()
    assert ratings.main([str(folder), "--cost", "money"]) == 2
    assert "the price of cloze.fake's model is not known" in capsys.readouterr().err


def test_players_of_one_name_and_other_settings_are_two(
    played: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Folder.description

    def other(self: Folder, about: CellInfo) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(json.dumps(original(self, about)))
        if self.path.name == "large":
            told["identity"]["players"][0]["agent"]["policy"] = "changed"
        return told

    monkeypatch.setattr(Folder, "description", other)
    assert load_contest(played).players == ["greedy", "greedy (2)", "minimax", "random"]


def test_a_model_is_one_player_in_all_games(sweep: Sweep, folder: Path) -> None:
    """Although its prompts differ by game."""
    games = "game=tic_tac_toe,rock_paper_scissors"
    assert sweep(games, "prompt=cloze", "deals=2", "rotate=true") == 0
    found = load_contest([folder])
    assert sorted(found.games) == ["rock_paper_scissors", "tic_tac_toe"]
    assert found.players == ["llm.fake.cloze", "random"]


def test_the_command_writes_tables_and_figures(
    played: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "found"
    assert ratings.main([*map(str, played), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 100 or str(tmp_path) in line for line in said.splitlines())
    assert "Without one game" in said
    overall = read(out, "ratings").set_index("player")
    assert next(iter(overall.index)) == "minimax"
    assert overall.loc["random", "rating"] < 0 < overall.loc["greedy", "rating"]
    assert (overall["low"] < overall["rating"]).all()
    assert overall.loc["greedy", ["matches", "games"]].tolist() == [24 + 6, 2]
    by_game = read(out, "ratings_by_game").set_index(["game", "player"])
    assert np.isnan(by_game.loc[("tic_tac_toe[size=4]", "minimax"), "rating"])
    left = read(out, "ratings_left_out").set_index(["without", "player"])
    assert np.isnan(left.loc[("tic_tac_toe", "minimax"), "place"])
    pairs = read(out, "ratings_pairs").set_index(["player_a", "player_b"])
    odds = np.log(pairs["chance"] / (1 - pairs["chance"]))
    for (a, b), apart in odds.items():  # type: ignore[misc]
        assert apart == pytest.approx(overall.loc[a, "rating"] - overall.loc[b, "rating"])
    drawn = sorted(path.stem for path in (out / "figures").iterdir())
    assert drawn == ["ratings", "ratings_by_game", "ratings_pairs"]


def test_of_one_folder_the_ratings_lie_in_it(played: tuple[Path, Path], capsys: Capsys) -> None:
    small, _ = played
    assert ratings.main([str(small), "--ties", "drop"]) == 0
    assert all((small / "ratings" / f"{name}.csv").exists() for name in FILES)
    assert "By game" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["DIR", "--level", "2"], "--level lies between 0 and 1, got 2"),
        (["DIR", "--fit", "luce"], "unrecognized arguments: --fit luce"),
    ],
)
def test_what_cannot_be_rated_is_one_line(
    words: list[str], message: str, played: tuple[Path, Path], capsys: Capsys
) -> None:
    given = [str(played[0]) if word == "DIR" else word for word in words]
    try:
        status = ratings.main(given)
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]


def contest_of_pairs(pairs: list[tuple[int, int]], players: int) -> Contest:
    first, second = np.array(pairs).T if pairs else np.zeros((2, 0), int)
    zero = np.zeros(len(pairs), int)
    matches = Matches(players, first, second, np.ones(len(pairs)), zero, np.arange(len(pairs)))
    return Contest([f"p{at}" for at in range(players)], ["pit"], matches)


def test_a_contest_that_cannot_be_rated() -> None:
    with pytest.raises(
        UserError, match="two players who met in a match that counts, got 0 matches"
    ):
        contest_of_pairs([], 1).check("half")
    with pytest.raises(UserError, match="cannot be rated together: p0, p2; p1, p3"):
        contest_of_pairs([(0, 2), (1, 3)], 4).check("half")
    contest_of_pairs([(0, 2), (1, 3), (0, 1)], 4).check("half")


def test_many_players_and_those_without_a_match(tmp_path: Path) -> None:
    pairs = [(a, b) for a in range(18) for b in range(18) if a != b]
    found = rate_contest(contest_of_pairs(pairs, 19), rated)
    assert np.isnan(found["ratings"]["rating"].iloc[-1])
    assert found["ratings"]["player"].iloc[-1] == "p18"
    assert [sheet.title for sheet in rating_sheets(found)] == ["Ratings"]
    for medium in (plot_style.WIDE, plot_style.COLUMN):
        with plot_style.drawing_for(medium):
            plot_style.save_png(dict(rating_figures(found)), tmp_path / medium.name)
        assert {path.stem for path in (tmp_path / medium.name).iterdir()} == {
            "ratings",
            "ratings_pairs",
        }


def test_who_won_everything_has_no_limit_above(tmp_path: Path) -> None:
    """Player 0 beats 1 and 2, who beat each other by turns."""
    pairs = [(0, 1), (0, 2), (1, 2), (2, 1)] * 5
    found = rate_contest(contest_of_pairs(pairs, 3), rated)
    write_ratings(found, tmp_path)
    overall, paired = read(tmp_path, "ratings"), read(tmp_path, "ratings_pairs")
    assert overall["high"].tolist() == [np.inf, *overall["high"][1:]]
    assert np.isfinite(overall[["rating", "low"]].to_numpy()).all()
    assert paired.loc[:1, "high"].tolist() == [1, 1]
    (first, *_), *_ = (sheet.rows for sheet in rating_sheets(found))
    assert first[2] == f"{overall['low'][0]:+.2f} to no limit"
    with plot_style.drawing_for(plot_style.COLUMN):
        plot_style.save_png(dict(rating_figures(found)), tmp_path / "figures")
    figure = interval_plot(found["ratings"], "ratings")
    ends = np.concatenate([line.get_xdata() for line in figure.axes[0].lines])
    assert np.isfinite(ends.astype(float)).all()
    assert ">" in [line.get_marker() for line in figure.axes[0].lines if len(line.get_xdata())]


def test_the_square_of_chances_has_both_sides() -> None:
    pairs = pd.DataFrame([("a", "b", 0.7), ("b", "c", 0.4)],
                         columns=["player_a", "player_b", "chance"])  # fmt: skip
    found = chance_matrix(pairs, ["a", "b", "c"])
    assert found[0, 1] + found[1, 0] == pytest.approx(1)
    assert found[2, 1] == pytest.approx(0.6)
    assert np.isnan([found[0, 2], found[0, 0]]).all()


def test_a_single_deal_is_told_to_have_no_limits(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep(*ROBIN, "deals=1", "rotate=true") == 0
    assert ratings.main([str(folder)]) == 0
    assert "No limits: a game has a single deal" in capsys.readouterr().out
