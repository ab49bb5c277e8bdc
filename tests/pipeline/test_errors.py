"""A user's mistake ends in one line and status 2, before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.conftest import Sweep

MISTAKES = {
    ("model=pokcet",): "did you mean 'pocket'?",
    ("prompt=close",): "did you mean 'cloze'?",
    ("game=unno",): "did you mean 'uno'?",
    ("game=chess",): "game=chess does not exist",
    ("deals=100000001",): "deals=100,000,001: a sweep plays at most 100,000,000 deals",
    ("seed=1,2", "deals=60000000"): "deals=60,000,000: a sweep plays at most 100,000,000 deals",
    ("deals=0",): "deals is 0; it must be a whole number from 1 to 1,000,000,000 or auto",
    ("deals=many",): "deals is 'many'",
    ("seed=-1",): "seed is -1; it must be a whole number from 0 to 9,223",
    ("seed=1,-2",): "seed is -2; it must be a whole number from 0 to 9,223",
    ("concurrent_matches=1,2",): "concurrent_matches takes one value a run, got 1 and 2",
    ("concurrent_matches=0",): "concurrent_matches is 0",
    ("width=8",): "width=8: width is now called concurrent_matches",
    ("+accept_code=true",): "accept_code is now called allow_code_change",
    ("colour=red",): "colour is not a key of the config",
    ("game=tic_tac_toe", "seats=coop"): "2 players, got 3",
    ("game=tic_tac_toe", "agent=rule"): "has no scripted policy 'rule'",
    (
        "game=tic_tac_toe",
        "paper_bugs=true",
    ): "[paper_bugs=true]: this game has no published slips",
    ("agent=minimax",): "agent:",
    ("baseline=expert", "agent=random"): "baseline=expert is not a scripted player",
    ("+game.rounds=3",): "game.rounds is not a setting",
    ("game.paper_bugs=7",): "game.paper_bugs is 7; it must be true or false",
    ("game._target_=os.system",): "it must lie in gauntlet.agents, gauntlet.games, gauntlet.models",
    ("seats.1.agent=random", "agent=rule"): "no seat whose agent is `subject`",
    ("seats.0.agent=robot",): "agent=robot does not exist",
    ("seats.measured=2",): "seats.measured is 2; it must be 0 to 1",
    ("seats.1.goal=help:5",): "helps seat 5, which does not exist",
    ("agent=helper",): "a helper needs a goal of help:SEAT that names another seat",
    ("agent=saboteur", "seats.1.goal=help:1"): "a saboteur needs a goal of help:SEAT",
    ("agent=random", "baseline=helper"): "baseline=helper: a helper needs a goal of help:SEAT",
    ("model=hf",): "model.path must be given",
    ("model=hf", "model.path=no/such/folder"): "no/such/folder",
    ("deals=auto",): "deals=auto needs a baseline",
    ("paper_bugs=some",): "paper_bugs is 'some'; it must be none or paper",
    ("seats.0.player=serch",): "player=serch does not exist; did you mean 'search'?",
    ("seats.0.playr=rule",): "seats.0.playr is not a setting; did you mean 'player'?",
    ("seats.0.player=rule", "seats.0.agent=rule"): "seats.0 names a player and its agent",
    ("seats.0.player=rule", "seats.0.model=fake"): "seats.0 names a player and its agent",
    ("seats.1.model=fake",): "seats.1.model is the subject's: choose it by model=fake",
    ("seats.0=random",): "seats.0 must name an agent or a player",
    ("seats.1.player=random", "agent=rule"): "no seat whose agent is `subject`",
    ("pairing=league",): "pairing is 'league'; it must be seats or round_robin",
    ("pairing=round_robin",): "players is []; pairing=round_robin needs two or more of them",
    ("pairing=round_robin", "players=[rule]"): "needs two or more",
    ("pairing=round_robin", "players=[rule,rule]"): "players names rule twice",
    ("pairing=round_robin", "players=[rule,rul]"): "player=rul does not exist; did you mean",
    ("pairing=round_robin", "players=[rule,random]", "seats.measured=all"): "needs a seat beside",
    ("pairing=round_robin", "players=[rule,random]", "agent=rule"): "pairing=round_robin has no",
    ("players=[rule,random]",): "players is for pairing=round_robin",
    ("measure=points",): "measure=points is none of this game's (known: match_score, win)",
    ("measure=win,null",): "measure takes one value a run, got null and win",
    ("game=",): "game",
}


@pytest.mark.parametrize(("overrides", "line"), MISTAKES.items(), ids=lambda x: str(x)[:40])
def test_one_line_and_status_2(
    sweep: Sweep,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    overrides: tuple[str, ...],
    line: str,
) -> None:
    assert sweep(*overrides) == 2
    captured = capsys.readouterr()
    assert line in captured.err
    assert captured.err.startswith("gauntlet: ")
    assert captured.err.count("\n") == 1
    assert not folder.exists(), "something was written"
