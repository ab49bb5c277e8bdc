"""What a sweep tells of failures and first matches, while it plays and at its end."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from gauntlet.common.errors import ModelError, UserError
from gauntlet.models.base import Generate, Generation, Reply, Request
from gauntlet.models.fake import FakeModel
from gauntlet.pipeline import report, status, verify
from gauntlet.pipeline.compare import compare, notes
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.plan.cells import Task
from gauntlet.pipeline.play.admission import Admission
from gauntlet.pipeline.play.match import Table
from gauntlet.pipeline.sweep import preflight, run_sweep
from gauntlet.pipeline.tables.sweep.contest import load_contest
from gauntlet.pipeline.tables.sweep.verdict import saved_verdict
from tests import hostile
from tests.hostile import at_work
from tests.pipeline import habits
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import control_matches, matches


def never(request: Request) -> None:
    """No request fails."""


@dataclass
class Watched:
    """Every attempt at a match, and the fake model's failure: the error of a request, or None."""

    fails: Callable[[Request], Exception | None] = never
    tried: list[Task] = field(default_factory=list)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Record every attempt at a match, in order; replays are none."""
    seen = Watched()
    begin, answer = Table.__init__, FakeModel.answer

    def beginning(self: Table, cell: Any, task: Task, *further: Any) -> None:
        seen.tried.append(task)
        begin(self, cell, task, *further)

    def answering(self: FakeModel, requests: Sequence[Request]) -> Sequence[Reply]:
        for error in filter(None, map(seen.fails, requests)):
            raise error
        return answer(self, requests)

    monkeypatch.setattr(Table, "__init__", beginning)
    monkeypatch.setattr(FakeModel, "answer", answering)
    monkeypatch.setattr(preflight.Preflight, "_replay", lambda *_: None)
    return seen


def overflow(request: Request) -> ModelError:
    length = len(getattr(request, "prompts", ("",))[0].text)
    return ModelError(f"a prompt of {length} tokens exceeds the context of 12 of model 'tiny'")


def lines(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(word)]


def test_a_cell_whose_first_matches_fail_alike_is_stopped_and_tried_again_by_the_next_run(
    sweep: Sweep, folder: Path, capsys: Capsys, watched: Watched
) -> None:
    """Scored prompts fail, written ones do not: one cell stops, the other plays all."""
    watched.fails = lambda asked: None if isinstance(asked, Generate) else overflow(asked)
    assert sweep("prompt=cloze,direct", "deals=40", "max_failures=3") == 0
    said = capsys.readouterr().out
    (failed,) = lines(said, "failed ")
    assert re.fullmatch(
        r"failed   uno-solo-llm\.fake\.cloze: a prompt of \d+ tokens exceeds the context of 12 of "
        r"model 'tiny' \(match [0-9a-f]{16}\)",
        failed,
    )
    (stopped,) = lines(said, "stopped ")
    assert stopped == (
        "stopped  uno-solo-llm.fake.cloze: first 3 failed alike; the next run retries"
    )
    assert said.index(failed) < said.index(stopped) < said.index("played 40 of 80 matches")
    assert "played 40 of 80 matches, 3 failed, " in said
    aside = [entry["match"] for entry in Folder(folder).failed_matches]
    cell = next(task.cell for task in watched.tried if task.match in aside)
    tried = {task.deal for task in watched.tried if task.cell == cell}
    assert tried == {0, 1, 2}
    assert len(aside) == 3

    watched.fails = never
    assert sweep("prompt=cloze,direct", "deals=40", "max_failures=3") == 0
    assert len(matches(folder)) == 80
    assert not lines(capsys.readouterr().out, "failed ")


def test_on_a_terminal_each_is_one_row_of_80_columns(
    sweep: Sweep, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the cell's name and the error are, the row shows the cell and the error."""
    shown = StringIO()
    monkeypatch.setattr(
        run_sweep, "console", lambda: Console(file=shown, force_terminal=True, width=80)
    )
    watched.fails = overflow
    assert sweep("game=obfuscated_tic_tac_toe", "prompt=counterfactual", "deals=9") == 1
    rows = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).replace("\r", "\n").splitlines()
    (failed,) = {row for row in rows if row.startswith("failed ")}
    (stopped,) = {row for row in rows if row.startswith("stopped ")}
    assert max(map(len, (failed, stopped))) <= 80
    assert re.match(r"failed   ….*counterfactual: a prompt of \d+ tokens exceeds the", failed)
    assert stopped.endswith("counterfactual: first 5 failed alike; the next run retries")
    assert any("0/9, 5 failed" in row for row in rows)


