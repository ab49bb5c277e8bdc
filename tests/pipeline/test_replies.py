"""Replies from the model to the log, the tables and back: moves with words, conversations, one word
for everything, and none."""

from __future__ import annotations

import html
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.models.exchanges import TextExchange
from gauntlet.pipeline import replay, verify
from gauntlet.pipeline.config.nodes import PACKAGES
from gauntlet.pipeline.log.exchanges import LEFT_OUT, THOUGHTS_MOST
from gauntlet.pipeline.log.outcomes import outcome
from tests.agents.hints import HINT
from tests.pipeline.conftest import Capsys, Full, Sweep
from tests.pipeline.logs import matches, raw_lines
from tests.pipeline.records import decided, ended

HINTS = (
    *("game=rock_paper_scissors", "game._target_=tests.agents.hints.Hints", "~game.rounds"),
    *("~game.react", "~game.legacy_D", "+game.forced=true", "packages=[tests]"),
    "seats.0.agent=llm",
)
SKY = r"""+model.texts=['{"text": "sky"}']"""


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records may name the tests' games and models."""
    monkeypatch.setenv(PACKAGES, "tests")


@pytest.mark.parametrize("prompt", ["cloze", "vanilla"])
def test_a_models_words_are_recorded_and_played_again(
    sweep: Sweep, folder: Path, capsys: Capsys, prompt: str
) -> None:
    assert sweep(*HINTS, f"prompt={prompt}", SKY) == 0
    assert len(raw_lines(folder)) == 6
    for match, record in raw_lines(folder).items():
        hint, guess = record["decisions"]
        assert (hint["text"], hint["fallback"], hint["attempts"]) == ("sky", False, 1)
        assert "text" not in guess
        shown = replay.replay(match, [folder])
        assert shown.returns == tuple(record["returns"])
        assert shown.plies[0].decisions[0].move == "give a hint: sky"
        assert '[7 "sky"' in shown.plies[1].text
    capsys.readouterr()
    assert replay.main([next(iter(raw_lines(folder))), "--in", str(folder)]) == 0
    assert "player 0 plays give a hint: sky" in capsys.readouterr().out


def test_words_that_never_do_are_counted_as_a_fallback(sweep: Sweep, folder: Path) -> None:
    assert sweep(*HINTS, "prompt=cloze", "+model.texts=[Well.]") == 0
    said = set()
    for match, record in raw_lines(folder).items():
        hint = record["decisions"][0]
        assert (hint["status"], hint["fallback"], hint["attempts"]) == ("malformed", True, 3)
        assert len(hint["asked"]) == 3
        said.add(hint["text"])
        assert replay.replay(match, [folder]).returns == tuple(record["returns"])
    assert said <= set(HINT.examples)
    assert len(said) > 1


def test_a_player_without_words_of_its_own_says_an_example(sweep: Sweep, folder: Path) -> None:
    assert sweep(*HINTS, "seats.0.agent=random", "agent=random") == 0
    said = {record["decisions"][0]["text"] for record in raw_lines(folder).values()}
    assert said <= set(HINT.examples)
    assert len(said) > 1


# --- conversation


SETTINGS = ("game=uno_arena", "seats=solo", "deals=3")
TEXTS = (
    '+model.texts=[\'{"thoughts": "So.", "action": "1"}\',\'{"action": "99"}\',\'Hm.\',\'Hm!\']',
    "model.seed=3",
)


def decisions(folder: Path) -> list[dict[str, Any]]:
    """Return the decisions made by a model."""
    made = [decision for record in raw_lines(folder).values() for decision in record["decisions"]]
    return [decision for decision in made if decision["asked"]]


