"""Observers: a sweep is played, resumed, replayed, verified and reported like any other, and a page
follows a watched match."""

from __future__ import annotations

import csv
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from nicegui import ui
from nicegui.testing import User

from gauntlet.common.sanitize import visible
from gauntlet.games.watch import drawing
from gauntlet.pipeline import replay, report, verify
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.pages import charts, observe, watcher
from gauntlet.pipeline.pages.child import Guessed, Scene
from gauntlet.pipeline.pages.observe import DRAWN, Follower, ObserverView, Wish
from gauntlet.pipeline.pages.seat import play
from tests.games.test_drawing import EVIL, Page
from tests.pipeline.conftest import Full, Refusal, Sweep
from tests.pipeline.logs import matches, raw_lines
from tests.pipeline.paged import visit

SHORT = ("game.of.rounds=16", "controls=[]")


def test_what_is_followed_is_recorded_as_in_any_run(sweep: Sweep, tmp_path: Path) -> None:
    words = [*Wish().words(tmp_path), *SHORT]
    page, theirs = Pipe()
    assert play(partial(watcher.followed, theirs), 0, words) == 0
    theirs.close()
    scene, *guesses = received(page)
    assert [scene.codes[one] for one in scene.truth] == ["H", "C"]
    assert scene.losses["union"].shape == (361,)
    assert scene.losses["union"][np.ravel_multi_index(scene.truth, (19, 19))] == 0

    (record,) = Folder(scene.folder).matches()
    said = [" ".join(scene.codes[one] for one in guess.guess) for guess in guesses]
    assert said == [made.text for made in record.decisions]
    assert [guess.shown for guess in guesses] == list(range(11, 17))
    assert [len(guess.done) for guess in guesses] == [11, 1, 1, 1, 1, 1]
    assert all(np.allclose(guess.posterior.sum(axis=1), 1) for guess in guesses)

    plain = tmp_path / "plain"
    assert sweep(*words[:-3], f"output_dir={plain}", *SHORT) == 0
    assert matches(plain) == matches(scene.folder)


def received(page: Connection) -> list[Any]:
    """Return everything received over the connection, whose other end is closed."""
    found = []
    try:
        while True:
            found.append(page.recv())
    except EOFError:
        return found


def test_only_games_of_watching_are_followed(tmp_path: Path, refusal: Refusal) -> None:
    words = ["experiment=play", "game=tic_tac_toe", "agent=random", f"output_dir={tmp_path / 'o'}"]
    seated = ["seats.0.agent=random", "model=fake"]
    assert "nobody to watch" in refusal(
        play(partial(watcher.followed, Pipe()[0]), 0, [*words, *seated])
    )


def test_players_are_the_deals_where_one_of_them_is(tmp_path: Path) -> None:
    assert "game.players=[H,C]" in Wish().words(tmp_path)
    for wish in (Wish(second=DRAWN), Wish(game="watch_uno")):
        assert "game.players=[]" in wish.words(tmp_path)
    asked = Wish(observer="llm", temperature=0.5).words(tmp_path)
    assert {"agent=llm", "model=pocket_observer", "prompt.temperature=0.5"} <= set(asked)


class Still(Follower):
    """A match whose guesses are there already."""

    def __init__(self, guesses: int = 4) -> None:
        codes = ("A", EVIL, "C")
        losses = {name: np.linspace(0, 1, 9) for name in ("union", "brier", "ev_loss")}
        self.id, self.name, self.changes, self.ended = "still", EVIL, 0, ""
        names = {"A": "does this", EVIL: EVIL, "C": ""}
        self.scene = Scene(Path("kept"), codes, names, ("1", "2"), (0, 1), losses)
        self.guesses = [self.guessed(number) for number in range(guesses)]

    def guessed(self, number: int) -> Guessed:
        sure = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
        done = (((0, "rock"), (1, EVIL)),)
        guess = (0, number % 3) if number else ()
        return Guessed(number + 1, 8, done, guess, sure, 0.5, EVIL if number == 2 else "")


