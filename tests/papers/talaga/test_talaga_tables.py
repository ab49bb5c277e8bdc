"""TALAGA's rows of a reproduction, from planted results and from small runs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.games.tic_tac_toe import State, TicTacToe
from gauntlet.models.fake import Fake
from gauntlet.papers import reproduce, reproductions
from gauntlet.papers.published import COLUMNS, frame, paper
from gauntlet.papers.talaga import chips, rows
from gauntlet.papers.talaga import reproduction as talaga
from gauntlet.papers.talaga.costs import costs
from gauntlet.papers.talaga.ends import Ends, model_name, results_by_pair, results_by_player
from gauntlet.papers.talaga.reproduction import chip_curves
from gauntlet.papers.verdicts import Estimate
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.tables.registry import read_table
from tests.papers.test_reproduce import in_this_process
from tests.pipeline.conftest import Sweep

PUBLISHED = paper("talaga")
PLAYERS = ("random", "minmax", "prompt", "cot", "cot-sc", "tot", "react")
OTHERS = ("tot", "cot-sc", "react", "prompt", "cot")


def ids(model: str) -> set[str]:
    """The rows expected from the printed tables."""
    pairs = [f"{one}.vs.{other}" for one in PLAYERS for other in PLAYERS if one != other]
    found = {f"table1.{pair}.win_rate" for pair in pairs}
    found |= {f"table1.{name}.avg_{end}_rate" for name in PLAYERS for end in ("win", "loss")}
    ends = ("talaga_win", "other_win", "draw", "margin")
    found |= {f"table2.vs_{other}.{end}" for other in OTHERS for end in ends}
    wins = [f"{a}_first.{b}_wins" for a in ("talaga", "tot") for b in ("talaga", "tot")]
    for variant in ("k2_n2", "k2_n4_2", "plus_hallucination_control"):
        found |= {f"table3.{variant}.{name}" for name in ("talaga_wr", "tot_wr", *wins)}
    sides = [f"{side}_hand_win_rate" for side in ("talaga", "other")]
    found |= {f"table4.vs_{other}.{side}" for other in OTHERS[:-1] for side in sides}
    found |= {f"{figure}.curves" for figure in ("fig1a", "fig1b", "fig4")}
    scripted = {"table1.random.vs.minmax.win_rate", "table1.minmax.vs.random.win_rate"}
    named = {f"talaga.{line}.{model}" for line in (*(found - scripted), "abstract.advantage")}
    return (
        named
        | {f"talaga.{line}" for line in scripted}
        | {one["id"] for one in PUBLISHED["settings"]}
    )


def ends(win: float, draw: float, loss: float, games: int = 10_000) -> Ends:
    """Rates in percent of this many games."""
    shares = (Estimate(x, x, x) for x in (win, draw, loss))
    reach = 200 / games**0.5
    lead = Estimate(win - loss, win - loss - reach, win - loss + reach)
    return Ends(games, games, dict.fromkeys(("win", "draw", "loss"), games), *shares, lead)


def as_printed(games: int = 10_000, off: float = 0.0) -> talaga.TableResults:
    """Return results exactly as printed, or `off` points higher, wrapping from 100 to 0."""
    name, found, over = rows.our_name, dict[Any, Any](), {}

    def ends_of(*shares: float) -> Ends:
        return ends(*((share + off) % 100.001 for share in shares), games=games)

    for one, line in PUBLISHED["table1"]["rows"].items():
        for other, win in zip(PLAYERS, line, strict=True):
            if win is not None:
                found[name(one), name(other)] = {"all": ends_of(win, 0, 0)}
    for place, one in enumerate(PLAYERS):
        win, loss = (PUBLISHED["table1"][part][place] for part in ("wins", "losses"))
        over[name(one)] = ends_of(win, 0, loss)
    for other, (win, loss, draw, margin) in PUBLISHED["table2"]["rows"].items():
        moved = {
            end: margin + off + far for end, far in vars(ends(50, 0, 50, games).margin).items()
        }
        found["talaga", name(other)] = {
            "all": replace(ends_of(win, draw, loss), margin=Estimate(**moved))
        }
    for variant, line in PUBLISHED["table3"]["rows"].items():
        win, loss, first, other_first, other_second, second = line
        found[rows.VARIANTS[variant], "tot"] = {
            "all": found["talaga", "tot"]["all"]
            if variant == "plus_hallucination_control"
            else ends_of(win, 0, loss),
            "first": ends_of(2 * first, 0, 2 * other_first),
            "second": ends_of(2 * second, 0, 2 * other_second),
        }
    hands = {("talaga", name(other)): (Estimate(line[0], line[0] - 1, line[0] + 1), 500, 5)
             for other, line in PUBLISHED["table4"]["rows"].items()}  # fmt: skip
    return talaga.TableResults(found, over, hands)


def verdicts(played: talaga.TableResults) -> pd.Series[Any]:
    """By row, of the paper's."""
    scripted = talaga.TableResults(
        {pair: played.met[pair] for pair in played.met if "random" in pair}
    )
    made = [*talaga.lines(PUBLISHED, scripted, {"mine": played}, ["mine"])]
    table = frame(made).set_index("id")
    assert table.index.is_unique
    assert ids("mine") <= set(table.index)
    return table.loc[sorted(ids("mine")), "verdict"]


