"""The parser's audit: every kind of reply by the real parsers, and its entry in the tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gauntlet.agents.base import Decision, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import Method
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.gamebench import Base
from gauntlet.agents.prompting.observe import Observe
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.games.base import TextAction, TextSpec
from gauntlet.games.uno import Uno
from gauntlet.games.watch.game import Watch
from gauntlet.models.base import Detail, Finish, Generate, Generation, Reply, Request
from gauntlet.models.exchanges import Exchange
from gauntlet.pipeline.log.schema import DecisionRecord
from gauntlet.pipeline.plan.cells import Player
from gauntlet.pipeline.play.chains import Answered, answer_questions
from gauntlet.pipeline.tables.sweep.reply_audit import Audit, classify, reprompted
from tests.agents.play import turn_with
from tests.pipeline.conftest import Full, Sweep
from tests.pipeline.records import decided, ended, scored

ONE, TWO = '{"action": "1"}', '{"action": "2"}'
FEW = 8
"""Words that these replies may have; one token each."""


def record_of(
    method: Method, *replies: str | Generation, turn: Turn | None = None, again: int = 0
) -> DecisionRecord:
    """Return the record of a decision of the method, where the model gives these replies in turn;
    the last one repeatedly. A request for several takes that many. again: how often a bad reply is
    asked for again."""
    turn, left = turn or turn_with("draw", "draw two", "red 3"), list(replies)

    def said() -> str | Generation:
        return left.pop(0) if len(left) > 1 else left[0]

    def reply(request: Request) -> Reply:
        assert isinstance(request, Generate)
        texts = [said() for _ in range(request.n)]
        if isinstance(texts[0], Generation):
            return texts[0]
        lengths = [len(str(one).split()) for one in texts]
        details = tuple(Detail("length" if n >= request.max_tokens else "stop") for n in lengths)
        text, *others = map(str, texts)
        return Generation(text, 9, sum(lengths), tuple(others), details)

    asked: list[Exchange] = []
    statics: dict[str, str] = {}
    model: Any = object()
    agent = LLM(method, "ask_again", again) if again else LLM(method, "fallback")
    player = Player("tested", agent, model, None)
    chain = answer_questions(agent.decide(turn, np.random.default_rng(1)), player, asked, statics)
    decision = _run(chain, reply)
    record = decided(
        1,
        decision.status,
        options=turn.observation.options,
        chosen=decision.option,
        fallback=decision.fallback,
        attempts=decision.attempts,
        asked=tuple(asked),
        notes=dict(decision.notes),
        text=decision.text,
    )
    STATICS.update(statics)
    return record


STATICS: dict[str, str] = {}


def _run(chain: Any, reply: Any) -> Decision:
    try:
        asks = list(next(chain))
        while True:
            ask = asks.pop(0)
            asks += chain.send(Answered(ask, reply(ask.request)))
    except StopIteration as stop:
        decision: Decision = stop.value
        return decision


def kinds(decision: DecisionRecord) -> list[tuple[str, ...]]:
    return [one.kinds for one in classify(decision)]


def counted(*decisions: DecisionRecord) -> dict[str, int]:
    """Return the counts of an audit, without the zeros."""
    audit = Audit()
    audit.add(ended(*decisions, statics=STATICS))
    return {name: count for name, count in audit.counts.items() if count}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (TWO, ()),
        ('{"action": "Draw Two"}', ()),
        ('So {"thoughts": "draw two?", "action": 1} then', ()),
        ("draw two", ("malformed",)),
        ('{"action": "9"}', ("illegal",)),
        (" \n ", ("malformed", "empty")),
        ("", ("malformed", "empty")),
        (f"{ONE} or {TWO}", ("ambiguous",)),
        (f"{ONE} again {ONE}", ()),
        ("I think that I would like to draw a card now", ("truncated",)),
        (f"{ONE} x x x x x x", ("truncated",)),
        (f"{ONE} x x x x x", ()),
    ],
)
def test_a_json_reply_is_of_these_kinds(reply: str, expected: tuple[str, ...]) -> None:
    assert kinds(record_of(Vanilla(max_tokens=FEW), reply)) == [expected]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Thought: draw or red 3?\nMove: <draw two>", ()),
        ("Move: draw two", ()),
        ("<draw> is worse.\nMove: <red 3>", ("ambiguous",)),
        ("Move: draw\nMove: red 3", ("ambiguous",)),
        ("Move: <red 3> ", ()),
        ("red 3", ()),
        ("Move: <jump>", ("illegal",)),
        ("no idea", ("malformed",)),
        ("<red3> <red_3>", ()),
    ],
)
def test_a_reply_in_words_is_of_these_kinds(reply: str, expected: tuple[str, ...]) -> None:
    assert kinds(record_of(Cot(retries=0), reply)) == [expected]


def test_decisions_are_asked_again_recover_or_fall_back() -> None:
    """TUTRI continues in any case; of equal replies each counts."""
    again = record_of(Cot(retries=2), "hm", "<jump>", "<draw>")
    assert kinds(again) == [("malformed",), ("illegal",), ()]
    told = {"decisions": 1, "replies": 3, "malformed": 1, "illegal": 1, "reasked": 1}
    assert counted(again) == {**told, "recovered": 1}
    lost = record_of(Cot(retries=1), "hm")
    told = {"decisions": 1, "replies": 2, "malformed": 2, "reasked": 1, "fallbacks": 1}
    assert counted(lost) == told
    once = record_of(Cot(retries=0), "hm")
    assert counted(once) == {"decisions": 1, "replies": 1, "malformed": 1, "fallbacks": 1}
    sampled = record_of(Cot(samples=3), "hm", "<draw>", "hm")
    told = {"decisions": 1, "replies": 3, "malformed": 2, "recovered": 1}
    assert counted(sampled) == told, "side by side, not one after the other"
    plain = record_of(Tutri(), ONE)
    assert counted(plain) == {"decisions": 1, "replies": 3}
    assert not reprompted(plain, classify(plain))
    assert counted(again, lost)["decisions"] == 2


def test_words_that_go_with_an_option_are_replies_too() -> None:
    wanted = TextSpec("one word", ("fish",), pattern=r"\w+")
    turn = replace(turn_with("clue"), options=(TextAction(0, wanted),))
    good, bad = '{"text": "bird"}', '{"text": "two words"}'
    told = record_of(Vanilla(), "hm", bad, good, turn=turn)
    assert kinds(told) == [("malformed",), ("illegal",), ()]
    assert counted(told)["recovered"] == counted(told)["reasked"] == 1
    both = replace(turn_with("pass", "clue"), options=(0, TextAction(1, wanted)))
    assert kinds(record_of(Vanilla(), TWO, bad, good, turn=both)) == [(), ("illegal",), ()]
    own = '{"action": "2", "openended_response": "%s"}'
    assert kinds(record_of(Base(), own % "two words", own % "bird", turn=both)) == [
        ("illegal",),
        (),
    ]


def test_a_method_that_notes_nothing_is_judged_by_what_it_asked() -> None:
    """An observer retries once after an unusable reply."""
    game = Watch(num_seats=1, of=Uno(3))
    state = game.deal(np.random.default_rng(1))
    turn = Turn(game, game.legal(state, 0), turn_with("a").goal, lambda: game.observe(state, 0))
    codes = ", ".join(f'"guess_s{name}": "{game.codes[0]}"' for name in game.watched)
    good = "{" + codes + "}"
    assert kinds(record_of(Observe(), good, turn=turn)) == [()]
    assert kinds(record_of(Observe(), "hm", good, turn=turn)) == [("malformed",), ()]
    lost = record_of(Observe(), "hm", turn=turn)
    assert kinds(lost) == [("malformed",), ("malformed",)]
    assert counted(lost)["reasked"] == counted(lost)["fallbacks"] == 1


def test_choices_that_were_scored() -> None:
    """A request counts as a reply: without any probability it is unusable."""
    fine, none = decided(1), decided(1, "malformed", fallback=True)
    assert (kinds(fine), kinds(none)) == ([()], [("malformed",)])
    silent = decided(1, asked=(scored(unreported=2),))
    assert counted(fine, none, silent)["unreported"] == 2
    assert counted(decided(0), decided(1, asked=())) == {}, "another's, and nobody's"


@pytest.mark.parametrize("finish", ["refused", "filtered", "paused", "context", "tool", "unknown"])
def test_a_reply_without_an_answer_is_called_by_its_end(finish: Finish) -> None:
    """It is neither malformed nor illegal, whatever words came with it."""
    reply = Generation("draw", 9, 1, details=(Detail(finish),))
    record = record_of(Vanilla(), reply)
    assert (kinds(record), record.status) == ([(finish,)], finish)
    assert counted(record)["fallbacks"] == counted(record)[finish] == 1


def test_a_reply_that_was_asked_for_again_is_counted() -> None:
    """Cut twice and read then: three replies to one decision."""
    cut = Generation("I think", 9, 8, details=(Detail("length"),))
    record = record_of(Vanilla(max_tokens=FEW), cut, cut, TWO, again=2)
    assert kinds(record) == [("truncated",), ("truncated",), ()]
    assert (record.status, record.fallback, record.attempts) == ("ok", False, 3)
    found = counted(record)
    assert (found["replies"], found["truncated"], found["recovered"]) == (3, 2, 1)
    assert found["reasked"] == 1


def test_examples_are_of_the_first_deals_whatever_the_order() -> None:
    """At most EXAMPLES per kind; a reply of two kinds appears once."""
    bad, empty = record_of(Vanilla(), "hm"), record_of(Vanilla(), "")
    records = [
        ended(bad if deal else empty, deal=deal, match=f"m{deal}", statics=STATICS)
        for deal in range(9)
    ]
    found = []
    for order in (records, records[::-1], records[4:] + records[:4]):
        audit = Audit()
        for record in order:
            audit.add(record)
        found.append(audit.examples)
    assert found[0] == found[1] == found[2]
    assert [(one.deal, one.label) for one in found[0]] == [
        (0, "malformed, empty"),
        (1, "malformed"),
        (2, "malformed"),
    ]
    assert found[0][1].question.endswith("Answer:")
    assert (found[0][1].reply, found[0][1].outcome) == ("hm", f"a fallback took {bad.move}")


TEXTS = "+model.texts=['{\"action\": \"1\"}','<script>alert(1)</script>','','{\"action\": \"99\"}']"


def test_a_sweep_writes_its_audit_and_shows_examples(
    sweep: Sweep, folder: Path, full: Full
) -> None:
    assert sweep("game=tic_tac_toe", "prompt=vanilla", TEXTS, "deals=5") == 0
    (row,) = pd.read_csv(folder / "parser.csv").to_dict("records")
    (main,) = pd.read_csv(folder / "summary.csv").to_dict("records")
    assert row["replies"] == row["decisions"] == main["decisions"]
    assert row["fallbacks"] == main["fallbacks"] == row["malformed"] + row["illegal"] > 0
    examples = pd.read_csv(folder / "parser_examples.csv", keep_default_na=False)
    assert set(examples["kinds"]) >= {"malformed", "malformed, empty", "illegal"}
    page = (folder / "report.html").read_text()
    assert "Replies, looked at" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "What was wrong with replies" in full()
