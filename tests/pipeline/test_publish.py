"""Published sites: complete, self-contained, and inert whatever models wrote."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest
from markupsafe import escape
from playwright.sync_api import Browser, Page, expect, sync_playwright

from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.publish.__main__ import main
from gauntlet.pipeline.viewer import data as viewer_data
from gauntlet.pipeline.viewer.data import Pack, divergence
from gauntlet.pipeline.viewer.html import ply
from gauntlet.pipeline.viewer.judged import Judged, Judgement, read_judged
from gauntlet.pipeline.viewer.match import match_view
from tests.pipeline.browsed import CHROMIUM, PATIENCE, SCHEMES, faults
from tests.pipeline.conftest import Refusal
from tests.pipeline.logs import matches
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.paged import SCRIPT, played

NAME = "a 'b' <img src=x onerror=alert(1)>"
"""The name of a run's folder."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs") / "whole"
    played(folder)
    return Path(shutil.copytree(folder, folder.with_name(NAME)))


@pytest.fixture(scope="module")
def site(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published") / "site"
    assert main([str(run), str(run.with_name("whole")), "--out", str(out)]) == 0
    return out


def chunks(site: Path) -> list[Path]:
    return [file for file in sorted(site.glob("data/*/*.js")) if file.name != "list.js"]


class Elements(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def pages(site: Path) -> Iterator[tuple[str, str]]:
    """Yield the HTML of every page of a site, and of every ply of its matches."""
    for file in site.rglob("*.html"):
        yield str(file), file.read_text(encoding="utf-8")
    for file in chunks(site):
        data = unpacked(file.read_text())
        for match in data["matches"]:
            yield str(file), "".join(html_of(data, match))


def test_no_file_names_another_host(site: Path) -> None:
    for name, text in pages(site):
        for tag, attributes in Elements(text).found:
            for key in ("src", "href", "action", "srcset", "data"):
                address = attributes.get(key) or ""
                assert not re.match(r"\s*(\w+:)?//", address), (name, tag, address)
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", text), name
    for file in (site / "match.js", site / "site.js"):
        assert not re.search(r"https?:|fetch\(|XMLHttp|WebSocket|import\(", file.read_text())


def test_hostile_text_stays_text(site: Path) -> None:
    seen = 0
    for name, text in pages(site):
        if "/files/" in name and "/matches/" in name:  # a page of one file, as in test_safety.py
            continue
        seen += str(escape(SCRIPT)) in text
        for tag, attributes in Elements(text).found:
            assert tag not in ("img", "iframe", "object"), name
            assert tag != "script" or (attributes.get("src") or "").endswith(".js"), name
            assert not [key for key in attributes if key.startswith("on")], name
    assert seen > 2
    assert all(re.fullmatch(r"[\w./-]+", str(f.relative_to(site))) for f in site.rglob("*"))


def test_every_match_is_in_one_file_as_it_was_played(run: Path, site: Path) -> None:
    log, seen = matches(run), []
    for file in chunks(site)[:1]:
        data = unpacked(file.read_text())
        for match in data["matches"]:
            seen.append(match)
            view = match_view(Folder(run), log[match])
            shown = html_of(data, match)
            assert shown[:-1] == [str(ply(view.game, one, [""])) for one in view.plies]
            moves = [one["moves"] for one in data["matches"][match]["plies"]]
            assert moves == [*view.moves, "over"]
    assert sorted(seen) == sorted(log)


def test_a_large_file_is_cut_into_parts_of_plies(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = Pack()
    for record in matches(run).values():
        pack.add(match_view(Folder(run), record))
    whole = unpacked(f'gauntlet.take("{pack.text()}")')
    assert pack.files("7") == {"7": pack.text()}
    monkeypatch.setattr(viewer_data, "LARGEST", len(pack.text()) - 1)
    head, *parts = pack.files("7").items()
    data = unpacked(f'gauntlet.take("{head[1]}")')
    assert len(parts) > 1
    assert data["parts"] == [name for name, _ in parts] == [f"7-{at}" for at in range(len(parts))]
    assert all(2 * len(text) <= viewer_data.LARGEST for _, text in parts)
    data["parts"] = [unpacked(f'gauntlet.take("{text}")') for _, text in parts]
    assert data["starts"][1] == len(data["parts"][0]["plies"])
    for match in whole["matches"]:
        assert html_of(data, match) == html_of(whole, match)


def test_twins_part_at_their_first_different_move(run: Path, site: Path) -> None:
    log = {match: [made.move for made in one.decisions] for match, one in matches(run).items()}
    data = unpacked(chunks(site)[0].read_text())
    for match, shown in data["matches"].items():
        (twin,) = shown["twins"]
        at, own, other = twin["at"], log[match], log[twin["match"]]
        assert own[:at] == other[:at]
        assert own[at : at + 1] != other[at : at + 1] or at == len(own) == len(other)
    assert divergence(["a", "b", "c"], ["a", "x", "c"]) == 1
    assert divergence(["a", "b"], ["a", "b", "c"]) == 2
    assert divergence([], []) == 0


def test_the_lists_hold_every_match(run: Path, site: Path) -> None:
    for file in site.glob("data/*/list.js"):
        data = unpacked(file.read_text())
        assert {one[1] for one in data["matches"]} == matches(run).keys()
        assert data["pairs"] == [[0, 1]]


def test_a_folder_with_other_files_is_left_alone(
    run: Path, tmp_path: Path, refusal: Refusal
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "holds other files" in refusal(main([str(run), "--out", str(tmp_path)]))
    assert "holds no tables" in refusal(main([str(tmp_path), "--out", str(tmp_path / "site")]))
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_persons_own_site_is_left_alone(
    run: Path, site: Path, tmp_path: Path, refusal: Refusal
) -> None:
    own = tmp_path / "own"
    (own / "data").mkdir(parents=True)
    (own / "index.html").write_text("mine")
    (own / "data" / "notes.csv").write_text("mine")
    assert str(own) in refusal(main([str(run), "--out", str(own)]))
    assert {file.read_text() for file in own.rglob("*.*")} == {"mine"}
    earlier = Path(shutil.copytree(site, tmp_path / "earlier"))
    (earlier / "data" / "notes.csv").write_text("mine")
    assert "data/notes.csv" in refusal(main([str(run), "--out", str(earlier)]))
    assert (earlier / "data" / "notes.csv").read_text() == "mine"


KILLED = """
import os, sys
from pathlib import Path
from gauntlet.pipeline.publish.__main__ import main
stop, *words = sys.argv[1:]
rename = Path.rename
Path.rename = lambda self, to: os._exit(7) if self == Path(stop) else rename(self, to)
main(words)
"""
"""A writer that is killed before this path gets another name."""


def test_a_site_is_replaced_at_once_and_a_killed_writer_loses_nothing(
    run: Path, tmp_path: Path
) -> None:
    out, words = tmp_path / "site", [str(run), "--out", str(tmp_path / "site")]
    assert main(words) == 0
    before = {file.relative_to(out) for file in out.rglob("*")}
    building, previous = tmp_path / ".site.building", tmp_path / ".site.previous"
    for stop, remains in ((out, out), (building, previous)):
        script = [sys.executable, "-c", KILLED, str(stop), *words]
        assert subprocess.run(script, capture_output=True).returncode == 7
        assert {file.relative_to(remains) for file in remains.rglob("*")} == before
    assert main(words) == 0
    assert {file.relative_to(out) for file in out.rglob("*")} == before
    assert [*tmp_path.iterdir()] == [out]


# --- marks


def test_tables_of_some_cells_only_are_refused(run: Path, tmp_path: Path, refusal: Refusal) -> None:
    """A run in the folder of another writes the tables of its own cells."""
    partial = Path(shutil.copytree(run, tmp_path / "partial"))
    summary = pd.read_csv(partial / "summary.csv")
    summary[:1].to_csv(partial / "summary.csv", index=False)
    line = refusal(main([str(partial), "--out", str(tmp_path / "site")]))
    assert f"lack {len(summary) - 1} cell" in line
    assert "pipeline.report" in line
    assert not (tmp_path / "site").exists()


def test_only_a_loss_beyond_the_noise_is_marked() -> None:
    few, many = Judged(50), Judged(1000)
    for lost, with_few, with_many in ((0.05, "", ""), (0.1, "", "?!"), (0.2, "??", "??")):
        judgement = Judgement(0.3, 0.3 + lost)
        assert (few.mark(judgement), many.mark(judgement)) == (with_few, with_many)


def test_marks_come_from_judged_decisions_alone(run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(run, tmp_path / "judged"))
    match, record = next(iter(matches(folder).items()))
    view = match_view(Folder(folder), record)

    def shown() -> dict[str, str]:
        pack = Pack()
        pack.add(view, read_judged(folder))
        data = pack.matches[match]
        marks = {at: one.get("mark", "") for at, one in enumerate(data["plies"])}
        return {"note": data["note"], **{str(at): mark for at, mark in marks.items() if mark}}

    assert shown() == {"note": read_judged(folder).note(match)}
    assert shown()["note"].startswith("No marks")
    line = {"match": match, "ply": 2, "chosen": 1, "seen": {"values": [0.9, 0.4]}}
    (folder / "metrics").mkdir()
    (folder / "metrics" / "decisions.jsonl").write_text(json.dumps(line) + "\n")
    (folder / "metrics" / "metrics.csv").write_text("cell,playouts\nx,400\n")
    assert shown()["2"] == "??"
    assert len(shown()) == 2
    assert "400 playouts" in shown()["note"]


# --- in a browser


needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as player:
        chromium = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of the site at a server that knows nothing of it."""
    offers = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), offers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def looking(browser: Browser, top: str) -> Iterator[Page]:
    """A page, at the site's index. At the end no request went elsewhere, and no script failed."""
    wrong: list[str] = []
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("request", lambda sent: None if sent.url.startswith(top) else wrong.append(sent.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.goto(f"{top}/index.html")
    yield page
    page.close()
    assert wrong == []


@needs_chromium
@pytest.mark.parametrize("server", [False, True], ids=["from disk", "from a server"])
def test_a_site_opens(browser: Browser, site: Path, run: Path, server: bool) -> None:
    match = next(iter(matches(run)))
    top = served(site) if server else nullcontext(site.as_uri())
    with top as address, looking(browser, address) as page:
        page.get_by_label("Search runs, players and matches").fill(match)
        page.locator("#found a").first.click()
        expect(page.get_by_text("ply 0 of")).to_be_visible()
        page.keyboard.press("ArrowRight")
        assert page.url.endswith("#ply=1")
        page.reload()
        expect(page.get_by_text("ply 1 of")).to_be_visible()
        permalink = page.url
        page.locator("nav.top a").last.click()
        page.locator("a", has_text=" - ").first.click()
        expect(page.get_by_text("deals that both played")).to_be_visible()
        page.locator("#matches-of a").first.click()
        expect(page.locator(".meeting")).to_contain_text("Same deal")
        expect(page.locator(".pane")).to_have_count(2)
        for width in (380, 1200):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        for address in (permalink, re.sub("part=[0-9]+&", "", permalink)):
            page.goto(address)
            expect(page.get_by_text("ply 1 of")).to_be_visible()
        expect(page.locator(".ply h3").first).to_be_visible()


@needs_chromium
def test_a_match_in_parts_is_loaded_as_it_is_shown(
    browser: Browser, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer_data, "LARGEST", 4_000)
    assert main([str(run), "--out", str(tmp_path / "site")]) == 0
    (first,) = (tmp_path / "site").glob("data/*/0.js")
    folder, match = first.parent.name, next(iter(matches(run)))
    parts = len(list(first.parent.glob("0-*.js")))
    with looking(browser, (tmp_path / "site").as_uri()) as page:
        loaded: list[str] = []
        page.on("requestfinished", lambda sent: loaded.append(sent.url))
        page.goto(f"{(tmp_path / 'site').as_uri()}/match.html?run={folder}&part=0&id={match}")
        expect(page.locator(".ply h3").first).to_be_visible()
        assert sum("/0-" in url for url in loaded) == 1 < parts
        page.keyboard.press("PageDown")
        expect(page.locator(".ply")).to_contain_text(re.compile("Won by|Nobody won"))
        twin = next(one for one in unpacked(first.read_text())["matches"][match]["twins"])
        page.goto(f"{(tmp_path / 'site').as_uri()}/{twin['href']}")
        expect(page.locator(".pane h3")).to_have_count(2)


GROUND = "getComputedStyle(document.body).backgroundColor"


@needs_chromium
def test_a_site_follows_the_system_until_a_look_is_chosen(browser: Browser, site: Path) -> None:
    with looking(browser, site.as_uri()) as page:
        seen = []
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            seen.append(page.evaluate(GROUND))
        assert len(set(seen)) == 2
        switch = page.get_by_label("look: system, light or dark")
        switch.select_option("light")
        assert page.evaluate(GROUND) == seen[0]
        page.locator("#players ~ ul a").first.click()
        expect(switch).to_have_value("light")
        assert page.evaluate(GROUND) == seen[0]
        switch.select_option("system")
        assert page.evaluate(GROUND) == seen[1]


@pytest.mark.slow
@needs_chromium
def test_no_page_of_a_site_has_a_serious_fault_of_accessibility(
    browser: Browser, site: Path, axe: str
) -> None:
    first = unpacked(chunks(site)[0].read_text())["matches"]
    shown = next(iter(first.values()))
    links = ["index.html", shown["href"], shown["twins"][0]["href"]]
    links += [next(site.glob(f"{kind}/*.html")).relative_to(site).as_posix()
              for kind in ("run", "player")]  # fmt: skip
    found = []
    for link in links:
        page = browser.new_page()
        page.goto(f"{site.as_uri()}/{link}")
        found += faults(page, axe)
    assert found == []