UNBEATEN = r"vs\.minmax\.win_rate|minmax\.avg_loss"
"""Rows of minimax's losses."""


@pytest.mark.parametrize(
    ("games", "off", "verdicts_seen"),
    [
        (10_000, 0, {"agrees", "uninformative"}),
        (10_000, 50, {"differs"}),
        (1, 0, {"uninformative"}),
    ],
)
def test_what_plays_as_the_paper_prints_agrees_and_what_does_not_is_seen(
    games: int, off: float, verdicts_seen: set[str]
) -> None:
    found = verdicts(as_printed(games, off))
    assert set(found[found.index.str.contains(r"\.table4\.")]) == {"not_computable"}
    judged = found[~found.index.str.contains(r"\.table4\.|\.setting\.|\.curves")]
    assert len(judged) == 42 + 14 + 20 + 1 + 18
    proven = judged.index.str.contains(UNBEATEN)
    assert judged[proven].tolist() == ["differs"] * 7
    assert set(judged[~proven]) == verdicts_seen, judged[~proven & ~judged.isin(verdicts_seen)]
    agree = judged.index[judged == "agrees"]
    assert "talaga.table1.minmax.vs.random.win_rate" in agree or "agrees" not in verdicts_seen
    assert "talaga.table1.random.vs.prompt.win_rate.mine" not in agree, "3.7 points from chance"


def test_one_wrong_figure_among_the_right_ones_differs_alone() -> None:
    played = as_printed()
    wrong = {("talaga", "react"): {"all": ends(75, 13, 12)}}
    found = verdicts(replace(played, met={**played.met, **wrong}))
    different = set(found[(found == "differs") & ~found.index.str.contains(UNBEATEN)].index)
    assert different == {f"talaga.table2.vs_react.{end}.mine"
                         for end in ("talaga_win", "other_win", "margin")}  # fmt: skip


def test_what_was_not_played_stays_empty() -> None:
    made = frame([*talaga.lines(PUBLISHED, talaga.TableResults({}), {}, ["mine", "yours"])])
    assert ids("mine") | ids("yours") <= set(made["id"])
    paper_lines = made[made["published"].notna() | made["id"].str.contains("curves")]
    assert set(paper_lines["verdict"]) == {"not_run"}
    assert made[["ours", "ci_low", "n"]].isna().all(axis=None)


def test_chance_is_what_random_players_do() -> None:
    grid = TicTacToe()

    @cache
    def chances(state: State) -> tuple[float, float]:
        seats = grid.to_move(state)
        if not seats:
            first = grid.returns(state)[0]
            return float(first > 0), float(first < 0)
        moves = grid.legal(state, seats[0])
        after = np.array([chances(grid.play(state, (move,))) for move in moves])
        first, second = after.mean(axis=0)
        return float(first), float(second)

    first, second = chances(State((0, 0), ()))
    assert pytest.approx((100 * first, 100 * second)) == (rows.FIRST, rows.SECOND)
    assert pytest.approx(100 - rows.FIRST - rows.SECOND) == rows.DRAWN


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("minimax_d1", "minimax_d1"),
        ("tot.pocket", "tot"),
        ("cot_sc.gpt-3.5", "cot_sc"),
        ("direct.pocket[dtype=bfloat16]", "direct"),
        ("llm.gpt-3.5.talaga", "talaga"),
        ("llm.pocket[dtype=bfloat16].talaga[n1=2]", "talaga[n1=2]"),
        ("lookahead[k=1,judge.noise=0.3]", "lookahead[k=1,judge.noise=0.3]"),
    ],
)
def test_players_are_called_without_their_model(name: str, short: str) -> None:
    assert model_name(name) == short


