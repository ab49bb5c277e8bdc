"""What each option of a recorded match was worth, by playouts that are made up here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from games.uno.arena import UnoArena
from pipeline.judging.judge import Judged, Stand, Work, judge
from pipeline.judging.metric_rows import Reading, decisions, figures
from pipeline.log.schema import MatchRecord
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches

PLAYOUTS = 30


@dataclass
class MadeUp:
    """From the true cards option i wins i + 1 playouts for everybody, from hidden cards dealt
    afresh none. Keeps the seeds that it was given."""

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
def records(sweep: Sweep, folder: Path) -> list[MatchRecord]:
    assert sweep("game=uno_arena", "agent=random", "deals=3") == 0
    return list(matches(folder).values())


def played(records: list[MatchRecord]) -> list[tuple[list[Judged], list[Stand]]]:
    """All decisions of both players, and every ply."""
    work = Work(1, PLAYOUTS, frozenset((0, 1)), 99)
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
    """True and seen values share theirs, and so does whoever judges again."""
    played(records)
    once = list(made_up.true)
    assert len(once) == sum(len(record.decisions) for record in records)
    assert len(set(once)) == len(once)
    assert made_up.seen == once
    played(records)
    assert made_up.true == 2 * once


READING = Reading(PLAYOUTS, (0.0,), "min", 0)


def decided(deal: int, match: str, chosen: int) -> Judged:
    """A decision between an option that wins always and one that never does."""
    table = PLAYOUTS * np.array([[1, 0], [0, 0]])
    place = (match, deal, 0, 1)
    return Judged(*place, 1, ("good", "bad"), chosen, False, table, table)


def test_matches_of_a_deal_are_drawn_again_together() -> None:
    """Forty deals with six matches each that all go alike tell what forty matches do."""
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
