"""Take the screenshots in docs/pages, and of the parser's audit in a report.

    python -m docs.screenshots [DIR]

Serves the runs under DIR (default: outputs, with `quickstart` from `make run`) and captures each
page in headless Chromium: light, dark, and 380 pixels wide. The audit is captured if DIR holds
`audited`, a run with unusable replies: `python -m pipeline.run -m game=tic_tac_toe prompt=direct
prompt.max_tokens=24,240 deals=20 output_dir=outputs/audited`.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from gauntlet.pipeline.log.folder import Folder

ROOT = Path(__file__).parent.parent
CHROMIUM = "/usr/bin/chromium"
RUN, AUDITED = "quickstart", "audited"
LOOKS = {"": ("light", 1200), "_dark": ("dark", 1200), "_narrow": ("light", 380)}
HEIGHT, COLOURS = 900, 128
"""Height of a screenshot in pixels, and the size of its palette."""
SETTLED, BEGUN = 4000, 10_000
"""Milliseconds until a page has read its run and drawn it, and until a match has begun."""
BUTTONS = {"play": "Sit down"}
"""Pages captured after clicking this button; what it starts stays under DIR."""
SECTIONS = ("what-was-wrong-with-replies", "replies-looked-at")
"""The audit's sections in a report, by heading ids."""


def pages(folder: Path) -> dict[str, str]:
    """The URL of each screenshot. The match is a lost one with more than five model decisions."""
    matches = Folder(folder).matches()
    lost = next(
        one
        for one in matches
        if one.returns[one.measured[0]] < 0 and sum(bool(made.asked) for made in one.decisions) > 5
    )
    ply = next(at for at, made in enumerate(lost.decisions) if made.asked)
    return {
        "runs": "/",
        "run": f"/run?name={RUN}",
        "matches": f"/matches?run={RUN}&result=lost&order=smallest+margin",
        "match": f"/match?run={RUN}&id={lost.match}#ply={ply}",
        "play": "/play",
    }


def begun(browser: Browser, address: str, button: str) -> str:
    """The URL of the match that this button of a page starts."""
    page = browser.new_page()
    page.goto(address)
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_url("**/*/*")
    page.wait_for_timeout(BEGUN)
    where = page.url
    page.close()
    return where


@contextmanager
def served(outputs: Path) -> Iterator[str]:
    """The address of the pages for this directory."""
    command = [sys.executable, "-m", "pipeline.pages", outputs.name, "--port", "0"]
    where: dict[str, Any] = {"cwd": outputs.parent, "env": {**os.environ, "PYTHONPATH": str(ROOT)}}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **where) as process:
        assert process.stdout
        yield process.stdout.readline().split()[-1]
        process.terminate()


def take(browser: Browser, address: str, file: Path, look: str) -> None:
    scheme, width = LOOKS[look]
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(SETTLED)
    keep(Image.open(io.BytesIO(page.screenshot())), file)
    context.close()


def keep(picture: Image.Image, file: Path) -> None:
    picture.convert("RGB").quantize(COLOURS).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size / 1024:.0f} kB", flush=True)


def take_audit(browser: Browser, report: Path, file: Path) -> None:
    """Write a screenshot of a report's SECTIONS, stacked, with their first reply unfolded."""
    page = browser.new_page(viewport={"width": LOOKS[""][1], "height": HEIGHT})
    page.goto(report.as_uri())
    parts = [page.locator("details.part", has=page.locator(f"#{one}")) for one in SECTIONS]
    for part in (*parts, parts[-1].locator("details").first):
        part.evaluate("one => one.open = true")
    pictures = [Image.open(io.BytesIO(part.screenshot())) for part in parts]
    whole = Image.new("RGB", (pictures[0].width, sum(one.height for one in pictures)))
    for at, one in enumerate(pictures):
        whole.paste(one, (0, sum(above.height for above in pictures[:at])))
    keep(whole, file)
    page.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m docs.screenshots", description="The pictures of the pages, taken again."
    )
    parser.add_argument("outputs", nargs="?", type=Path, default=Path("outputs"), metavar="DIR")
    parser.add_argument("--only", default="", metavar="PART", help="of a page's name")
    given = parser.parse_args(arguments)
    outputs = given.outputs.resolve()
    if not Folder(outputs / RUN).has_sweep:
        print(f"gauntlet: {outputs} has no {RUN}; `make run` plays it", file=sys.stderr)
        return 2
    with served(outputs) as address, sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, path in pages(outputs / RUN).items():
            if given.only not in name:
                continue
            where = address + path
            if name in BUTTONS:
                where = begun(browser, where, BUTTONS[name])
            for look in LOOKS:
                file = ROOT / "docs" / "pages" / f"{name}{look}.png"
                file.parent.mkdir(exist_ok=True)
                take(browser, where, file, look)
        report = outputs / AUDITED / "report.html"
        if report.exists() and given.only in "parser_audit":
            take_audit(browser, report, ROOT / "docs" / "parser_audit.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