def test_chips_by_hand_are_those_of_the_matches(sweep: Sweep, folder: Path) -> None:
    words = ["experiment=talaga_chips", "players=[random,caller,tight]", "deals=2"]
    assert sweep(*words, "game.hands=6") == 0
    table = chips.curves(folder)
    assert set(table["hand"]) == set(range(7)), "a match stands as it ended"
    both = table.groupby([table["match"].str.partition(".")[0], "hand"])["chips"].sum()
    assert set(both) == {2 * chips.STACK}
    ended = table[table["hand"] == 6].set_index("match")["chips"]
    won = {pair: [0, 0] for pair in chips.hands_won(folder)}
    for record in Folder(folder).matches():
        for seat in (0, 1):
            blinds, hands = (record.measures[name][seat] for name in ("bb_per_hand", "hands"))
            assert ended[f"{record.match}.{seat}"] == chips.STACK + round(2 * blinds * hands)
    for about in Folder(folder).sweep_cells():
        other, own = about.players
        for record in Folder(folder).matches(about.stem):
            for seat in (0, 1):
                won[own, other][seat] += int(
                    record.measures["hands_won"][record.rotation ^ 1 ^ seat]
                )
    for pair, (share, hands, deals) in chips.hands_won(folder).items():
        assert deals == 2
        assert (share.value, hands) == (pytest.approx(100 * won[pair][0] / hands), sum(won[pair]))
        assert share.low < share.value < share.high
    spread = chips.chip_quantiles(table)
    assert set(spread["matches"]) == {4}
    assert (spread["lower_quarter"] <= spread["upper_quarter"]).all()
    figure = chip_curves(spread, {"random against": [("random", "tight")], "none": []}, 200)
    (line,) = [one for one in figure.axes[0].lines if one.get_label() == "tight"]
    drawn = spread[(spread["player"] == "random") & (spread["opponent"] == "tight")]
    assert list(line.get_ydata()) == list(drawn["median"])


def test_a_match_that_the_game_no_longer_plays_is_told(sweep: Sweep, folder: Path) -> None:
    words = ["experiment=talaga_chips", "players=[caller,maniac]", "deals=1"]
    assert sweep(*words, "game.hands=2", "rotate=false") == 0
    (record,) = Folder(folder).matches()
    game = talaga.chips.Holdem(hands=2)
    whole = chips.won_by_hand(game, 1, record)
    assert len(whole) == record.measures["hands"][0]
    with pytest.raises(ValueError, match="is not legal"):
        chips.won_by_hand(game, 1, type(record)(**{
            **{name: getattr(record, name) for name in record.__struct_fields__},
            "decisions": (*record.decisions, record.decisions[0]),
            "plies": record.plies + 1,
        }))  # fmt: skip


