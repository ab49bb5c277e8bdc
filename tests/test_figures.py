"""Figures in the documentation that commands make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from docs import figures
from gauntlet.papers.gamebench.matches import FILE, WHERE

COUNT = "python -c 'print(1 + 1)'"
PAGE = f"""# A page

<!-- made by: {COUNT} -->
old
<!-- end -->
Between.
<!-- made by (slow): python -c "print('late')" -->
<!-- end -->
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.md"
    file.write_text(PAGE)
    return file


def test_a_block_holds_what_its_command_prints(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert figures.main([str(page)]) == 0
    assert page.read_text() == PAGE.replace("old\n", "2\n")
    assert f"{COUNT} ..." in capsys.readouterr().out


def test_the_check_finds_a_difference_and_writes_nothing(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert figures.main([str(page), "--check"]) == 1
    assert page.read_text() == PAGE
    said = capsys.readouterr().out
    assert "-old\n+2\n" in said
    assert "1 file out of date" in said


def lines(text: str) -> Callable[[str], str]:
    return lambda command: f"\n{text}\n{command}\n"


def test_after_a_second_run_nothing_differs() -> None:
    once = figures.rewritten(PAGE, lambda block: True, lines("a"))
    assert once.count("a\npython") == 2
    assert figures.rewritten(once, lambda block: True, lines("a")) == once


def test_slow_commands_run_when_asked_for_and_others_by_a_part_of_their_name(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(figures, "output", lambda command: ran.append(command) or "x")
    for words, count in (([], 1), (["--slow"], 2), (["--slow", "--only", "late"], 1)):
        ran.clear()
        figures.main([str(page), "--check", *words])
        assert len(ran) == count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- made by: rm -rf x -->\n<!-- end -->\n", "line 1: after '<!-- made by:' stands"),
        ("a\n<!-- made by: python -V -->\n", "line 2: no '<!-- end -->' ends this block"),
        ("<!-- made by: python -c 'raise SystemExit(3)' -->\n<!-- end -->\n", "status 3"),
        ("<!-- made by: python -c ' -->\n<!-- end -->\n", "No closing quotation"),
        ("<!-- made by: python -c '' -->\n<!-- end -->\n", "printed nothing"),
    ],
)
def test_what_is_wrong_is_one_line(
    page: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    page.write_text(text)
    assert figures.main([str(page)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert page.read_text() == text


def test_every_block_of_the_documents_can_be_read() -> None:
    found = [
        block
        for file in figures.documents()
        for block in figures.blocks(file.read_text().split("\n"))
    ]
    assert any(not block.slow for block in found)
    assert all(block.end > block.start for block in found), "a block that was never made"


def test_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert figures.main(["nowhere.md"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


ABSENT = "<!-- made by: python docs/sheet.py audit --matches nowhere.json -->\n<!-- end -->\n"


def test_a_sheet_without_its_file_fails_and_other_pages_are_made(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "audit.md"
    sheet.write_text(ABSENT)
    assert figures.main([str(sheet), str(page)]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "nowhere.json: the match file is not here: github.com/Joshuaclymer/GameBench" in said.err
    assert "1 file written, 1 failed" in said.out
    assert sheet.read_text() == ABSENT


@pytest.mark.slow
@pytest.mark.skipif(not FILE.exists(), reason=WHERE)
def test_the_audit_is_what_its_command_makes() -> None:
    assert (
        figures.main([str(figures.ROOT / "gauntlet/papers/audit/README.md"), "--check", "--slow"])
        == 0
    )


@pytest.mark.slow
def test_quick_figures_are_as_their_commands_make_them() -> None:
    assert figures.main(["--check"]) == 0


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("docs/validation.md", "benchmarks.textbook"),
        ("docs/games/pettingzoo.md", "docs/adapters.py"),
        pytest.param("docs/tutorial.md", "--table verdict", marks=pytest.mark.slow),
        pytest.param("docs/concepts/pairing.md", "--table precision", marks=pytest.mark.slow),
        pytest.param("docs/obfuscation.md", "--table renamed", marks=pytest.mark.slow),
    ],
)
def test_a_sample_of_figures_is_as_the_commands_make_them(file: str, part: str) -> None:
    """One of every kind; the rest is for `make figures SLOW=1`."""
    if "pettingzoo" in file:
        pytest.importorskip("pettingzoo")
    page = figures.ROOT / file
    assert part in page.read_text()
    assert figures.main([str(page), "--check", "--slow", "--only", part]) == 0