def test_null_stops_no_cell(sweep: Sweep, capsys: Capsys, watched: Watched) -> None:
    watched.fails = overflow
    assert sweep("prompt=cloze", "deals=8", "max_failures=null") == 1
    said = capsys.readouterr()
    assert len(lines(said.out, "failed ")) == 1
    assert not lines(said.out, "stopped ")
    assert "played 0 of 8 matches, 8 failed, " in said.out
    assert "no match was played: all 8 failed" in said.err


def test_each_error_is_told_once_and_failures_after_a_match_stop_nothing(
    sweep: Sweep, folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = Table.turn

    def failing(self: Table, state: Any, seat: int) -> Any:
        if self.task.deal % 4:
            raise RuntimeError(f"no {('jack', 'queen')[self.task.deal % 4 == 3]}")
        return turn(self, state, seat)

    monkeypatch.setattr(Table, "turn", failing)
    assert sweep("prompt=cloze", "deals=24", "max_failures=2") == 0
    said = capsys.readouterr().out
    told = [line.partition(" (match")[0] for line in lines(said, "failed ")]
    assert sorted(told) == [
        "failed   uno-solo-llm.fake.cloze: RuntimeError: no jack",
        "failed   uno-solo-llm.fake.cloze: RuntimeError: no queen",
    ]
    assert "played 6 of 24 matches, 18 failed, " in said
    assert not lines(said, "stopped ")
    assert len(matches(folder)) == 6


def test_the_first_match_of_each_cell_is_played_before_its_others(
    sweep: Sweep, folder: Path, capsys: Capsys, watched: Watched, tmp_path: Path
) -> None:
    """In parallel; and only with a model, and if nothing was played yet."""
    assert sweep("prompt=cloze,counterfactual", "deals=5", "rotate=true") == 0
    first, second = watched.tried[:2]
    assert len({first.cell, second.cell}) == 2
    assert {(task.deal, task.rotation) for task in (first, second)} == {(0, 0)}
    assert max(Counter(task.match for task in watched.tried).values()) == 1
    (told,) = lines(capsys.readouterr().out, "preflight")
    assert re.fullmatch(r"preflight 20 matches: at most \d+ s, [\d.]+k tokens", told)
    assert len(told) <= 80
    assert sweep("prompt=cloze,counterfactual", "deals=6", "rotate=true") == 0
    assert sweep("agent=rule", f"output_dir={tmp_path / 'scripted'}") == 0
    assert not lines(capsys.readouterr().out, "preflight")


def test_others_do_not_wait_long_for_a_slow_first_match(
    sweep: Sweep, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request of the first match takes a second; the patience is a tenth of that."""
    begun: list[int] = []

    def slowly(request: Request) -> None:
        if not begun:
            begun.append(len(watched.tried))
            time.sleep(1.0)
            begun.append(len(watched.tried))

    watched.fails = slowly
    monkeypatch.setattr(preflight, "PATIENCE", 0.1)
    assert sweep("prompt=cloze", "deals=5") == 0
    assert begun[0] == 1 < begun[1]


def test_unreadable_replies_are_told_after_the_first_match(
    sweep: Sweep, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        FakeModel, "answer", lambda self, requests: [Generation("hm", 9, 1) for _ in requests]
    )
    assert sweep("prompt=direct", "game=tic_tac_toe") == 0
    unreadable, expected = lines(capsys.readouterr().out, "preflight")
    found = re.fullmatch(
        r"preflight (\d+) of (\d+) replies unreadable in tic_tac_toe-solo-llm\.fake\.direct",
        unreadable,
    )
    assert found
    assert found.group(1) == found.group(2)
    assert expected.startswith("preflight 6 matches: at most ")


PRICED = ("model.price_in=10", "model.price_out=30")


@pytest.mark.usefixtures("key")
def test_a_paid_sweep_is_told_what_it_will_cost(
    sweep: Sweep, capsys: Capsys, tmp_path: Path
) -> None:
    """As many matches at the cost of the first: the final cost is near it."""
    with at_work(hostile.good) as (url, _):
        asked = ("model=openai", "model.name=m", f"model.base_url={url}", "prompt=cloze")
        where = (f"model.cache={tmp_path / 'replies.sqlite'}", "model.scores=sampled")
        plain = ("model.endpoint=completions", "model.samples=1", "game=tic_tac_toe")
        assert sweep(*asked, *where, *plain, *PRICED, "deals=12") == 0
    said = capsys.readouterr().out
    told = lines(said, "preflight")[-1]
    found = re.fullmatch(r"preflight 12 matches: about .+, [\d.]+k? tokens, cost ([\d.]+)", told)
    assert found, told
    paid = re.search(r"; ([\d.]+) paid", said)
    assert paid
    assert float(found.group(1)) == pytest.approx(float(paid.group(1)), rel=0.5)


def admitted(admission: Admission) -> Iterator[str]:
    """Return the next tasks as "cell deal", until the others must wait."""
    for task in admission.tasks():
        if task is None:
            return
        yield f"{task.cell} {task.deal}"


def queue(cell: str, deals: int = 20) -> Iterator[Task]:
    return (Task(cell, deal, 0, f"{cell}{deal}") for deal in range(deals))


def test_a_cell_whose_first_match_fails_is_let_on_by_few_until_one_is_played() -> None:
    """By `max_failures`, or by that many per kind of error, since one kind must then reach it."""
    admission = Admission([queue("a"), queue("b", 2)], {"a", "b"}, max_failures=3)
    first = Task("a", 0, 0, "a0")
    assert list(admitted(admission)) == ["a 0", "b 0"]
    assert not admission.failed(first, "overflow")
    assert not admission.failed(first, "overflow"), "a match counts once"
    assert list(admitted(admission)) == ["a 1", "a 2"]
    assert not admission.failed(Task("a", 1, 0, "a1"), "timeout")
    assert list(admitted(admission)) == ["a 3", "a 4", "a 5"]
    admission.played("b")
    assert list(admitted(admission)) == ["b 1"]
    assert not admission.failed(Task("a", 2, 0, "a2"), "overflow")
    assert admission.failed(Task("a", 3, 0, "a3"), "overflow")
    assert admission.stopped == {"a"}
    assert list(admission.tasks()) == []


def test_one_match_that_is_played_lets_all_others_on() -> None:
    admission = Admission([queue("a")], {"a"}, max_failures=2)
    assert list(admitted(admission)) == ["a 0"]
    admission.failed(Task("a", 0, 0, "a0"), "lost")
    assert list(admitted(admission)) == ["a 1"]
    admission.played("a")
    assert not admission.failed(Task("a", 2, 0, "a2"), "lost")
    assert len(list(admission.tasks())) == 18


# --- failed matches


ALL = {0: "no [jack]", **dict.fromkeys(range(1, 6), "no [queen]\nor king")}


def fail(monkeypatch: pytest.MonkeyPatch, errors: Mapping[int, str]) -> None:
    """The matches of these deals fail."""
    turn = Table.turn

    def failing(self: Table, state: Any, seat: int) -> Any:
        if self.task.deal in errors:
            raise RuntimeError(errors[self.task.deal])
        return turn(self, state, seat)

    monkeypatch.setattr(Table, "turn", failing)


def one_line(text: str) -> str:
    return " ".join(text.split())


def summary(folder: Path) -> Any:
    return pd.read_csv(folder / "summary.csv", keep_default_na=False)


def test_a_run_without_a_match_is_no_success(
    sweep: Sweep, folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Status 1 and one line with the cause; the tables are there all the same."""
    fail(monkeypatch, ALL)
    assert sweep("prompt=cloze,counterfactual", "controls=auto") == 1
    said = capsys.readouterr()
    assert said.err == (
        "gauntlet: no match was played: all 12 failed, "
        "most often (10) RuntimeError: no [queen]; "
        f"see {folder / 'failed_matches.jsonl'}\n"
    )
    assert list(summary(folder)["matches"]) == [0, 0]
    assert list(summary(folder)["failed"]) == [6, 6]
    warned = "6 of 6 matches failed, most often (5) RuntimeError: no [queen]"
    assert list(summary(folder)["warning"]) == [warned] * 2
    assert f"WARNING fake cloze: {warned}" in one_line(said.out)
    assert "Traceback" not in said.out
    assert (folder / "report.html").exists()
    assert not control_matches(folder), "there is nothing to compare them with"
    found = Folder(folder).status
    assert found is not None
    assert found["state"] == "failed"
    assert status.main([str(folder)]) == 0
    assert "no match was played: all 12 failed" in one_line(capsys.readouterr().out)


def test_a_cell_tells_how_many_and_why(
    sweep: Sweep, folder: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of six matches fail: a success, with one line that says so."""
    fail(monkeypatch, {1: "no [jack]", 4: "no [jack]"})
    assert sweep("prompt=cloze") == 0
    line = "2 of 6 matches failed, always (2) RuntimeError: no [jack]"
    said = capsys.readouterr()
    assert f"WARNING fake cloze: {line}" in one_line(said.out)
    assert said.err == ""
    assert summary(folder)["warning"][0].startswith(line)
    assert report.main([str(folder)]) == 0
    assert line in one_line(capsys.readouterr().out)
    assert line in (folder / "report.html").read_text()


def test_what_a_later_run_plays_counts_as_failed_no_more(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, ALL)
        assert sweep("prompt=cloze", "deals=2") == 1
    with monkeypatch.context() as patched:
        fail(patched, {0: "no ace"})
        assert sweep("prompt=cloze") == 0
    line = "1 of 6 matches failed, always (1) RuntimeError: no ace"
    assert summary(folder)["warning"][0].startswith(line)
    assert sweep("prompt=cloze", "deals=6") == 0
    assert list(summary(folder)["failed"]) == [0]
    assert "failed" not in summary(folder)["warning"][0]


HABIT = ("agent=fixed", "~agent.place", "agent._target_=tests.pipeline.habits")
REMEMBERING = (*HABIT[:2], f"{HABIT[2]}.Remembering")
LEARNING = (*HABIT[:2], f"{HABIT[2]}.Learning")
OWN = ("game=tic_tac_toe", "packages=[tests]")


def replayed(text: str) -> list[str]:
    return [line for line in lines(text, "preflight") if "played again" in line]


def test_an_agent_with_state_of_its_own_between_matches_is_named(
    sweep: Sweep, capsys: Capsys
) -> None:
    """Once, though it is in two cells; the others of the sweep are not."""
    assert sweep(*OWN, *REMEMBERING, "seats.0.agent=random,first", "deals=2") == 0
    (line,) = replayed(capsys.readouterr().out)
    assert "seat 1 (fixed" in line
    assert re.search(r"decisions\.\d\.chosen is \d, not \d", line)


def unclaimed(folder: Path) -> list[bool]:
    """Of every cell of the summary, whether it has no p and a warning that says why."""
    rows = summary(folder)
    return [
        row["p"] == row["p_holm"] == "" and "not reproducible" in row["warning"]
        for _, row in rows.iterrows()
    ]


def test_nothing_is_claimed_about_an_agent_with_state_by_any_reader_of_the_folder(
    sweep: Sweep, folder: Path, tmp_path: Path, capsys: Capsys
) -> None:
    """The finding is kept: by `report`, a run that goes on, `compare` and `ratings`."""
    assert sweep(*OWN, *REMEMBERING, "seats.0.agent=random,first", "deals=50") == 0
    kept = Folder(folder).unrepeatable
    assert {*kept} == {about.key for about in Folder(folder).all_cells()}
    assert unclaimed(folder) == [True, True]
    (folder / "summary.csv").unlink()
    assert report.main([str(folder)]) == 0
    assert unclaimed(folder) == [True, True]
    assert "Nothing is claimed about" in (folder / "report.html").read_text()
    assert all("Nothing is claimed" in line for line in saved_verdict(folder))
    assert sweep(*OWN, *REMEMBERING, "seats.0.agent=random,first", "deals=60") == 0
    assert unclaimed(folder) == [True, True]
    assert Folder(folder).unrepeatable == kept
    other = tmp_path / "other"
    seats = ("seats.0.agent=random,first", "agent=random", f"output_dir={other}")
    assert sweep(*OWN, *seats, "deals=60") == 0
    assert unclaimed(other) == [False, False]
    compared = compare(folder, other)
    assert compared["pairs"]["p"].isna().all()
    assert len(notes(compared)) == 1
    with pytest.raises(UserError, match="2 cells left out"):
        load_contest([folder]).check("half")


def test_state_that_matters_only_later_shows_in_the_last_matches(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep(*OWN, *LEARNING, "deals=100") == 0
    assert len(replayed(capsys.readouterr().out)) == 1
    assert unclaimed(folder) == [True]


def test_state_of_a_module_that_has_settled_shows_in_the_first_match(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    """No copy has it, and all later matches are alike."""
    habits.TURNS.clear()
    assert sweep(*OWN, *HABIT[:2], f"{HABIT[2]}.Settling", "deals=60", "concurrent_matches=1") == 0
    assert len(replayed(capsys.readouterr().out)) == 1
    assert unclaimed(folder) == [True]


def test_verify_replays_every_match_with_players_that_remember_none(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the log a remembering player would repeat all its matches."""
    assert sweep(*OWN, *REMEMBERING, "deals=20", "concurrent_matches=1") == 0
    monkeypatch.setenv("GAUNTLET_PACKAGES", "tests")
    assert verify.main([str(folder), "--replay", "all"]) == 1


@pytest.fixture
def remembering(tmp_path: Path) -> str:
    """The player `mine`, which has state of its own."""
    (tmp_path / "conf" / "player").mkdir(parents=True)
    player = "agent: {_target_: tests.pipeline.habits.Remembering}\n"
    (tmp_path / "conf" / "player" / "mine.yaml").write_text(player)
    return f"--config-dir={tmp_path / 'conf'}"


def test_a_round_robin_claims_nothing_about_an_agent_with_state(
    sweep: Sweep, folder: Path, remembering: str
) -> None:
    robin = ("pairing=round_robin", "players=[mine,random,first]")
    assert sweep(*OWN, *robin, remembering, "deals=20") == 0
    assert sorted(unclaimed(folder)) == [False, True, True]
    shared = pd.read_csv(folder / "shared_opponents.csv")
    assert shared[["low", "high"]].isna().all(axis=None)


def test_an_adaptive_sweep_claims_nothing_about_an_agent_with_state(
    sweep: Sweep, folder: Path, remembering: str
) -> None:
    pair = ("pairing=adaptive", "players=[mine,minimax]", "verdict=pair", "round_deals=8")
    assert sweep(*OWN, *pair, remembering, "deals=40") == 0
    (row,) = pd.read_csv(folder / "tournament.csv").to_dict("records")
    assert row["verdict"] == "open"
    assert len(Folder(folder).rounds) == 1, "no round follows"


@pytest.mark.parametrize(
    "played", ["prompt=cloze", "prompt=tot", "agent=random", "agent=uct agent.playouts=4"]
)
def test_players_that_keep_nothing_are_not(sweep: Sweep, capsys: Capsys, played: str) -> None:
    assert sweep("game=tic_tac_toe", *played.split(), "deals=2") == 0
    assert not replayed(capsys.readouterr().out)


def test_notes_that_decide_nothing_may_differ(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    """Nor do they draw the blame that is another player's."""
    noting = (*HABIT[:2], f"{HABIT[2]}.Noting")
    assert sweep(*OWN, *noting, "deals=2") == 0
    assert not replayed(capsys.readouterr().out)
    opponent = "{_target_: tests.pipeline.habits.Remembering}"
    other = (f"seats.0.agent={opponent}", f"output_dir={folder.parent / 'other'}")
    assert sweep(*OWN, *noting, *other, "deals=2") == 0
    (line,) = replayed(capsys.readouterr().out)
    assert "seat 0 (" in line


def test_the_replay_asks_no_model(
    sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the replies of the record."""
    answer, asked = FakeModel.answer, list[Request]()

    def answering(self: FakeModel, requests: Sequence[Request]) -> Sequence[Reply]:
        asked.extend(requests)
        return answer(self, requests)

    monkeypatch.setattr(FakeModel, "answer", answering)
    assert sweep(*OWN, "prompt=cloze", "deals=2") == 0
    decisions = [made for match in matches(folder).values() for made in match.decisions]
    assert len(asked) == sum(len(made.asked) for made in decisions)