def test_a_page_pauses_steps_and_shows_what_was_said_as_text() -> None:
    async def act(user: User) -> None:
        ui.page("/still")(lambda: observe.show(Still()))
        await user.open("/still")
        await user.should_see("Step 1 of 8: no guess", retries=20)
        user.find("Pause").click()
        await user.should_see("Go on", retries=20)
        for step in (2, 3):
            user.find(marker="on").click()
            await user.should_see(f"Step {step} of 8", retries=20)
        await user.should_see(f"step 3: {visible(EVIL)}")
        user.find(marker="back").click()
        await user.should_see("Step 2 of 8", retries=20)
        await user.should_not_see("step 3:")

    visit(Path(), act)
    shown = ObserverView(Still())
    for by, at in ((1, 0), (2, 2), (5, 3), (-9, 0)):
        shown.step(by)
        assert (shown.at, shown.going) == (at, False)


def test_beliefs_losses_and_steps_are_drawn_and_nothing_is_unescaped() -> None:
    still = Still()
    scene, now = still.scene, still.guesses[-1]
    assert scene is not None
    bars = Page(drawing.draw_beliefs(EVIL, scene.codes, now.posterior[0], 0, 1))
    assert bars.names.count("i") == 3
    assert "50.0%truth" in bars.words
    heat = drawing.draw_losses(scene.players, scene.codes, scene.losses["union"], (0, 1), (2, 2))
    assert heat.count('class="d-heat"') == 9
    assert heat.count('class="d-truth"') == heat.count('class="d-guess"') == 1
    chart = charts.course("losses", {EVIL: [np.nan, 0.5, np.nan, 0.25]}, 8)
    assert chart.count("M") == 2
    steps = Page(drawing.draw_steps(scene.players, [(7, now.done[0]), (8, now.done[0])]))
    assert steps.words.index("8") < steps.words.index("7")
    for page in (bars, Page(heat), Page(chart), steps):
        assert "script" not in page.names


# --- a sweep of observers


WATCH = ("game=watch_rps", "game.of.rounds=14", "seats=observer", "deals=3")
TEXTS = (
    "prompt=observe",
    r"""+model.texts=['{"guess_s1": "D", "guess_s2": "Y"}', 'I cannot say']""",
)


def records(folder: Path) -> dict[str, dict[str, object]]:
    """Return each match's result, without its duration."""
    timed = ("seconds", "device_seconds", "clock", "crc32")
    return {
        match: {key: value for key, value in one.items() if key not in timed}
        for match, one in raw_lines(folder).items()
    }


def test_observers_are_played_and_told_apart(sweep: Sweep, folder: Path, full: Full) -> None:
    players = "game.players=[H,C],[D,Y]"
    assert sweep(*WATCH, players, "agent=random,likeliest,llm", *TEXTS) == 0
    shown = full()
    (start,) = (n for n, line in enumerate(shown.splitlines()) if line.startswith("Who was named"))
    assert max(map(len, shown.splitlines()[start : start + 24])) <= 100
    warned = [one for one in " ".join(shown.split()).split("WARNING ") if "by outcomes:" in one]
    assert len(warned) == 2 * 3, "below the verdict, and below the table"
    assert all("[D,Y]" in line and "46 answers" in line for line in warned)
    with (folder / "watched.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["alike"], row["blind"]) for row in rows].count(("46.0", "1.0")) == 3
    assert {row["guesses"] for row in rows} == {"12"}
    before = records(folder)
    assert len(before) == 18
    for match, record in list(before.items())[::4]:
        again = replay.replay(match, [folder])
        assert list(again.returns) == record["returns"]
    assert verify.main([str(folder)]) == 0
    assert report.main([str(folder)]) == 0
    for file in (folder / "records").glob("*.jsonl"):  # as if it had been killed in the middle
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))
    assert sweep(*WATCH, players, "agent=random,likeliest,llm", *TEXTS) == 0
    assert records(folder) == before


def test_no_guess_is_a_fallback_and_a_null(sweep: Sweep, folder: Path) -> None:
    assert sweep(*WATCH, "agent=llm", *TEXTS) == 0
    for record in records(folder).values():
        decisions, measures = record["decisions"], record["measures"]
        assert isinstance(decisions, list)
        assert isinstance(measures, dict)
        nulls = [one for one in decisions if one["text"] == "-"]
        assert all(one["fallback"] and len(one["asked"]) == 2 for one in nulls)
        assert measures["null_rate"] == [len(nulls) / 4]
        assert all(one["text"] == "D Y" for one in decisions if one not in nulls)
