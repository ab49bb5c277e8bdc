"""The value of each option of a recorded match, by synthetic playouts: judged once, resumed where
it stopped; and each of two cells of one name keeps its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from gauntlet.common.errors import UserError
from gauntlet.games.base import TextMove
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline import metrics
from gauntlet.pipeline.judging.judge import Judged, JudgeSettings, TracePoint, choices, judge
from gauntlet.pipeline.judging.judgement_cache import most_deals, plies
from gauntlet.pipeline.judging.metric_rows import Reading, decisions, figures
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.rng import DEAL, stream
from gauntlet.pipeline.tables.commands.metrics import by_player, traces
from gauntlet.pipeline.tables.registry import TERMINAL, Results, tables
from tests.games.bare import SumGuess
from tests.pipeline.conftest import Capsys, Once, Sweep
from tests.pipeline.logs import edited, matches
from tests.pipeline.records import decided, ended, placed, write
from tests.pipeline.records import decided as decision

PLAYOUTS = 30


@dataclass
class MadeUp:
    """With the true cards option i wins i + 1 playouts for everybody, with redealt hidden cards
    none. Records the seeds that it was given."""

    true: list[int] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)

    def winners(
        self, game: UnoArena, state: Any, _: Sequence[str], playouts: int, seed: int, hidden: bool
    ) -> np.ndarray:
        (self.seen if hidden else self.true).append(seed)
        (seat,) = game.to_move(state)
        won = np.arange(playouts) <= np.arange(len(game.legal(state, seat)))[:, None]
        return (won * 0b11 * (not hidden)).astype(np.uint16)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    found = MadeUp()
    monkeypatch.setattr(UnoArena, "winners", lambda game, *words: found.winners(game, *words))
    return found


@pytest.fixture
def records(once: Once) -> list[MatchRecord]:
    return list(matches(once("game=uno_arena", "agent=random", "deals=3")).values())


def played(records: list[MatchRecord]) -> list[tuple[list[Judged], list[TracePoint]]]:
    """All decisions of both players, and every ply."""
    work = JudgeSettings(1, PLAYOUTS, frozenset((0, 1)), 99)
    return [judge(UnoArena(), work, record) for record in records]


def test_true_values_are_of_the_true_cards_and_seen_ones_of_others(
    made_up: MadeUp, records: list[MatchRecord]
) -> None:
    """Without equal cards option i of a decision has i + 1 of the playouts."""
    for judged, trace in played(records):
        assert judged
        for one in judged:
            wins = np.diagonal(one.true)
            assert (wins >= 1 + np.arange(len(one.options))).all()
            assert (np.diff(wins) >= 1).all()
            assert not one.seen.any()
        for stand in trace:
            assert min(stand.true) > 0
            assert stand.seen == 0


def test_every_decision_has_playouts_of_its_own(
    made_up: MadeUp, records: list[MatchRecord]
) -> None:
    """True and seen values share their random numbers, and so does a repeated judging."""
    played(records)
    once = list(made_up.true)
    assert len(once) == sum(len(record.decisions) for record in records)
    assert len(set(once)) == len(once)
    assert made_up.seen == once
    played(records)
    assert made_up.true == 2 * once


def test_the_same_words_are_judged_that_were_said() -> None:
    """Both win where they get ten points: "high" adds one, and a guess is then good enough that is
    1 off. In the mean over words it is worth as much as a guess that is right or silence."""
    start = SumGuess().deal(stream(1, SumGuess(), 0, DEAL))
    options = (["keep silent", "say a word"], ["0", "1", "2", "3", "4"])
    said, guess = TextMove(1, "high"), sum(start[0])
    last = SumGuess().play(SumGuess().play(start, (said,)), (guess,))
    told = ended(
        decision(0, options=options[0], chosen=1, text="high"),
        decision(1, options=options[1], chosen=guess),
        returns=SumGuess().returns(last),
    )
    (word, _), (stand, after) = judge(SumGuess(), JudgeSettings(1, 500, frozenset((0, 1)), 1), told)
    near = sum(abs(guess - other) <= 1 for other in range(5)) / 5
    assert word.true[0, 0] / 500 == pytest.approx(1 / 5, abs=0.08)
    assert word.true[1, 1] / 500 == pytest.approx(near, abs=0.08)
    assert stand.true[0] == word.true[1, 1] / 500
    assert after.true == (1.0, 1.0)
    for other in ("low", "", "h" * 999):
        changed = (replace(told.decisions[0], text=other), told.decisions[1])
        with pytest.raises(UserError, match="another version of SumGuess"):
            [*choices(SumGuess(), 1, replace(told, decisions=changed))]


def test_decisions_of_seats_that_move_at_once_are_judged_in_one_state(
    sweep: Sweep, folder: Path
) -> None:
    """Against a random hand any hand wins a third; after the rounds before it may count less."""
    assert sweep("game=rock_paper_scissors", "game.rounds=3", "agent=random", "deals=2") == 0
    game = RockPaperScissors(rounds=3)
    for record in matches(folder).values():
        judged, trace = judge(game, JudgeSettings(1, PLAYOUTS, frozenset((0, 1)), 9), record)
        assert [(one.ply, one.seat) for one in judged] == [(n, n % 2) for n in range(6)]
        assert len(trace) == 6
        for one in judged:
            assert (one.true == one.seen).all()
        found = list(choices(game, 1, record))
        assert [len(choice.state) for choice in found] == [0, 0, 1, 1, 2, 2]


READING = Reading(PLAYOUTS, (0.0,), "min", 0)


def sure(deal: int, match: str, chosen: int) -> Judged:
    """A decision between an option that wins always and one that never does."""
    table = PLAYOUTS * np.array([[1, 0], [0, 0]])
    place = (match, deal, 0, 1)
    return Judged(*place, 1, ("good", "bad"), chosen, False, table, table)


def test_matches_of_a_deal_are_drawn_again_together() -> None:
    """Forty deals with six identical matches each carry as much information as forty matches."""
    chosen = [int(deal % 3 == 0) for deal in range(40)]
    often = [sure(deal, f"{deal}-{n}", chosen[deal]) for deal in range(40) for n in range(6)]
    assert len(set(decisions(often, 2, "true", PLAYOUTS).games)) == 40
    once = figures(often[::6], 2, "true", 0.0, READING)
    many = figures(often, 2, "true", 0.0, READING)
    assert many["odhr"] == pytest.approx(once["odhr"]) == pytest.approx(26 / 40)
    assert many["decisions"] == 240
    for limit in ("odhr_low", "odhr_high", "adr_low", "adr_high"):
        assert many[limit] == pytest.approx(once[limit], abs=0.03)
    assert many["odhr_high"] - many["odhr_low"] > 0.25


# --- what was judged is kept


@pytest.fixture
def judged(once: Once, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the matches judged, one by one, in a folder of six."""
    once("game=uno_arena", "agent=rule", "deals=6")
    found: list[str] = []

    def noted(game: Any, work: JudgeSettings, record: Any) -> Any:
        found.append(record.match)
        return judge(game, work, record)

    monkeypatch.setattr(metrics, "judge", noted)
    return found


