"""A person at a page: whole matches, two pages at one table, and what is left of a table that
nobody sits at any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nicegui.testing import User
from nicegui.testing.user_simulation import user_simulation

from pipeline import replay, verify
from pipeline.log.folder import Folder
from pipeline.pages import play, site
from pipeline.pages.at_table import Shown
from pipeline.pages.play import Wish
from pipeline.pages.said import Asked, answer
from pipeline.pages.table import Table

PATIENCE = 60
"""Seconds that a process may take to start, or to end."""

TIC_TAC_TOE = Wish(game="tic_tac_toe", others={0: "random"}, model="fake")


@asynccontextmanager
async def visitor(outputs: Path) -> AsyncIterator[User]:
    async with user_simulation() as user:
        site.register(outputs)
        yield user


async def until(come: Callable[[], Any]) -> Any:
    """What comes, once it does."""
    for _ in range(PATIENCE * 20):
        if found := come():
            return found
        await asyncio.sleep(0.05)
    raise AssertionError("nothing came")


def test_a_whole_match_is_played_and_its_record_read_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second page looks on; then whoever plays leaves in the middle of the second match."""
    tables: list[Table] = []

    async def visit() -> None:
        async with visitor(tmp_path) as user:
            await user.open("/play")
            user.find("Sit down").click()
            table = await until(lambda: next(iter(tables), None))
            await user.open(f"/play/{table.id}")
            await until(lambda: table.asked)
            other = Shown(table)
            while not table.over:
                asked = await until(lambda: table.over or table.asked)
                if isinstance(asked, Asked):
                    names = asked.observation.options
                    assert len(names) > 1
                    await user.should_see(f"1  {names[0]}", retries=20)
                    user.find(f"1  {names[0]}").click()
                    with user:
                        other._say(asked, 1)
                    assert "another page has answered that already" in user.notify.messages
            await user.should_see("The match, move by move", retries=50)
            await user.should_see("The match is over", retries=20)
            user.find("Next deal").click()
            await user.should_see("It is your turn", retries=50)
            assert table.asked is not None
            assert table.answer(answer(table.asked, 0))
            await until(lambda: table.asked)
            user.find("Leave the table").click()
            await asyncio.to_thread(table.wait, PATIENCE)
            assert table.ended == "the table was left; what was finished is kept"
            await user.should_see("The table is closed", retries=20)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(play, "Wish", lambda: TIC_TAC_TOE)
        patch.setattr(play, "Table", lambda *given: tables.append(Table(*given)) or tables[0])
        asyncio.run(visit())

    (folder,) = tmp_path.iterdir()
    assert folder.name == "play-tic_tac_toe-0_random"
    (record,) = Folder(folder).matches()
    own = [made for made in record.decisions if made.seat == 1 and not made.forced]
    assert {made.chosen for made in own} == {0}
    assert all(len(made.asked) == 1 and not made.fallback for made in own)
    assert verify.main([str(folder)]) == 0
    assert replay.main([record.match, "--in", str(folder)]) == 0
    assert "player 1 plays C1R" in capsys.readouterr().out
    assert (folder / "summary.csv").exists()
