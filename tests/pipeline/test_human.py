"""A person plays, at a page or at the terminal: whole matches, two pages at one table, and whoever
leaves."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from nicegui.testing import User

from gauntlet.agents.base import Goal, Turn
from gauntlet.common.errors import ModelError
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.games.drawing import draw_view
from gauntlet.games.hive import Hive
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.pipeline import replay, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.pages import play
from gauntlet.pipeline.pages.comparison import scores
from gauntlet.pipeline.pages.frame import choices
from gauntlet.pipeline.pages.messages import Answer, PersonTurn, answer
from gauntlet.pipeline.pages.places import Moves, place_moves, with_buttons
from gauntlet.pipeline.pages.play import NOBODY, Wish
from gauntlet.pipeline.pages.seat import Line
from gauntlet.pipeline.pages.table import Table
from gauntlet.pipeline.pages.table_page import TableView
from tests.pipeline.composing import composed
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.paged import visit

PATIENCE = 60
"""Seconds that a process may take to start, or to end."""

LAID = Wish(game="tic_tac_toe", others={0: "random"}, model="fake")


async def until(come: Callable[[], Any]) -> Any:
    """Return the next message, once it arrives."""
    for _ in range(PATIENCE * 20):
        if found := come():
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("nothing came")


def test_a_whole_match_is_played_and_its_record_read_back(tmp_path: Path, capsys: Capsys) -> None:
    """A second page watches; then the player leaves in the middle of the second match."""
    tables: list[Table] = []

    async def act(user: User) -> None:
        await user.open("/play")
        user.find("Sit down").click()
        table = await until(lambda: next(iter(tables), None))
        await user.open("/play")  # as after closing its page
        user.find("Sit down").click()
        await user.should_see("Leave the table", retries=20)
        assert tables == [table]
        await user.open(f"/play/{table.id}")
        await until(lambda: table.asked)
        other = TableView(table)
        while not table.over:
            asked = await until(lambda: table.over or table.asked)
            if isinstance(asked, PersonTurn):
                names = asked.observation.options
                assert len(names) > 1
                await user.should_see(f"1  {names[0]}", retries=20)
                user.find(f"1  {names[0]}").click()
                with user:
                    other._say(asked, 1)
                assert "another page has answered that already" in user.notify.messages
        await user.should_see("The match, move by move", retries=50)
        await user.should_see("The match is over", retries=20)
        await user.should_see("on the same cards", retries=200)
        user.find("Next deal").click()
        await user.should_see("It is your turn", retries=50)
        assert table.asked is not None
        assert table.answer(answer(table.asked, 0))
        await until(lambda: table.asked)
        user.find("Leave the table").click()
        await asyncio.to_thread(table.wait, PATIENCE)
        assert table.ended == "it was left; what was finished is kept"
        await user.should_see("The table is closed", retries=20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(play, "Wish", lambda configs: LAID)
        patch.setattr(play, "Table", lambda *given: tables.append(Table(*given)) or tables[0])
        visit(tmp_path, act)

    (folder,) = tmp_path.iterdir()
    assert folder.name == "play-tic_tac_toe-0_random"
    cells = {about.players[1]: about.stem for about in Folder(folder).sweep_cells()}
    (record,) = Folder(folder).matches(cells["human"])
    own = [made for made in record.decisions if made.seat == 1 and not made.forced]
    assert {made.chosen for made in own} == {0}
    assert all(len(made.asked) == 1 and not made.fallback for made in own)
    assert verify.main([str(folder)]) == 0
    assert replay.main([record.match, "--in", str(folder)]) == 0
    assert "player 1 plays C1R" in capsys.readouterr().out
    assert (folder / "summary.csv").exists()


def test_whoever_is_gone_interrupts_the_run_and_an_answer_to_an_old_question_is_nobodys() -> None:
    killed: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "kill", lambda _, number: killed.append(number))
        page, theirs = Pipe()
        line = Line(theirs)
        line.turn = turn()
        page.send(Answer(0, ("3",)))
        page.send(Answer(1, ("2", "so be it")))
        assert [line.line(""), line.line("")] == ["2", "so be it"]
        asked = page.recv()
        assert (asked.number, asked.observation.seat) == (1, 0)
        line.cancel()
        with pytest.raises(ModelError, match="nobody is at the page"):
            line.line("")
        page.recv()
        page.close()
        line.hearing.join(PATIENCE)
    assert killed == [signal.SIGINT]


def turn() -> Turn:
    game = TicTacToe()
    state = game.deal(np.random.default_rng(0))
    return Turn(game, game.legal(state, 0), Goal(), lambda: game.observe(state, 0))


def test_words_go_with_their_option_and_alone_where_there_is_no_other() -> None:
    game = TicTacToe()
    seen = game.observe(game.deal(np.random.default_rng(0)), 0)
    spoken = TextAction(0, TextSpec("a greeting", ("hello",)))
    alone, among = (PersonTurn(7, game, seen, options, 0) for options in ((spoken,), (spoken, 1)))
    assert answer(alone, 0, "hello") == Answer(7, ("hello",))
    assert answer(among, 0, "hello") == Answer(7, ("1", "hello"))
    assert answer(among, 1) == Answer(7, ("2",))


class Still(Table):
    """A table without a process."""

    def __init__(self, question: PersonTurn) -> None:
        self.ended, self.changes, self._answering = None, 0, threading.Lock()
        self.asked, self.over, self.sent = question, None, list[object]()

    def send(self, message: object) -> None:
        self.sent.append(message)


def test_a_move_of_two_places_is_taken_by_the_second_and_only_fitting_ones_are_offered() -> None:
    game = Hive()
    state = game.play(game.deal(np.random.default_rng(0)), [game.legal(EMPTY, 0)[0]])
    seen = game.observe(state, 1)
    asked = PersonTurn(1, game, seen, game.legal(state, 1), 0)
    markup, table = draw_view(game, seen), Still(asked)
    view = TableView(table)
    press = partial(view.press_place, asked, place_moves(markup, "then"))
    first = offered(markup, seen.options)
    assert first["bQ: 6 moves"] == tuple(range(6))
    press(first["bQ: 6 moves"])
    then = offered(markup, seen.options, view.chosen)
    assert then == {"bQ: 6 moves": first["bQ: 6 moves"]} | {
        name: (move,) for move, name in enumerate(seen.options[:6])
    }
    press(then["bQ: 6 moves"])
    assert view.chosen == ()
    press(first["bQ: 6 moves"])
    press(then[seen.options[4]])
    assert table.sent == [Answer(1, ("5",))]
    press(then[seen.options[4]])
    assert len(table.sent) == 1


EMPTY = Hive().deal(np.random.default_rng(0))


def offered(markup: Markup, names: Sequence[str], chosen: Moves = ()) -> dict[str, Moves]:
    """Return the moves of every button, by its accessible name."""
    found = re.findall(
        r'role="button" [^>]*aria-label="([^"]+)" data-moves="([^"]+)"',
        with_buttons(markup, names, chosen),
    )
    return {name: tuple(map(int, moves.split())) for name, moves in found}


def test_scores_are_paired_with_all_who_played_the_same_deals(sweep: Sweep, tmp_path: Path) -> None:
    def played(name: str, agents: str, *more: str) -> Folder:
        game = ("experiment=play", "game=tic_tac_toe", "seats.0.player=random", "model=fake")
        assert sweep(*game, f"agent={agents}", f"output_dir={tmp_path / 'runs' / name}", *more) == 0
        return Folder(tmp_path / "runs" / name)

    own = played("own", "random,greedy", "deals=3", "controls=[]")
    played("elsewhere", "first", "deals=2", "controls=[]")
    played("other_cards", "first", "deals=3", "seed=2", "controls=[]")
    stems = {one.players[1]: one.stem for one in own.sweep_cells()}
    records = {name: list(own.matches(stem)) for name, stem in stems.items()}
    score = {
        name: [0.5 + one.returns[1] / 2 for one in sorted(found, key=lambda one: one.deal)]
        for name, found in records.items()
    }
    last = next(one for one in records["random"] if one.deal == 2)
    assert scores(own, last) == [
        f"You {sum(score['random']):g} of 3, greedy {sum(score['greedy']):g} of 3 on the same cards"
    ]
    first = next(one for one in records["random"] if one.deal == 0)
    (elsewhere,) = scores(own, first)[1:]
    assert elsewhere.startswith(f"You {sum(score['random'][:2]):g} of 2, first ")


def test_a_table_that_cannot_be_laid_says_why(tmp_path: Path) -> None:
    table = Table("chess", ["experiment=play", "game=chess", f"output_dir={tmp_path}"])
    table.wait(PATIENCE)
    assert table.ended is not None
    assert table.ended.startswith("game=chess does not exist")
    assert not any(tmp_path.iterdir())


def test_settings_name_the_folder_and_only_what_differs_from_the_terminals(tmp_path: Path) -> None:
    words = Wish().words(tmp_path)
    assert f"output_dir={tmp_path}/play-uno-0_llm" in words
    assert not [word for word in words if word.startswith("seats.")]
    assert "agent=human,rule" in words
    for wish, agents in (
        (Wish(game="santorini"), "human,greedy"),
        (Wish(game="watch_rps"), "human,bayes"),
        (Wish(compared="llm"), "human,llm"),
        (Wish(compared=NOBODY), "human"),
        (Wish(model="gpt_4_1"), "human"),
        (Wish(model="claude_haiku_5_5"), "human"),
        (Wish(model="gpt_4_1", others={0: "random"}), "human,rule"),
        (
            Wish(model="openai", further="model.name=theirs model.base_url=http://127.0.0.1:1"),
            "human",
        ),
        (Wish(game="chess", model="fake"), "human,random"),
    ):
        assert f"agent={agents}" in wish.words(tmp_path)
    wish = Wish(game="holdem", own=0, others={1: "tight"}, seed=4, further="game.hands=3")
    words = wish.words(tmp_path)
    assert f"output_dir={tmp_path}/play-holdem-1_tight-game.hands_3-seed_4"[:60] in str(words)
    assert {"seats.0.agent=subject", "seats.measured=0", "seats.1.player=tight"} <= set(words)


def test_games_of_the_readers_own_are_played_on_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "small.yaml").write_text("_target_: ours.grid.Small\nsize: 3\n")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "grid.py").write_text(
        "from dataclasses import dataclass\n"
        "from gauntlet.games.tic_tac_toe import TicTacToe\n\n"
        "@dataclass(frozen=True)\nclass Small(TicTacToe):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("GAUNTLET_PACKAGES", "ours")
    assert {"small", "uno"} <= {*choices("game", [tmp_path])}
    wish = Wish(game="small", others={0: "random"}, configs=[tmp_path])
    cells, _ = composed(*wish.words(tmp_path))
    assert {cell.labels["game"] for cell in cells} == {"small"}
    assert "agent=human,greedy" in wish.words(tmp_path), "its scripted player, so it was built"


# --- at the terminal


def process(folder: Path, typed: str, *overrides: str) -> subprocess.CompletedProcess[str]:
    base = ["experiment=play", f"output_dir={folder}", *overrides]
    return subprocess.run(
        [sys.executable, "-m", "gauntlet.pipeline.run", *base],
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
    )


Typing = Callable[..., str]

TIC_TAC_TOE = ("experiment=play", "game=tic_tac_toe", "model=fake")


@pytest.fixture
def typing(sweep: Sweep, monkeypatch: pytest.MonkeyPatch, capsys: Capsys) -> Typing:
    """Play in this process, to its end, with the typed input; return the output."""

    def go(typed: str, *overrides: str) -> str:
        keyboard, typist = os.pipe()
        monkeypatch.setattr("gauntlet.models.human.KEYBOARD", keyboard)
        os.write(typist, typed.encode())
        os.close(typist)
        try:
            assert sweep(*TIC_TAC_TOE, *overrides) == 0
        finally:
            os.close(keyboard)
        return capsys.readouterr().out

    return go


def test_moves_are_shown_once_and_a_slip_of_the_keyboard_is_asked_about_again(
    typing: Typing, folder: Path
) -> None:
    said = typing("nine\n0\n" + "1\n" * 50, "deals=1")
    for wrong in ("'nine'", "'0'"):
        assert f"{wrong} is not one of 1, 2, 3, 4, 5, 6, 7, 8\nYour choice (1 to 8):" in said
    (record,) = matches(folder).values()
    assert not any(made.fallback for made in record.decisions)
    moves = [made.options[made.chosen] for made in record.decisions if made.seat == 0]
    for move in moves:
        told = [line for line in said.splitlines() if line.endswith(f" {move}")]
        assert sum(line.startswith("player 0") for line in told) == 1, move


def test_whoever_leaves_can_go_on_later(typing: Typing, folder: Path) -> None:
    left = process(folder, "1\n1\n", *TIC_TAC_TOE[1:], "deals=2")
    assert left.returncode == 130, left.stderr
    said = " ".join(left.stdout.split())
    assert "2 matches are left" in said
    assert "running the same command again continues" in said
    assert "Traceback" not in left.stdout + left.stderr
    assert not (folder / "failed_matches.jsonl").exists()
    assert matches(folder) == {}
    typing("1\n" * 50, "deals=2")
    assert len(matches(folder)) == 2