def go(folder: Path, *options: str) -> dict[str, bytes]:
    base = ["--playouts", "20", "--threads", "1", "--store", str(folder / "none")]
    assert metrics.main([str(folder), *base, *options]) == 0
    return {path.name: path.read_bytes() for path in (folder / "metrics").iterdir()}


def test_what_is_judged_is_judged_once(judged: list[str], folder: Path) -> None:
    whole = go(folder)
    assert len(judged) == 6
    (kept,) = (folder / "judged").iterdir()
    lines = kept.read_bytes().splitlines(keepends=True)
    foreign = b'{"match": 1}\nno line at all\n'
    kept.write_bytes(foreign + b"".join(lines[:3]) + lines[3][:99])  # killed in the fourth
    assert go(folder) == whole
    assert len(judged) == 9
    go(folder, "--traces", "6")
    assert len(judged) == 11, "two of six had no trace yet; the torn line swallowed no other"
    go(folder, "--everybody")
    assert len(judged) == 17, "other players are judged anew"


def test_another_record_is_judged_anew(judged: list[str], folder: Path) -> None:
    go(folder)
    (path,) = (folder / "records").glob("*.jsonl")
    match = json.loads(path.read_text().splitlines()[2])["match"]

    def fallen(record: dict[str, Any]) -> dict[str, Any]:
        record["decisions"][0]["fallback"] = record["match"] == match
        return record

    edited(path, fallen)
    go(folder)
    assert judged[6:] == [match]


