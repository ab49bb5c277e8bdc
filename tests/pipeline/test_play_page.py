"""A person at a page: whole matches, two pages at one table, and abandoned tables."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nicegui.testing import User

from gauntlet.agents.base import Goal, Turn
from gauntlet.common.errors import ModelError
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.pipeline import replay, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.pages import play
from gauntlet.pipeline.pages.child import Answer, PersonTurn, answer
from gauntlet.pipeline.pages.play import Wish
from gauntlet.pipeline.pages.seat import Line
from gauntlet.pipeline.pages.table import Table
from gauntlet.pipeline.pages.table_page import TableView
from tests.pipeline.conftest import Capsys
from tests.pipeline.paged import visit

PATIENCE = 60
"""Seconds that a process may take to start, or to end."""

TIC_TAC_TOE = Wish(game="tic_tac_toe", others={0: "random"}, model="fake")


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
        patch.setattr(play, "Wish", lambda: TIC_TAC_TOE)
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
        self.asked, self.sent = question, list[object]()

    def send(self, message: object) -> None:
        self.sent.append(message)


def test_of_two_pages_the_first_answer_to_a_question_counts() -> None:
    asked = PersonTurn(7, TicTacToe(), turn().observation, turn().options, 0)
    table = Still(asked)
    assert not table.answer(Answer(6, ("1",)))
    assert table.answer(answer(asked, 2))
    assert not table.answer(answer(asked, 3))
    assert table.sent == [Answer(7, ("3",))]


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
    wish = Wish(game="holdem", own=0, others={1: "tight"}, seed=4, further="game.hands=3")
    words = wish.words(tmp_path)
    assert f"output_dir={tmp_path}/play-holdem-1_tight-game.hands_3-seed_4"[:60] in str(words)
    assert {"seats.0.agent=subject", "seats.measured=0", "seats.1.player=tight"} <= set(words)
