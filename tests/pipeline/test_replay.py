"""Logged matches listed, and replayed: the same moves, hands, scores and prompts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.common.errors import UserError
from gauntlet.games.base import Fact, Observation
from gauntlet.games.capabilities import add_match_score
from gauntlet.games.uno import Uno
from gauntlet.models.base import Scores
from gauntlet.pipeline import replay
from gauntlet.pipeline.log.exchanges import exchange
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import to_bytes
from gauntlet.pipeline.matches import Wanted, main, matching
from gauntlet.pipeline.viewer.match import DecisionView, decision_view
from tests.pipeline.conftest import Capsys, Once, Refusal, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.records import decided


@pytest.mark.parametrize(
    "extra", [(), ("paper_bugs=true",), ("rotate=true",), ("game=tic_tac_toe",)]
)
def test_every_match_of_a_log_can_be_played_again(
    sweep: Sweep, folder: Path, extra: tuple[str, ...]
) -> None:
    sweep("deals=3", *extra)
    for match, record in matches(folder).items():
        shown = replay.replay(match, [folder])
        assert shown.returns == tuple(record.returns)
        turns = [made for ply in shown.plies for made in ply.decisions]
        assert [made.seat for made in turns] == [d.seat for d in record.decisions]
        told = [(made.chosen, made.scores) for made in turns if made.prompts]
        assert told == [(d.chosen, tuple(d.scores)) for d in record.decisions if d.asked]


def test_the_prompts_tell_the_hand_that_is_shown(sweep: Sweep, folder: Path) -> None:
    """The cards come from the deal's seed, the prompts from the record: they must agree."""
    sweep("deals=2", "prompt=cloze", "experiment=llm_uno_coop")
    compared = 0
    for match in matches(folder):
        for ply in replay.replay(match, [folder]).plies:
            for made in ply.decisions:
                for prompt in made.prompts:
                    (told,) = (x for x in prompt.text.splitlines() if x.startswith("Your hand: "))
                    start = f"player {made.seat}: "
                    (held,) = (x for x in ply.text.splitlines() if x.startswith(start))
                    cards = held.removeprefix(start).split(", ")
                    assert sorted(told.removeprefix("Your hand: ").split(", ")) == sorted(cards)
                    compared += 1
    assert compared > 10


def test_an_unknown_match_is_one_clear_line(once: Once, folder: Path, refusal: Refusal) -> None:
    once("deals=1", "prompt=cloze")
    (match,) = matches(folder)
    said = refusal(replay.main(["nonsense", "--in", str(folder)]))
    assert f"there is, for instance, {match}" in said


def test_a_page_is_named_after_its_match_and_may_hold_a_twin(
    once: Once, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refusal: Refusal
) -> None:
    once("deals=2", "prompt=cloze,counterfactual")
    log = matches(folder)
    match, twin = (name for name, one in log.items() if one.deal == 0)
    other = next(name for name, one in log.items() if one.deal == 1)
    monkeypatch.chdir(tmp_path)
    assert replay.main([match, "--in", str(folder), "--page"]) == 0
    assert list(unpacked(Path(f"{match}.html").read_text())["matches"]) == [match]
    assert replay.main([match, "--in", str(folder), "--page", "two.html", "--twin", twin]) == 0
    both = unpacked(Path("two.html").read_text())["matches"]
    assert list(both) == [match, twin]
    said = refusal(replay.main([match, "--in", str(folder), "--page", "--twin", other]))
    assert "is not of the deal" in said
    (shown,) = both[match]["twins"]
    moves = [[ply["moves"] for ply in one["plies"]] for one in both.values()]
    at = shown["at"]
    assert moves[0][:at] == moves[1][:at]
    assert moves[0][at] != moves[1][at]


def test_a_record_of_other_rules_is_refused(sweep: Sweep, folder: Path) -> None:
    """Recorded with the published bugs, read as if without: the options differ."""
    sweep("deals=1", "prompt=cloze", "paper_bugs=true")
    (match,) = matches(folder)
    (cell,) = (folder / "cells").iterdir()
    about = json.loads(cell.read_text())
    assert about["identity"]["game"]["paper_bugs"]
    about["identity"]["game"]["paper_bugs"] = Uno().paper_bugs
    del about["crc32"]
    cell.write_bytes(to_bytes(about))
    with pytest.raises(UserError, match="another version of Uno"):
        replay.replay(match, [folder])


@pytest.mark.parametrize(
    ("words", "measure"),
    [
        (["game=holdem_hands"], "bb_per_hand"),
        (["game=tic_tac_toe"], "match_score"),
        (["game=holdem_hands", "measure=match_score"], "match_score"),
    ],
)
def test_the_end_tells_the_measure_that_the_run_counts(
    sweep: Sweep, folder: Path, capsys: Capsys, words: list[str], measure: str
) -> None:
    sweep(*words, "agent=random", "deals=1", "rotate=true", "baseline=null")
    for match, record in matches(folder).items():
        capsys.readouterr()
        assert replay.main([match, "--in", str(folder), "--page", str(folder / "end.html")]) == 0
        first, second = add_match_score(record.measures, record.returns)[measure]
        told = f"{measure}: player 0 {first:.4g}, player 1 {second:.4g}"
        assert told in " ".join(capsys.readouterr().out.split())
        assert told in html_of(unpacked((folder / "end.html").read_text()), match)[-1]


