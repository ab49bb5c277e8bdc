"""The value of each option of a recorded match, by synthetic playouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from gauntlet.common.errors import UserError
from gauntlet.games.base import TextMove
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline.judging.judge import Judged, JudgeSettings, TracePoint, choices, judge
from gauntlet.pipeline.judging.metric_rows import Reading, decisions, figures
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan.rng import DEAL, stream
from tests.games.bare import SumGuess
from tests.pipeline.conftest import Once, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.records import decided as decision
from tests.pipeline.records import ended

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
    low = (replace(told.decisions[0], text="low"), told.decisions[1])
    with pytest.raises(UserError, match="another version of SumGuess"):
        judge(SumGuess(), JudgeSettings(1, 5, frozenset((0, 1)), 1), replace(told, decisions=low))


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


def test_a_record_that_breaks_off_does_not_fit(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "agent=random", "deals=1") == 0
    (record,) = matches(folder).values()
    for kept in (record.decisions[:-1], (*record.decisions, record.decisions[-1])):
        with pytest.raises(UserError, match="another version of TicTacToe"):
            list(choices(TicTacToe(), 1, replace(record, plies=len(kept), decisions=kept)))


READING = Reading(PLAYOUTS, (0.0,), "min", 0)


def decided(deal: int, match: str, chosen: int) -> Judged:
    """A decision between an option that wins always and one that never does."""
    table = PLAYOUTS * np.array([[1, 0], [0, 0]])
    place = (match, deal, 0, 1)
    return Judged(*place, 1, ("good", "bad"), chosen, False, table, table)


def test_matches_of_a_deal_are_drawn_again_together() -> None:
    """Forty deals with six identical matches each carry as much information as forty matches."""
    chosen = [int(deal % 3 == 0) for deal in range(40)]
    often = [decided(deal, f"{deal}-{n}", chosen[deal]) for deal in range(40) for n in range(6)]
    assert len(set(decisions(often, 2, "true", PLAYOUTS).games)) == 40
    once = figures(often[::6], 2, "true", 0.0, READING)
    many = figures(often, 2, "true", 0.0, READING)
    assert many["odhr"] == pytest.approx(once["odhr"]) == pytest.approx(26 / 40)
    assert many["decisions"] == 240
    for limit in ("odhr_low", "odhr_high", "adr_low", "adr_high"):
        assert many[limit] == pytest.approx(once[limit], abs=0.03)
    assert many["odhr_high"] - many["odhr_low"] > 0.25