def test_tables_are_read_from_either_side_and_moves_are_counted(sweep: Sweep, folder: Path) -> None:
    """A method against another one, 3 deals from both seats, with a model that answers nothing."""
    assert sweep("experiment=talaga_table2", "seats.0.player=cot_sc", "prompt=direct",
                 "+model.texts=[Well.]", "deals=3") == 0  # fmt: skip
    found = results_by_pair(folder)
    assert set(found) == {("direct", "cot_sc"), ("cot_sc", "direct")}
    own, other = found["direct", "cot_sc"], found["cot_sc", "direct"]
    wins = {"all": 0, "first": 0, "second": 0}
    for record in Folder(folder).matches():
        won = record.returns[record.measured[0]] > 0
        wins["all"] += won
        wins["first" if record.measured[0] == 0 else "second"] += won
    for moved, turned in (("all", "all"), ("first", "second"), ("second", "first")):
        assert own[moved].win.value == pytest.approx(100 * wins[moved] / own[moved].games)
        assert (own[moved].win, own[moved].loss) == (other[turned].loss, other[turned].win)
        low, high = other[turned].margin.low, other[turned].margin.high
        assert (own[moved].margin.low, own[moved].margin.high) == (-high, -low)
    assert (own["all"].games, own["first"].games) == (6, 3)
    spent = costs([folder, folder]).set_index("method")
    decisions = [d for record in Folder(folder).matches() for d in record.decisions if d.asked]
    assert spent["decisions"].sum() == len(decisions)
    assert spent.loc["direct", "calls"] == 3, "asked three times"
    assert spent.loc["cot_sc", "calls"] == 9, "three samples, asked three times"
    read = sum(asked.tokens[0] for decision in decisions for asked in decision.asked)
    assert (spent["tokens_in"] * spent["decisions"]).sum() == pytest.approx(read)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole command with the fake model, and with one whose weights are missing."""
    out = tmp_path_factory.mktemp("talaga")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproductions, "command", in_this_process)
        patch.setattr(talaga, "available", lambda models: ["fake"])
        patch.setattr(reproduce, "source_of", lambda model: Fake())
        patch.chdir(out)
        words = ["talaga", "--models", "fake,nowhere", "--deals", "1", "--out", str(out)]
        assert reproduce.main([*words, "launch=inline", "tracking=none"]) == 0
    return out


@pytest.mark.slow
def test_the_whole_command_fills_every_line(reproduced: Path) -> None:
    table = read_table(reproduced / "talaga.csv").set_index("id")
    assert ["id", *table.columns] == list(COLUMNS)
    assert table.index.is_unique
    assert ids("fake") | ids("nowhere") <= set(table.index)
    own = table[table.index.str.endswith(".fake")]
    assert not set(own["verdict"]) & {"not_run"}
    assert set(table[table.index.str.endswith(".nowhere")]["verdict"]) == {"not_run"}
    settings = table[table.index.str.contains("setting")]
    sizes = settings.index.str.contains("per_pair|trials")
    assert set(settings[~sizes]["verdict"]) == {"agrees"}
    assert set(settings[sizes]["ours"]) == {2}, "two matches a pair were played"
    actors = table[table.index.str.contains(r"table3\.lookahead")]
    assert len(actors) == 16 * 3
    assert set(actors["n"]) == {2}


@pytest.mark.slow
def test_figures_and_tables_are_written(reproduced: Path) -> None:
    drawn = {path.name for path in (reproduced / "figures").iterdir()}
    assert drawn == {"talaga_chips.png", "talaga_chips_fake.png"}
    spread = pd.read_csv(reproduced / "tables" / "talaga_chips_fake.csv")
    assert {("random", "react"), ("react", "tot"), ("talaga", "direct")} <= {
        (row.player, row.opponent) for row in spread.itertuples()
    }
    spent = pd.read_csv(reproduced / "tables" / "talaga_costs_fake.csv")
    assert {"tic_tac_toe", "holdem"} == set(spent["game"])
    assert set(results_by_player(reproduced / "talaga_table1_fake")) == set(
        map(rows.our_name, PLAYERS)
    )


def test_games_of_one_deal_against_several_others_are_no_games_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A random player takes the same moves against all: 3 wins of 30 are one lucky deal of ten."""
    standing = {"player": "random", "matches": 30, "deals": 10, "win": 0.1, "draw": 0.0}
    scores = dict.fromkeys(("score", "score_low", "score_high"), 0.1)
    pd.DataFrame([{**standing, "loss": 0.9, **scores}]).to_csv(tmp_path / "standings.csv")
    matches = [("random", other, "first", deal, 1.0 if deal == 0 else -1.0)
               for other in ("a", "b", "c") for deal in range(10)]  # fmt: skip
    monkeypatch.setattr("gauntlet.papers.talaga.ends._match_rows", lambda _: iter(matches))
    own = results_by_player(tmp_path)["random"]
    assert (own.games, own.deals, own.independent["win"]) == (30, 10, 8)
    assert own.win.high > 40, "of thirty it would be 27%"