# --- match view


OPTIONS = ("green 2", "green 9", "red skip")
PRINTED = ((0.1103, 0.0758, 0.6345), (0.0609, 0.5780, 0.1877), (0.3065, 0.3936, 0.1278))
"""Fig. 3: the probabilities of the letters A, B, C under each shift of the options."""
SUMS = (0.6915, 0.2645, 1.5191)
"""Fig. 3: the cumulative scores, which the paper summed before rounding."""


def traced(method: Any, rows: Any, options: tuple[str, ...] = OPTIONS) -> DecisionView:
    """The trace of one decision with these probabilities as the model's answers to each prompt."""
    seen = Observation("UNO", 2, "Rules.", (Fact("Top card", "green skip"),), (), options)
    turn = Turn(Uno(3), tuple(range(len(options))), Goal(1), lambda: seen)
    thinking, statics = LLM(method).decide(turn, np.random.default_rng(0)), {}  # type: ignore[var-annotated]
    request = next(thinking)
    logprobs = tuple(tuple(math.log(p) if p else -math.inf for p in row) for row in rows)
    reply = Scores(logprobs, (10,) * len(rows))
    written = exchange(request, reply, statics)
    with pytest.raises(StopIteration) as stop:
        thinking.send(reply)
    decision = stop.value.value
    made = decided(
        1, options=options, scores=decision.scores, chosen=decision.option, asked=(written,)
    )
    return decision_view(made, statics)


def answers(view: DecisionView) -> list[str]:
    """Return a prompt's answers, one per line, each with its probability and its option."""
    return [
        ", ".join(
            f"{answer.word} {answer.probability:.4f}"
            + ("" if answer.option is None else f" {view.options[answer.option]}")
            for answer in prompt.answers
        )
        for prompt in view.prompts
    ]


def test_the_published_example_comes_out_as_printed() -> None:
    found = traced(Cloze(), PRINTED)
    assert found.scores == pytest.approx(SUMS, abs=0.00015)
    assert found.options[found.chosen] == "red skip"
    assert found.move == "red skip"
    assert answers(found) == [
        "A 0.1103 green 2, B 0.0758 green 9, C 0.6345 red skip",
        "A 0.0609 green 9, B 0.5780 red skip, C 0.1877 green 2",
        "A 0.3065 red skip, B 0.3936 green 2, C 0.1278 green 9",
    ]


def test_a_verdict_stands_for_no_option_and_belongs_to_its_prompt() -> None:
    rows = ((0.2, 0.1), (0.05, 0.3), (0.0, 0.1))
    found = traced(Counterfactual(), rows)
    assert found.scores == pytest.approx((0.1, -0.25, -0.1))
    assert answers(found)[::2] == ["good 0.2000, bad 0.1000", "good 0.0000, bad 0.1000"]


def test_of_two_equal_options_each_has_its_own_letters() -> None:
    rows = ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), (0.1, 0.2, 0.3))
    found = traced(Cloze(), rows, ("red 3", "red 3", "wild naming red"))
    meant = [answer.option for prompt in found.prompts for answer in prompt.answers]
    assert meant == [0, 1, 2, 1, 2, 0, 2, 0, 1]


# --- matches listed


TWO = ("game=tic_tac_toe", "prompt=cloze,counterfactual", "deals=12", "rotate=true")


@pytest.fixture
def played(once: Once) -> Path:
    return once(*TWO)


def test_every_match_is_lost_won_or_drawn_as_a_replay_shows(played: Path) -> None:
    log, listed = matches(played), {}
    for name in ("won", "drawn", "lost", "shared"):
        for line in matching(Folder(played), Wanted(results=(name,))):
            listed[line.record.match] = (name, line.players)
    assert listed.keys() == log.keys()
    assert {name for name, _ in listed.values()} == {"won", "drawn", "lost"}
    for match, (name, players) in listed.items():
        shown = replay.replay(match, [played])
        assert [one == "random" for one in players] == [one == "Random" for one in shown.players]
        (seat,) = shown.measured
        assert name == {1.0: "won", 0.0: "drawn", -1.0: "lost"}[shown.returns[seat]]


def test_a_players_losses_are_the_other_ones_wins(played: Path) -> None:
    folder = Folder(played)
    lost = [line.record.match for line in matching(folder, Wanted("random", ["lost"]))]
    won = [line.record.match for line in matching(folder, Wanted("llm", ["won"]))]
    assert lost == won != []
    cell = [line.cell for line in matching(folder, Wanted(cell="counterfactual", deal=3))]
    assert len(cell) == 2
    assert len(set(cell)) == 1
    for line in matching(folder, Wanted(fallbacks=True)):
        assert any(decision.fallback for decision in line.record.decisions)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--player", "nobody"], "no such player; there are llm.fake.cloze"),
        (["--cell", "nothing"], "no such cell"),
    ],
)
def test_a_player_or_cell_that_is_not_there_is_refused(
    words: list[str], why: str, played: Path, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    assert why in refusal(main([str(played), *words]))
    assert "holds no sweep" in refusal(main([str(played / "cells"), *words]))
