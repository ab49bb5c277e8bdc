"""A game that breaks the interface fails its matches in one line, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gauntlet.agents import minimax
from gauntlet.agents.base import Decision, Thinking, Turn
from gauntlet.agents.epsilon_random import EpsilonRandom
from gauntlet.agents.random import Random
from gauntlet.agents.reordered import Reordered
from gauntlet.common.errors import UserError
from gauntlet.games.drawing import draw_view
from gauntlet.games.playouts import random_playout, results, simulate
from gauntlet.models.fake import Fake
from gauntlet.pipeline import replay, verify
from gauntlet.pipeline.log.lines import check
from gauntlet.pipeline.log.schema import MatchRecord
from gauntlet.pipeline.plan import baseline
from gauntlet.pipeline.play.chains import run
from gauntlet.pipeline.play.match import play
from gauntlet.pipeline.play.scheduler import FEW, Scheduler
from tests.pipeline.asking import cell_of, fakes_reply, tasks_of
from tests.pipeline.conftest import Capsys, Refusal, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.records import decided, ended
from tests.pipeline.rude import VALUES, Drawn, Plain, Rude

FAULTS = {
    "to_move": ("seat", "list", "absent", "below", "twice", "bool", "none", "number", "text"),
    "legal": ("empty", "same", "floats", "int64", "strings", "bool", "list", "none", "seat"),
    "observe": ("none", "text", "empty"),
    "options": (*("empty", "few", "numbers", "none", "list", "text", "alike", "break", "spaced"),),
    "facts": ("empty", "none", "strings", "twins"),
    "returns": (
        *("three", "one", "none", "number", "text", "bool", "not_a_number", "infinite"),
        *("nothing", "strings", "empty"),
    ),
    "measure": ("none", "many", "other", "empty", "far"),
}
LAST = {"returns", "measure"}
RANDOM = Random()
GAME = ("game=tic_tac_toe", "~game.size", "~game.win_length", "packages=[tests]", "agent=random")
RUDE = (*GAME, "game._target_=tests.pipeline.rude.Rude", "measure=win", "model=fake")


def words(method: str, value: str, at: int) -> tuple[str, ...]:
    return (*RUDE, f"+game.method={method}", f"+game.value={value}", f"+game.at={at}")


@dataclass(frozen=True)
class Odd:
    """Asks these questions, then decides for the value."""

    value: Any
    questions: tuple[Any, ...] = ()

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        yield from self.questions
        decision: Decision = self.value
        return decision


@dataclass(frozen=True)
class Plainly:
    """Forgets to be a generator."""

    def decide(self, turn: Turn, rng: np.random.Generator) -> Any:
        return Decision(0)


def played(game: Plain, agent: Any = RANDOM) -> list[MatchRecord | UserError]:
    """What becomes of some matches of these players."""
    cell, ends = cell_of(game, (agent, Fake()), (agent, Fake())), list[MatchRecord | UserError]()
    for task in tasks_of(cell, 12):
        try:
            ends.append(run(play(cell, task, 1), fakes_reply))
        except UserError as error:
            ends.append(error)
    return ends


@pytest.mark.parametrize(
    ("method", "value"), [(name, value) for name in FAULTS for value in FAULTS[name]]
)
def test_a_wrong_value_is_the_games_fault(method: str, value: str) -> None:
    game = Rude(method=method, value=value, at=3 if method in LAST else 1)
    ends = played(game)
    faults = {str(one) for one in ends if isinstance(one, UserError)}
    assert 0 < sum(isinstance(one, MatchRecord) for one in ends) < len(ends)
    (fault,) = faults
    name = "observe" if method in ("options", "facts") or value == "same" else method
    assert fault.startswith(f"Rude.{name} ")
    shown = ("left", "right") if value == "same" else VALUES[value]
    if value == "twins":
        shown = ("Steps", "Steps")
    if value in ("many", "far"):
        shown = shown["score"]
    assert repr(shown) in fault
    assert "; it must be " in fault
    assert "\n" not in fault


@pytest.mark.parametrize("value", ["five", "two", "draw", "half"])
def test_returns_of_a_game_that_counts_nothing(value: str) -> None:
    """From -1 to 1, and 0 only for a draw that the game declares."""
    game = Plain(method="returns", value=value, at=3)
    faults = {str(one) for one in played(game) if isinstance(one, UserError)}
    (fault,) = faults
    assert fault.startswith(f"Plain.returns returned {tuple(map(float, VALUES[value]))}; it must ")
    drawn = played(Drawn(method="returns", value=value, at=3))
    assert any(isinstance(one, UserError) for one in drawn) == (value != "draw")


UNPLAYED = [
    *(("to_move", value) for value in FAULTS["to_move"]),
    *(("legal", value) for value in FAULTS["legal"] if value != "same"),
    *(("returns", value) for value in (*FAULTS["returns"], "five", "two")),
]


@pytest.mark.parametrize(("method", "value"), UNPLAYED)
def test_a_wrong_value_is_the_games_fault_in_playouts_too(method: str, value: str) -> None:
    """Of baselines, luck and searches."""
    game = Rude(method=method, value=value, at=3 if method in LAST else 1)
    state = game.deal(np.random.default_rng(0))
    for attempt in (
        lambda: simulate(game, ("random",) * 2, 12, 0),
        lambda: results(game, state, 0, ("random",) * 2, 12, 0, hidden=False),
        lambda: [*map(random_playout(game), [state] * 12, [np.random.default_rng(1)] * 12)],
        lambda: minimax.outcome(game, state),
    ):
        with pytest.raises(UserError, match=rf"^Rude\.{method} returned .*; it must be "):
            attempt()


@pytest.mark.parametrize("value", ["none", "other", "many", "far"])
def test_a_wrong_measure_is_the_games_fault_in_a_baseline_too(value: str) -> None:
    game = Rude(method="measure", value=value, at=3)
    cell = replace(cell_of(game, (Random(), None), (Random(), None)), baseline="random")
    with pytest.raises(UserError, match=r"^Rude\.measure .*; it must be "):
        baseline.measure(replace(cell, measure="score"), 1)


HALVES: Any = np.ones(2) / 2


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "decide returned None; it must be a Decision"),
        (0, "decide returned 0; it must be a Decision"),
        (Decision(7), "decide returned the option 7; it must be an int from 0 to 1"),
        (Decision(-1), "decide returned the option -1; it must be an int from 0 to 1"),
        (Decision(np.int64(1)), "decide returned the option np.int64(1); it must be an int"),
        (Decision(True), "decide returned the option True; it must be an int from 0 to 1"),
        (
            Decision(0, scores=(1.0,)),
            "decide returned scores (1.0,); it must be (), or a tuple",
        ),
        (Decision(0, scores=(1.0, float("nan"))), "decide returned scores (1.0, nan); it must"),
        (Decision(0, scores=HALVES), "decide returned scores array([0.5, 0.5]); it must be ()"),
        (Decision(0, chances=HALVES), "decide returned chances array([0.5, 0.5]); it must be ()"),
        (Decision(0, chances=(0.3, 0.3)), "decide returned chances (0.3, 0.3); it must be (), or"),
        (Decision(0, status="great"), "decide returned the status 'great'; it must be one of"),  # type: ignore[arg-type]
        (Decision(0, attempts=-1), "decide returned the attempts -1; it must be an int from 0"),
        (Decision(0, notes=[1]), "decide returned notes [1]; it must be a mapping"),  # type: ignore[arg-type]
        (Decision(0, forfeit=True), "decide returned forfeit True; it must be False: "),
    ],
    ids=repr,
)
def test_a_wrong_decision_is_the_agents_fault(value: Any, line: str) -> None:
    for agent in (Odd(value), EpsilonRandom(Odd(value), 0.0), Reordered(Odd(value))):
        (fault,) = {str(end) for end in played(Rude(), agent)}
        assert fault.startswith(f"Odd.{line}")


@pytest.mark.parametrize("question", ["hello?", None, ["a"], ("a",)], ids=repr)
def test_a_question_that_is_no_request_is_the_agents_fault(question: Any) -> None:
    (fault,) = {str(end) for end in played(Rude(), Odd(Decision(0), (question,)))}
    assert fault.startswith(f"Odd.decide yielded {question!r}; it must be a request ")


def test_an_agent_that_is_no_generator_is_named() -> None:
    (fault,) = {str(end) for end in played(Rude(), Plainly())}
    assert fault.startswith("Plainly.decide returned Decision(option=0")
    assert "; it must be a generator: " in fault


@pytest.mark.parametrize("value", ["whole", "numpy", "float32"])
def test_numbers_of_any_type_are_recorded_as_floats(value: str) -> None:
    for record in played(Rude(method="returns", value=value, at=3)):
        assert isinstance(record, MatchRecord)
        assert {type(worth) for worth in record.returns} == {float}
        check(record)
    for record in played(Rude(method="measure", value="figures", at=3)):
        assert isinstance(record, MatchRecord)
        assert {type(one) for one in record.measures["score"]} == {float}


def test_what_is_played_is_recorded_and_the_rest_is_a_line(
    sweep: Sweep, folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_PACKAGES", "tests")
    assert sweep(*words("returns", "three", 3), "deals=12") == 0
    failed = (folder / "failed_matches.jsonl").read_text().splitlines()
    errors = {json.loads(line)["error"] for line in failed}
    (error,) = errors
    assert error.startswith("Rude.returns returned (1.0, -1.0, 0.0); it must be 2 ")
    assert len(matches(folder)) + len(failed) == 12
    assert 0 < len(failed) < 12
    assert error in capsys.readouterr().out.replace("\n", " ")
    assert verify.main([str(folder), "--replay", "all"]) == 0


@pytest.mark.parametrize(("method", "value"), [("to_move", "seat"), ("observe", "none")])
def test_a_wrong_value_of_the_deal_stops_the_run_before_play(
    method: str, value: str, sweep: Sweep, refusal: Refusal, capsys: Capsys
) -> None:
    capsys.readouterr()
    assert f"Rude.{method} returned {VALUES[value]}" in refusal(sweep(*words(method, value, 0)))


def test_a_match_that_does_not_end_is_the_games_fault() -> None:
    """After as many plies as the game itself says, or else 10,000."""
    for most in (30, 31):
        game = Rude(method="endless", max_plies=most)
        faults = [str(end) for end in played(game) if isinstance(end, UserError)]
        assert 0 < len(faults) < 12
        assert all(f"Rude is not over after {most} plies" in fault for fault in faults)
        with pytest.raises(UserError, match=f"after {most} plies"):
            simulate(game, ("random",) * 2, 12, 0)
    assert all(isinstance(end, MatchRecord) for end in played(Rude(max_plies=3)))
    assert all(isinstance(end, UserError) for end in played(Rude(max_plies=2)))


def test_a_match_of_ten_times_the_usual_length_is_noted_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cell = cell_of(Rude(method="endless", max_plies=200), (Random(), None), (Random(), None))
    cell = replace(cell, labels={"game": "rude", "seats": "solo"})
    playing = Scheduler({cell.key: cell}, 1, {}, 1)
    ends = [future.result(timeout=60) for future in playing.submit(tasks_of(cell, 80))]
    playing.close()
    endless = [at for at, end in enumerate(ends) if end.error]
    usual = [at for at, end in enumerate(ends) if not end.error]
    late = [f"match match{at} of " for at in endless if at > usual[FEW - 1]]
    notes = [record.getMessage() for record in caplog.records]
    assert len(notes) == len(late) > 5
    for note, match in zip(notes, late, strict=True):
        assert note.startswith(match)
        assert "has 31 plies" in note


@pytest.mark.parametrize(
    ("method", "value", "line"),
    [
        ("show", "raises", "Rude.show raised ZeroDivisionError: of the game"),
        ("show", "none", "Rude.show returned None; it must be str"),
        ("draw_state", "raises", "Rude.draw_state raised IndexError: tuple index out of range"),
        ("draw_state", "none", "Rude.draw_state returned None; it must be Markup"),
    ],
)
def test_what_cannot_be_drawn_is_a_line_of_its_match(
    method: str,
    value: str,
    line: str,
    sweep: Sweep,
    folder: Path,
    capsys: Capsys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GAUNTLET_PACKAGES", "tests")
    asked = [word for word in words(method, value, 2) if word != "agent=random"]
    assert sweep(*asked, "prompt=cloze", "deals=4") == 0
    pages = list((folder / "matches").glob("*.html"))
    assert len(pages) == 4
    for page in pages:
        drawn = html_of(unpacked(page.read_text()), page.stem)
        assert 'aria-label="1 steps drawn"' in drawn[1]
        assert (line in drawn[2]) == (method == "draw_state" or "steps: (0" not in drawn[2])
        assert 'aria-label="3 steps drawn"' in drawn[3]
    capsys.readouterr()
    assert replay.main([pages[0].stem, "--in", str(folder)]) == 0
    assert "steps: (" in capsys.readouterr().out


def test_a_seat_whose_view_cannot_be_drawn_gets_a_line() -> None:
    game = Rude()
    assert "Rude.draw_view raised IndexError" in draw_view(game, game.observe((), 0))


def test_notes_that_cannot_be_written_make_no_record() -> None:
    """They failed the thread that plays, and with it all matches."""
    with pytest.raises(ValueError, match="it cannot be written"):
        check(ended(decided(1, notes={"x": np.float64(1.0)})))
