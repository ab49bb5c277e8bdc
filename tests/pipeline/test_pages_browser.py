"""The pages in headless Chromium: opened, clicked through, a run watched to its end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.schema import MatchRecord
from tests.pipeline.browsed import CHROMIUM, PATIENCE, faults
from tests.pipeline.logs import matches
from tests.pipeline.paged import SCRIPT, played, several

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")
EVERYWHERE = ("/", "/run?name=whole", "/matches?run=whole", "/play")

LONG = 6_000
"""Deals of a run that lasts for a few refreshes of the pages."""
WATCH = """() => {
    window.seen = [];
    const watch = () => window.seen.push(document.querySelector("main").innerText);
    new MutationObserver(watch).observe(document.body, {subtree: true, childList: true});
}"""
"""Records everything shown on the page since."""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return several(tmp_path_factory.mktemp("outputs"))


@pytest.fixture(scope="module")
def server(outputs: Path) -> Iterator[str]:
    """Return the address of the pages; checks that they stop when told to."""
    command = [sys.executable, "-m", "pipeline.pages", str(outputs), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        yield line.split()[-1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) in (0, -signal.SIGTERM)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as player:
        chromium = player.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Open]:
    """Open a page. At the end, no request went to other hosts, and no script has failed."""
    wrong: list[str] = []
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)

    own = (f"{server}/", f"{server.replace('http', 'ws')}/", "data:", "blob:")

    def check_url(url: str) -> None:
        if not url.startswith(own):
            wrong.append(url)

    def opened(path: str) -> Page:
        page = context.new_page()
        page.on("request", lambda request: check_url(request.url))
        page.on("websocket", lambda socket: check_url(socket.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(server + path)
        return page

    yield opened
    context.close()
    assert wrong == []


def see(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=PATIENCE)


def test_every_page_opens_narrow_and_wide_without_scrolling_sideways(visit: Open) -> None:
    page = visit("/")
    for path in EVERYWHERE:
        page.goto(page.url.partition("/")[0] + "//" + page.url.split("/")[2] + path)
        expect(page.locator("h1")).to_be_visible(timeout=PATIENCE)
        for width in (380, 1200):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_from_the_runs_to_a_decision_by_clicks_and_keys(visit: Open, outputs: Path) -> None:
    page = visit("/")
    see(page, "is damaged: it should hold the description")
    page.get_by_role("link", name="whole", exact=True).click()
    see(page, "match score (a draw is half) by number of deals")
    names = page.locator(".sheet").first.locator("tbody td:first-child")
    for order in (["fake cloze", "fake direct"], ["fake direct", "fake cloze"]):
        page.locator("th", has_text="cell").first.click()
        expect(names).to_have_text(order)
    page.get_by_label("table").click()
    page.get_by_role("option", name="pairs.csv").click()
    see(page, "cell_a")
    page.get_by_role("link", name="matches", exact=True).click()
    see(page, f"{len(matches(outputs / 'whole'))} of")
    page.get_by_label("result").click()
    page.get_by_role("option", name="lost").click()
    expect(page).to_have_url(re.compile("result=lost"), timeout=PATIENCE)
    expect(page.locator(".sheet tbody tr", has_text="won")).to_have_count(0, timeout=PATIENCE)
    page.locator(".sheet tbody a").first.click()
    see(page, "ply 0 of")
    page.keyboard.press("ArrowRight")
    see(page, "ply 1 of")
    page.locator(".ply summary").first.click()
    expect(page.locator(".ply details pre").first).to_be_visible()
    page.get_by_text("same deal, other player").click()
    page.locator(".twins a").first.click()
    see(page, "Same deal, same moves until ply")
    expect(page.locator(".pane")).to_have_count(2)


def test_a_script_in_a_reply_is_text_and_nothing_else(visit: Open, outputs: Path) -> None:
    match, ply = next(
        (match, at)
        for match, one in matches(outputs / "whole").items()
        for at, made in enumerate(one.decisions)
        if SCRIPT in str(made.asked)
    )
    page = visit(f"/match?run=whole&id={match}#ply={ply}")
    see(page, SCRIPT)
    assert page.title() == f"Match {match} - Gauntlet"
    page.goto(page.url.replace(match, "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"))
    see(page, "no match <img src=x onerror=alert(1)>")


def test_a_run_is_watched_to_its_end(visit: Open, outputs: Path) -> None:
    page = visit("/")
    expect(page.get_by_role("link", name="whole", exact=True)).to_be_visible(timeout=PATIENCE)
    page.evaluate(WATCH)
    played(outputs / "live", "prompt=cloze", f"deals={LONG}")
    card = page.locator("article").filter(has=page.get_by_role("link", name="live", exact=True))
    expect(card.locator(".state")).to_have_text("finished", timeout=PATIENCE)
    seen = "\n".join(page.evaluate("window.seen"))
    assert re.search(r"playing for .*, 1 worker", seen)
    assert re.search(r"[\d,]+ matches done   [1-9][\d,]* left   .* matches/s", seen)
    assert len({*re.findall(r"match score [\d.]+% \([\d.]+-[\d.]+%\)", seen)}) > 1  # as they grow
    page.get_by_role("link", name="live", exact=True).click()
    see(page, f"{LONG:,} matches done")
    see(page, "Tables")


@pytest.mark.slow
@pytest.mark.parametrize("game", ["tic_tac_toe", "uno"])
def test_a_person_plays_a_whole_match_on_the_drawing(visit: Open, outputs: Path, game: str) -> None:
    """By clicks and keys in turn; a wild's colour is an option below. A scripted player plays the
    same deal in the person's seat."""
    page = sit_down(visit, game)
    over = page.get_by_text("The match is over")
    places = page.locator(".p-turn [data-moves]:not([aria-pressed]), .p-turn .p-options button")
    clicks = 0
    while not over.count():
        with suppress(Error):  # the page shows the next turn meanwhile
            if clicks % 2:
                places.first.press("Enter", timeout=300)
            else:
                places.first.click(timeout=300)
            clicks += 1
        page.wait_for_timeout(100)
    see(
        page,
        re.compile(r"You [\d.]+ of 1, \w+ [\d.]+ of 1 on the same cards"),
    )
    page.get_by_role("link", name="The match, move by move").click()
    see(page, "ply 0 of")
    record = played_by_person(outputs / f"play-{game}-0_random")
    own = [made for made in record.decisions if made.seat == 1 and not made.forced]
    assert 0 < len(own) <= clicks
    assert all(len(made.asked) == 1 and not made.fallback for made in own)
    page.go_back()
    see(page, "on the same cards")  # by then the page listens to keys
    page.keyboard.press("Enter")
    see(page, "It is your turn")
    page.get_by_role("button", name="Leave the table").click()
    see(page, "The table is closed: it was left; what was finished is kept")