@pytest.mark.parametrize(
    ("prompt", "calls"),
    [("vanilla", 1), ("tutri", 3), ("tutri_no_history", 2)],
)
def test_every_reply_is_recorded_and_every_fallback_counted(
    sweep: Sweep, folder: Path, prompt: str, calls: int
) -> None:
    assert sweep(*SETTINGS, *TEXTS, f"prompt={prompt}") == 0
    made = decisions(folder)
    answers: Counter[Any] = Counter()
    for decision in made:
        named = decision["notes"]["answers"]
        answers.update(named)
        assert len(named) == len(decision["asked"]) == decision["attempts"] == calls
        valid = [answer for answer in named if isinstance(answer, int)]
        assert decision["fallback"] == (not valid)
        assert decision["status"] == ("ok" if valid else named[-1])
        if valid:
            assert decision["chosen"] == valid[-1]
        talked = [(one["text"], len(one.get("turns", ()))) for one in decision["asked"]]
        assert [count for _, count in talked] == list(range(calls))
        last = decision["asked"][-1].get("turns", ())
        assert [reply for reply, _ in last] == [text for text, _ in talked[:-1]]
    assert answers.keys() == {0, "malformed", "illegal"}
    (row,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert row["fallbacks"] == sum(decision["fallback"] for decision in made) > 0


# --- replies


def test_every_reply_of_the_subject_is_counted() -> None:
    """A conversation records each reply; another method's decision counts as one, by its status;
    players without a model have none."""
    found = outcome(
        ended(
            decided(1, notes={"answers": ["malformed", 2, "illegal"]}),
            decided(1, "malformed", notes={"answers": ["illegal", "illegal", "malformed"]}),
            decided(1, "malformed"),
            decided(1),
            decided(1, asked=()),
            decided(0, "illegal", notes={"answers": ["illegal"]}),
        )
    )
    assert (found.replies, found.malformed, found.illegal) == (8, 3, 3)


# --- fixed word


WORD = ("model=fake", "+model.texts=[moin]", "controls=auto")
SILENT = ("prompt=vanilla", "prompt._target_=tests.pipeline.habits.Silent", "packages=[tests]")


def test_a_word_that_no_option_has_is_told(sweep: Sweep, folder: Path, full: Full) -> None:
    """The fallback that took every move is a random one here, and is counted."""
    assert sweep("game=tic_tac_toe", "prompt=vanilla", *WORD, "deals=20") == 0
    (warning,) = pd.read_csv(folder / "summary.csv")["warning"]
    assert warning.startswith("replied 'moin' to 100.0% of ")
    assert "; a fallback took 100.0% of its decisions" in warning
    said = " ".join(full().split())
    assert f"WARNING fake[texts=[moin]] vanilla: {warning}" in said
    assert "0.0-100.0%" in said, "all matches may have been lost or won"
    page = (folder / "report.html").read_text()
    assert "WARNING fake[texts=[moin]]" in page
    samples = (folder / "samples.txt").read_text()
    for text in (samples, html.unescape(page)):
        assert text.count("-> 'moin'") == text.count("(malformed: a fallback took it)") == 5
    deals = [int(line.rpartition(" ")[2]) for line in samples.splitlines() if ", deal " in line]
    assert [deal // 4 for deal in deals] == [0, 1, 2, 3, 4], "one from each fifth of the deals"


def test_a_fallback_that_nobody_is_told_of_shows(sweep: Sweep, folder: Path, full: Full) -> None:
    """There are no fallbacks in the log: the player wins as often as one that always takes the last
    option."""
    assert sweep("game=uno", *SILENT, *WORD, "deals=12") == 0
    (cell,) = pd.read_csv(folder / "summary.csv").itertuples()
    (read,) = pd.read_csv(folder / "parser.csv").itertuples()
    assert cell.fallbacks == read.malformed == 0
    first, habit, *rivals = cell.warning.split("; ")
    assert first.startswith("replied 'moin' to 100.0% of ")
    assert habit.startswith("took the last option in 100.0% of ")
    lead = "not shown to do better than always taking the last option (+0.0 points, 95% interval -"
    assert rivals[-1].startswith(lead)
    controls = pd.read_csv(folder / "controls.csv").set_index("control")
    assert controls.loc["last option", "difference"] == 0
    assert controls.loc["last option", "control_mean"] == cell.raw
    assert "A fixed option in the subject's seat" in " ".join(full().split())


# --- no answer


MOODY = (
    *("game=tic_tac_toe", "model._target_=tests.pipeline.moody.Moody"),
    *("packages=[tests]", "prompt=vanilla", "deals=6", "controls=[]"),
)


def details(folder: Path) -> list[TextExchange]:
    """All written replies."""
    return [
        one
        for record in matches(folder).values()
        for decision in record.decisions
        for one in decision.asked
        if isinstance(one, TextExchange)
    ]


def test_thoughts_and_ends_are_kept_and_shown(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep(*MOODY) == 0
    found = details(folder)
    ends = Counter(one.detail(0).finish for one in found)
    assert ends.keys() == {"stop", "length", "refused", "filtered", "context"}
    for one in found:
        thoughts = one.detail(0).thoughts
        assert (len(thoughts) <= THOUGHTS_MOST, LEFT_OUT in thoughts) == (True, True)
        assert one.thought_tokens == 20
    printed = " ".join(capsys.readouterr().out.split())
    assert "of its replies were cut by the token limit" in printed
    assert "were refused by the model or withheld by its server" in printed
    (row,) = pd.read_csv(folder / "parser.csv").to_dict("records")
    assert row["malformed"] == 0
    assert (row["truncated"], row["refused"]) == (ends["length"], ends["refused"])
    assert verify.main([str(folder), "--replay", "all"]) == 0
    capsys.readouterr()
    for match in raw_lines(folder):
        assert replay.main([match, "--in", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "thoughts 0: I think. I think." in shown
    assert "I would rather not." in shown


def test_a_seat_that_gives_up_loses(sweep: Sweep, folder: Path, capsys: Capsys) -> None:
    assert sweep(*MOODY, "agent.on_bad_reply=forfeit") == 0
    records = matches(folder).values()
    given_up = [record for record in records if record.forfeits]
    assert len(given_up) > 0
    for record in given_up:
        (seat,) = record.forfeits
        last = record.decisions[-1]
        assert (last.seat, last.fallback) == (seat, True)
        assert last.status in ("truncated", "refused", "filtered", "context")
        assert record.returns[seat] == -1
        assert record.measures["win"][1 - seat] == 1
    capsys.readouterr()
    assert replay.main([given_up[0].match, "--in", str(folder)]) == 0
    assert f"player {given_up[0].forfeits[0]} gave up; won by player" in capsys.readouterr().out
    assert verify.main([str(folder), "--replay", "all"]) == 0
    assert sweep(*MOODY, "agent.on_bad_reply=forfeit") == 0, "nothing is left to play"
    assert {*matches(folder)} == {record.match for record in records}