def test_the_first_deals_alone(
    judged: list[str], folder: Path, capsys: Capsys, monkeypatch: Any
) -> None:
    go(folder, "--deals", "2")
    assert len(judged) == 2
    assert "20 playouts an option, the first 2 of 6 deals" in capsys.readouterr().out
    monkeypatch.setattr(metrics, "PLIES", 1)
    monkeypatch.setattr(metrics, "PLAYOUTS", 5)
    assert metrics.main([str(folder), "--store", str(folder / "none")]) == 0
    assert len(judged) == 3, "one at the least, where nothing was asked for"


def test_a_budget_of_plies() -> None:
    costs = [(deal, 10) for deal in (0, 0, 1, 1, 2, 2)]
    assert [most_deals(costs, 5, budget) for budget in (0, 199, 200, 299, 300)] == [1, 1, 2, 2, 3]
    record = ended(decided(1), decided(0), decided(1, options=("a", "a")), decided(1))
    assert plies(record, everybody=False) == 2 * (2 * 4 + 2 * 1)
    assert plies(record, everybody=True) == 2 * (2 * 4 + 2 * 3 + 2 * 1)


# --- two cells of one name


OTHER = "0123456789e12345"
"""A key that naive readers parse as a number."""


@pytest.fixture
def twins(once: Once) -> Path:
    """Four deals of a cell, and the first two again as a cell of the same name and another key."""
    folder = once("game=uno_arena", "agent=rule", "deals=4")
    (cell,) = (folder / "cells").glob("*.json")
    about = json.loads(cell.read_text())
    stem = cell.stem.replace(about["key"], OTHER)
    del about["crc32"]
    (cell.parent / f"{stem}.json").write_bytes(to_bytes({**about, "key": OTHER}))
    (log,) = (folder / "records").glob("*.jsonl")
    again = [
        placed(replace(record, cell=OTHER))
        for record in Folder(folder).matches()
        if record.deal < 2
    ]
    write(log.parent / f"{stem}.jsonl", again)
    judging = [str(folder), "--playouts", "20", "--threads", "1", "--everybody"]
    assert metrics.main([*judging, "--store", str(folder / "none")]) == 0
    return folder


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / "metrics" / name, dtype={"key": str})


def test_every_file_tells_them_apart(twins: Path) -> None:
    table = read(twins, "metrics.csv")
    assert table["cell"].nunique() == 1
    games = table.drop_duplicates(["key", "games"]).set_index("key")["games"]
    assert games.pop(OTHER) == 2
    assert list(games) == [4]
    assert len(by_player(table, 0.0)) == 4
    shown = tables()["metrics"].sheets(Results(twins, (), {"metrics": table}), TERMINAL)
    rows = {sheet.title: len(sheet.rows) for sheet in shown}
    assert rows.pop("all games") == 4
    assert set(rows.values()) == {4 * 3}, "a row a player and number of options"
    lines = (twins / "metrics" / "decisions.jsonl").read_text().splitlines()
    deals = {(one["key"] == OTHER, one["deal"]) for one in map(json.loads, lines)}
    assert deals == {(False, deal) for deal in range(4)} | {(True, 0), (True, 1)}
    stands = read(twins, "traces.csv")
    assert stands.groupby("key")["match"].nunique()[OTHER] == 2
    titles = [axes.get_title() for axes in traces(stands).axes]
    assert titles == [f"deal {deal}, uno_arena-solo-rule" for deal in (0, 0, 1, 1)]