@pytest.mark.slow
def test_a_person_plays_codenames_with_clues_of_its_own(visit: Open, outputs: Path) -> None:
    """In both roles of blue; a clue that is on the board is refused and requested again."""
    page = sit_down(visit, "codenames")
    over, field = (
        page.get_by_text("The match is over"),
        page.get_by_label(re.compile("^Your words")),
    )
    clue = page.get_by_role("button", name="2 clue for 1", exact=True)
    refused = 0
    while not over.count():
        if field.count():
            wrong = refused == 0 and page.locator(".d-word-card b").first.inner_text()
            field.fill(wrong or "qwyx")
            page.get_by_role("button", name="Say it").click()
            if wrong:
                see(page, re.compile("is not one word of letters alone"))
                refused += 1
        elif clue.count():
            clue.click()
        elif page.get_by_text("It is your turn").count():
            page.keyboard.press("1")
        page.wait_for_timeout(300)
    expect(page.locator(".d-word-card")).to_have_count(21)
    expect(page.locator(".d-open").first).to_be_visible()
    page.get_by_role("link", name="The match, move by move").click()
    see(page, "ply 0 of")
    record = played_by_person(outputs / "play-codenames-0_random")
    own = [made for made in record.decisions if made.seat == 1]
    assert "qwyx" in {made.text for made in own}
    assert refused == 1


@pytest.mark.slow
def test_no_page_has_a_serious_fault_of_accessibility(visit: Open, outputs: Path, axe: str) -> None:
    match = next(iter(matches(outputs / "whole")))
    addresses = (*EVERYWHERE, f"/match?run=whole&id={match}&ply=1")
    found = [fault for address in addresses for fault in faults(visit(address), axe)]
    for game in ("uno", "tic_tac_toe", "hive", "watch_rps"):
        found += faults(sit_down(visit, game), axe)
    assert found == []


def sit_down(visit: Open, game: str, further: str = "") -> Page:
    """Open a table against a random player."""
    page = visit("/play")
    page.get_by_label(re.compile("^Further settings")).fill(further)
    choose(page, "Game", game)
    if not game.startswith("watch"):
        choose(page, "Player 0", "random")
    page.get_by_role("button", name="Sit down").click()
    expect(page.get_by_text("It is your turn").first).to_be_visible(timeout=4 * PATIENCE)
    return page


def played_by_person(folder: Path) -> MatchRecord:
    """Return the only match of the person's cell."""
    (stem,) = (one.stem for one in Folder(folder).sweep_cells() if one.players[1] == "human")
    (record,) = Folder(folder).matches(stem)
    return record


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).first.click()
    page.get_by_role("option", name=option, exact=True).click()
