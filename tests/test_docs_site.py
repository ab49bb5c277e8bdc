"""The documentation as a site: built without warnings and network, with all links valid."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.figures import documents

ROOT = Path(__file__).parent.parent
STRICT = ("-W", "--keep-going", "-n", "-q")
ASKS = re.compile(
    r"""<(?:script|img|iframe|source|link(?![^>]*rel="(?:canonical|author|license)"))[^>]*\s"""
    r"""(?:src|href)="(?:https?:)?//[^"]+"|url\(["']?(?:https?:)?//|@import""",
)
"""Matches parts of a page that would be fetched from another host; links do not count."""


def build(builder: str, into: Path) -> None:
    words = [sys.executable, "-m", "sphinx", *STRICT, "-b", builder, "docs", str(into)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    build("html", folder)
    return folder


@pytest.mark.slow
def test_every_document_is_a_page(site: Path) -> None:
    for file in (ROOT / "docs").rglob("*.md"):
        page = site / file.relative_to(ROOT / "docs").with_suffix(".html")
        assert page.exists(), f"{file} is no page"


@pytest.mark.slow
def test_nothing_is_asked_of_another_host(site: Path) -> None:
    pages = [file for file in site.rglob("*") if file.suffix in (".html", ".css")]
    assert len(pages) > 50
    assert not {str(file) for file in pages if ASKS.search(file.read_text(encoding="utf-8"))}


@pytest.mark.slow
def test_every_link_within_leads_somewhere(site: Path) -> None:
    """Of the pages as they are read, anchors too."""
    broken = []
    anchors: dict[Path, set[str]] = {}
    for page in site.rglob("*.html"):
        for link in re.findall(r'href="([^"]+)"', page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:|//", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.exists():
                broken.append(f"{page.name}: {link}")
            elif anchor and target.suffix == ".html":
                if target not in anchors:
                    text = target.read_text(encoding="utf-8")
                    anchors[target] = set(re.findall(r'\sid="([^"]+)"', text))
                if anchor not in anchors[target]:
                    broken.append(f"{page.name}: {link}")
    assert not broken


@pytest.mark.parametrize(
    ("text", "fetches"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/x.css" />', True),
        ("a { background: url('https://example/x.png') }", True),
        ('<a href="https://example.org">there</a>', False),
        ('<script src="_static/x.js"></script>', False),
    ],
)
def test_what_would_be_fetched_is_found(text: str, fetches: bool) -> None:
    assert bool(ASKS.search(text)) == fetches


README_LINK = re.compile(r"\]\(([^)#:\s]+\.\w+)(?:#[^)]*)?\)")


def test_every_file_that_a_document_links_to_is_there() -> None:
    """On the disk, as they are read in a checkout, where nothing is built."""
    built = {ROOT / "docs" / "reference" / f"{name}.md" for name in ("commands", "configs")}
    for page in documents():
        for link in README_LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            assert target.exists(), (page, link)
            assert target not in built, (page, link)
