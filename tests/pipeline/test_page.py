"""The pages' structure: run information at the top, prompts a click away, a table of contents with
working links."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from gauntlet.models.exchanges import TextExchange
from gauntlet.pipeline import replay, report
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.lines import line
from gauntlet.pipeline.tables.media.match_pages import match_page
from gauntlet.pipeline.tables.media.run_metadata import facts
from gauntlet.pipeline.tables.registry import load_cells
from gauntlet.pipeline.viewer.match import decision_view
from tests.pipeline.conftest import Capsys, Sweep
from tests.pipeline.logs import matches
from tests.pipeline.packed import html_of, unpacked
from tests.pipeline.records import STATIC, decided

TEXTS = '+model.texts=[\'{"thoughts": "So.", "action": "1"}\',\'{"action": "99"}\',\'Hm.\']'


class Page(HTMLParser):
    """Ids, links, resources loaded from elsewhere, and every text by its enclosing tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if "id" in given and tag in ("h2", "h3"):
            self.ids.append(given["id"] or "")
        self.loaded += [given[name] or "" for name in ("src", "data") if name in given]
        self.loaded += [tag] * (tag in ("link", "script", "iframe"))


def test_the_report_says_what_was_played_and_shows_prompts_folded(
    sweep: Sweep, folder: Path
) -> None:
    assert sweep("game=tic_tac_toe", "prompt=vanilla,tutri", TEXTS, "deals=3") == 0
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.loaded == []
    assert len(page.ids) == len(set(page.ids))
    assert {"cells", "decisions-looked-at", "where-this-came-from"} <= set(page.ids)
    told = {one.term: one.values for one in facts(folder, load_cells(folder), ["v", "t"])}
    assert told["game"] == [
        "tic_tac_toe (games.tic_tac_toe.TicTacToe): 2 seats, size 3, win_length 3"
    ]
    model = Folder(folder).sweep_cells()[0].labels["model"]
    subject = f"llm.{model}.vanilla or llm.{model}.tutri"
    assert told["players by seat"] == [f"0 random; 1 {subject} (measured)"]
    assert (told["seed"], told["deals"]) == (["1"], ["3 a cell, 6 matches in all"])
    assert told["seating"] == ["as above in every match"]
    assert told["command"][0].startswith("python -m pipeline.run launch=inline ")
    del told["cells' keys"]  # under the page's names
    assert [fact[0] for fact in told.values() if fact[0] not in unescape(text)] == []
    prompts = re.findall(r"<details><summary>.*?</summary>\s*<pre>(.*?)</pre>", text, re.S)
    whole = [x for x in map(unescape, prompts) if x.startswith("You are player") and "Goal:" in x]
    assert len(whole) == 2 * 3 + (1 + 3), "samples, and of one decision each question"


def test_a_replay_shows_what_was_written_and_what_was_made_of_it(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    assert sweep("game=tic_tac_toe", "prompt=tutri", TEXTS, "deals=2") == 0
    capsys.readouterr()
    said = page = ""
    for match in matches(folder):
        assert replay.main([match, "--in", str(folder), "--prompts"]) == 0
        said += capsys.readouterr().out
        data = unpacked(match_page(replay.replay(match, [folder])))
        page += unescape("".join(html_of(data, match)))
    for wanted in ("-> malformed", "-> illegal"):
        assert wanted in said
    assert "-> <b>malformed</b>" in page
    assert re.search(r"reply \d -> C\dR\d\n", said)
    assert '{"thoughts": "So.", "action": "1"}' in said
    assert said.count("(all of the above)\nLook back on the last moves.") > 2
    assert said.count("\nHm.\n") == page.count("<pre>Hm.</pre>") > 0


def test_words_of_an_open_option_are_told_after_what_was_wrong_with_others() -> None:
    def wrote(text: str) -> TextExchange:
        told = {"static": STATIC, "cue": "", "logical_tokens": 2, "tokens": (1, 1)}
        return TextExchange(**told, shared="?", settings=(9, 0.0, (), 0), text=text)

    notes = {"answers": [1], "faults": ["is too long"]}
    made = decided(1, asked=tuple(map(wrote, "xyz")), notes=notes, text="Good day")
    shown = decision_view(made, {STATIC: ""}).prompts
    assert [one.reading for one in shown] == ["b", "is too long", "Good day"]
    bare = decided(1, asked=tuple(map(wrote, "xy")), text="Good day")
    assert [one.reading for one in decision_view(bare, {STATIC: ""}).prompts] == ["", "Good day"]


def test_the_report_links_to_the_matches_that_it_shows(sweep: Sweep, folder: Path) -> None:
    assert sweep("game=tic_tac_toe", "prompt=vanilla,tutri", TEXTS, "deals=3") == 0
    text = (folder / "report.html").read_text()
    linked = dict.fromkeys(re.findall(r'href="(matches/[^"]+)"', text))
    log = matches(folder)
    assert {Path(one).stem for one in linked} == log.keys()
    assert "pipeline.replay" not in text
    for address in linked:
        page = (folder / address).read_text()
        drawn = html_of(unpacked(page), Path(address).stem)
        assert len(drawn) == log[Path(address).stem].plies + 1
    assert sweep("game=tic_tac_toe", "prompt=vanilla", TEXTS, "deals=3") == 0
    left = {one.stem for one in (folder / "matches").iterdir()}
    assert left == {
        *re.findall(r'href="matches/([^"]+).html"', (folder / "report.html").read_text())
    }


# --- several runs


def test_the_report_says_when_a_log_is_of_several_versions(
    sweep: Sweep, folder: Path, capsys: Capsys
) -> None:
    given = ("game=tic_tac_toe", "prompt=cloze")
    assert sweep(*given, "deals=1") == 0
    assert "runs that differ" not in capsys.readouterr().out
    (run,) = map(json.loads, (folder / "runs.jsonl").read_text().splitlines())
    del run["crc32"]
    mine, run["versions"]["torch"] = run["versions"]["torch"], "1.0"
    with (folder / "runs.jsonl").open("ab") as runs:
        runs.write(line(run))
    assert report.main([str(folder)]) == 0
    told = f"The records are of runs that differ: torch {mine} and 1.0."
    assert told in capsys.readouterr().out
    assert told in (folder / "report.html").read_text()
