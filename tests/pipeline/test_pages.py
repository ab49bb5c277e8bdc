"""The pages without a browser: their contents, for runs that are complete, torn or missing."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from markupsafe import escape
from nicegui import ElementFilter, ui
from nicegui.testing import User

from gauntlet.pipeline import library
from gauntlet.pipeline import runs as keeping
from gauntlet.pipeline.library import Library
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.metadata_files import parse_object, to_bytes
from gauntlet.pipeline.pages import __main__ as command
from gauntlet.pipeline.pages import run_status, runs
from gauntlet.pipeline.pages.access import OriginCheck
from gauntlet.pipeline.pages.run_status import glance
from tests.pipeline.conftest import Capsys
from tests.pipeline.logs import matches
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.paged import DEALS, SCRIPT, several, visit


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return several(tmp_path_factory.mktemp("outputs"))


def rows(user: User) -> list[dict[str, object]]:
    """Return the rows of the first table on the page."""
    assert user.client
    with user.client:
        table = next(iter(ElementFilter(kind=ui.table)))
    return list(table.rows)


def write_status(folder: Path, **data: object) -> None:
    """As if the latest run had written this into its status."""
    file = Folder(folder).status_file
    file.write_bytes(to_bytes({**parse_object(file.read_bytes()), **data}))


def test_runs_are_listed_with_how_they_stand(outputs: Path) -> None:
    async def act(user: User) -> None:
        await user.open("/")
        await user.should_see("4 of 4 runs", retries=20)
        await user.should_see("whole")
        await user.should_see("fake cloze")
        await user.should_see("counted by compiled games")
        await user.should_see("damaged", retries=20)
        await user.should_see("broken/cells", retries=20)
        await user.should_see(f"{4 * DEALS // 2} matches in the tables")
        user.find("Find a run by its name").type("who")
        await user.should_see("1 of 4 runs", retries=20)
        await user.should_not_see("torn")

    visit(outputs, act)


@pytest.mark.filterwarnings("ignore")  # mlflow's own
def test_an_imported_run_is_listed_by_its_tables(outputs: Path, tmp_path: Path) -> None:
    packed, imported = tmp_path / "sent.tar.xz", tmp_path / "outputs" / "imported"
    assert keeping.main(["pack", str(outputs / "whole"), str(packed)]) == 0
    assert keeping.main(["import", str(packed), str(imported), "--store", str(tmp_path)]) == 0
    status = glance("imported", Library(imported.parent).shelf("imported"))
    assert (status.state, status.share, len(status.estimates)) == ("imported", 1.0, 2)
    assert status.pace.startswith(f"2 cells   {2 * DEALS} matches")


def test_a_page_that_is_closed_while_it_looks_leaves_no_traceback(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looking, closed, seen = threading.Event(), threading.Event(), runs._glances

    def slow(*given: Any) -> Any:
        looking.set()
        assert closed.wait(10)
        return seen(*given)

    async def act(user: User) -> None:
        await user.open("/")
        await user.should_see("4 of 4 runs", retries=20)
        looking.clear()
        monkeypatch.setattr(runs, "_glances", slow)
        user.find("Find a run by its name").type("who")
        while not looking.is_set():
            await asyncio.sleep(0.02)
        assert user.client
        user.client.delete()
        closed.set()
        await asyncio.sleep(0.5)
        assert not [line for line in caplog.records if line.name == "nicegui"]

    visit(outputs, act)


def test_an_empty_directory_says_what_would_fill_it(tmp_path: Path) -> None:
    async def act(user: User) -> None:
        for page in ("/", "/matches"):
            await user.open(page)
            await user.should_see("holds no runs yet", retries=20)

    visit(tmp_path / "nothing", act)


def test_a_run_shows_its_cells_tables_and_damage(outputs: Path) -> None:
    async def act(user: User) -> None:
        await user.open("/run?name=torn")
        await user.should_see("1 damaged line", retries=20)
        await user.open("/run?name=whole")
        await user.should_see("Tables", retries=20)
        first, second = rows(user)
        assert {first["cell"], second["cell"]} == {"fake cloze", "fake direct"}
        assert first["done"] == second["done"] == str(DEALS)
        await user.should_see("Replies, looked at")
        assert user.client
        with user.client:
            links = [one.props["href"] for one in ElementFilter(kind=ui.link)]
        ids = [one.partition("run=whole&id=")[2] for one in links if "&id=" in one]
        assert ids
        assert set(ids) <= matches(outputs / "whole").keys()
        await user.open("/run?name=counted")
        await user.should_see("counted by compiled games", retries=20)
        await user.should_see("fake direct")
        await user.open("/run?name=broken")
        await user.should_see("is damaged: it should hold the description", retries=20)
        await user.open("/run?name=../whole")
        await user.should_see("has no run '../whole'")
        for name in ("whole", "../whole", "none"):
            reply = await user.http_client.get(f"/run/file?name={name}&file=../sweep.json")
            assert reply.status_code == 404
        reply = await user.http_client.get("/run/file?name=whole&file=report.html")
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")

    visit(outputs, act)


def test_the_interim_figures_are_those_of_the_tables(outputs: Path) -> None:
    shelf = library.Library(outputs).shelf("whole")
    shelf.refresh()
    now = run_status.estimates(shelf, curves=True)
    then = run_status.finished("whole", shelf).estimates
    assert len(now) == 2
    for one, other in zip(now, then, strict=True):
        assert (one.name, one.deals, one.text) == (other.name, other.deals, other.text)
        assert one.curve is not None
        assert one.curve[:, -1] == pytest.approx([DEALS, one.mean, one.low, one.high])


def test_a_run_that_died_says_so(outputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "dead"
    shutil.copytree(outputs / "whole", folder)
    write_status(folder, state="playing", process=2**22 + 1)
    shelf = library.Library(tmp_path).shelf("dead")
    shelf.refresh()
    found = run_status.status_of_run("dead", shelf)
    assert found.state == "gone"
    assert "start it again to go on" in found.headline
    write_status(folder, state="failed", error=SCRIPT)
    shelf.refresh()
    assert run_status.status_of_run("dead", shelf).state == "failed"


def test_matches_are_filtered_and_lead_to_their_pages(outputs: Path) -> None:
    log = matches(outputs / "whole")
    fell = [match for match, one in log.items() if any(made.fallback for made in one.decisions)]
    lost = [match for match, one in log.items() if one.returns[one.measured[0]] < 0]
    assert 0 < len(lost) < len(log)

    async def act(user: User) -> None:
        async def listed(query: str) -> set[object]:
            await user.open(f"/matches?run=whole&{query}")
            await user.should_see(f"of {len(log)} matches", retries=30)
            return {row["match"] for row in rows(user)}

        assert await listed("") == set(log)
        assert await listed("result=lost") == set(lost)
        assert await listed("fallbacks=true") == set(fell)
        assert await listed("text=deal+3") == {one.match for one in log.values() if one.deal == 3}
        narrow = await listed("margin=0.01&order=smallest+margin")
        assert 0 < len(narrow) < len(log)
        written = {match for match, one in log.items() if SCRIPT in str(one.decisions)}
        assert await listed(urlencode({"phrase": SCRIPT.upper()})) == written
        await user.open("/matches?run=gone")
        await user.should_see("has no run 'gone'")

    visit(outputs, act)


def test_a_match_is_shown_move_by_move_and_a_reply_stays_text(outputs: Path) -> None:
    match, record = next(
        (match, one)
        for match, one in matches(outputs / "whole").items()
        if any(SCRIPT in str(made.asked) for made in one.decisions)
    )
    made = next(made for made in record.decisions if SCRIPT in str(made.asked))
    ply = record.decisions.index(made)

    async def act(user: User) -> None:
        await user.open(f"/match?run=whole&id={match}")
        await user.should_see("data-packed", retries=40)
        assert user.client
        with user.client:
            (viewer,) = [one for one in ElementFilter(kind=ui.html) if "packed" in one.content]
        data = unpacked(viewer.content)
        shown = html_of(data, match)[ply]
        assert f"Player {made.seat} plays {made.move}" in shown
        assert str(escape(SCRIPT)) in shown
        assert SCRIPT not in shown
        assert "You do exactly what" in shown
        assert all(option in shown for option in made.options)
        (twin,) = data["matches"][match]["twins"]
        await user.open(twin["href"])
        await user.should_see(f'data-matches="{match} {twin["match"]}"', retries=40)
        await user.open("/match?run=whole&id=0000")
        await user.should_see("no match 0000 can be read", retries=40)

    visit(outputs, act)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("headers", "open_to"),
    [
        ({"host": "127.0.0.1:8050"}, True),
        ({"host": "[::1]:8050", "origin": "http://[::1]:8050"}, True),
        ({"host": "LOCALHOST."}, True),
        ({"host": "[0:0::1]:80"}, True),
        ({"host": "friend:8050"}, True),
        ({"host": "evil.example:8050"}, False),
        ({"host": "localhost.evil.example"}, False),
        ({"host": "[::"}, False),
        ({"host": "localhost:80:80"}, False),
        ({"host": ""}, False),
        ({"host": "localhost:8050", "origin": "http://evil.example"}, False),
        ({"host": "localhost:8050", "origin": "null"}, False),
        ({"host": "localhost:8050", "sec-fetch-site": "cross-site"}, False),
    ],
)
def test_only_a_browser_of_this_machine_gets_in(
    kind: str, headers: dict[str, str], open_to: bool
) -> None:
    passed, sent = [], []

    async def app(*_: Any) -> None:
        passed.append(kind)

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is read of who is turned away")

    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "method": "GET", "headers": told, "server": ("127.0.0.1", 8050)}
    asyncio.run(OriginCheck(app, ["friend"])(scope, receive, send))
    assert bool(passed) == open_to
    if not open_to:
        assert sent[0].get("status", 1008) in (403, 421, 1008)


def test_an_address_that_cannot_be_had_is_one_line(capsys: Capsys) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for asked in (["--port", f"{port}"], ["--port", "70000"], ["--host", "203.0.113.1"]):
            assert command.main(asked) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert all(line.startswith("gauntlet: ") and "--port" in line for line in said)
    assert "0 takes a free one" in said[0]
