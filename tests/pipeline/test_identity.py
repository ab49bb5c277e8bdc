"""A cell's key changes with every word that a player may read, and with nothing that is no word.

The texts are changed in the source, one by one; `EXCEPTIONS` lists all that no player ever reads.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from agents.base import Answer, Decision, Goal, Question, Thinking, Turn
from agents.llm import LLM
from games.are_you_the_traitor import AreYouTheTraitor
from games.base import Game
from games.rock_paper_scissors import RockPaperScissors
from games.tic_tac_toe import TicTacToe
from games.uno import Uno
from games.uno.arena import UnoArena
from games.watch import Watch
from models.base import Generate, Generation, Prompt, Score, Scores
from pipeline.plan.made_up import made_up
from pipeline.plan.probe import MOST, Role, probe
from tests.agents.hints import Hints
from tests.nodes import ROOT, build, nodes
from tests.pipeline.mutants import mutated, texts
from tests.pipeline.wrapped import Wrapped

FEW = {"pride": {"plies": 100}, "label_study": {"plies": 100}}
PROMPTS = {name: {**node, **FEW.get(name, {})} for name, node in nodes("prompt").items()}
PROMPTS["pride_arithmetic"] = {**PROMPTS["pride"], "mean": "arithmetic"}
PROMPTS["tutri_slip"] = {**PROMPTS["tutri"], "legacy_truthiness": True}
PROMPTS |= {
    f"{name}_{wording}": {**PROMPTS[name], "wording": wording}
    for name in ("cloze", "counterfactual", "vanilla")
    for wording in ("terse", "formal")
}
PROMPTS["rap_letters"] = {**PROMPTS["rap"], "letters": True}
PROMPTS["talaga_move"] = {**PROMPTS["talaga"], "reward": "move"}
PROMPTS["talaga_terminal"] = {**PROMPTS["talaga"], "llm_terminal": True}
Case = tuple[Game[Any], str]

BOARD, HINTS, ROUNDS = TicTacToe(2, 2, 2), Hints(), RockPaperScissors(2, 4)
ARENA, PAPER = UnoArena(2), Uno(2, quirks=True)
TRAITOR = AreYouTheTraitor(points=1, exchanges=1)
WATCHED = Watch(of=RockPaperScissors(rounds=12), catalogue=("H", "Y"))
CASES: dict[str, list[Case]] = {
    "agents.prompting.base": [
        *[(ARENA, "cloze"), (ARENA, "vanilla"), (Hints(), "cloze")],
        (WATCHED, "observe"),
    ],
    "agents.prompting.acting": [(HINTS, "base"), (TRAITOR, "base")],
    "agents.prompting.answers": [(ARENA, "vanilla")],
    "agents.prompting.calibrated": [(ARENA, "label_study")],
    "agents.prompting.foretelling": [(BOARD, "rap"), (HINTS, "rap"), (BOARD, "rap_letters")],
    "agents.prompting.priors": [(ARENA, "calibrated")],
    "agents.prompting.samples": [(ARENA, "pride")],
    "agents.prompting.words": [(Hints(), "cloze")],
    "agents.prompting.reading": [
        (ROUNDS, "talaga"),
        (BOARD, "tot"),
        (ROUNDS, "direct"),
        (HINTS, "react"),
    ],
    "agents.prompting.reasoned": [(ROUNDS, "direct")],
    "agents.prompting.wording": [
        (game, name)
        for name in ("cloze", "counterfactual", "vanilla")
        for name in (name, f"{name}_terse", f"{name}_formal")
        for game in (TicTacToe(), Hints())
    ],
    "games.uno.words": [
        *((ARENA, "cloze"), (PAPER, "cloze")),
        *((ARENA, "tutri"), (Uno(5), "tutri")),
    ],
    "games.uno.arena.words": [(ARENA, "cloze")],
}
"""By module the games and methods that bring its texts before a model; those of `conf/prompt` come
with their own modules."""
REASONED = ("direct", "cot", "cot_sc", "react", "tot", "talaga", "talaga_move", "talaga_terminal")
for _name, _node in PROMPTS.items():
    _cases = CASES.setdefault(str(_node["_target_"]).rpartition(".")[0], [])
    if _name in REASONED:
        _cases += [(BOARD, _name)] * (_name != "talaga")  # its variants ask the same and more
        _cases += [(HINTS, _name)] * (_name in ("react", "talaga_move"))
        CASES["agents.prompting.reasoned"] += [(BOARD, _name)] * (_name in ("direct", "cot"))
    elif _name == "observe":
        _cases += [(WATCHED, _name)]
    elif _name in ("base", "gamebench_cot", "rap", "rap_letters"):
        _cases += [(BOARD, _name), (HINTS, _name)] + [(TRAITOR, _name)] * (_name == "base")
    else:
        _cases += [(ARENA, _name)] + [(Wrapped(TicTacToe()), _name)] * (_name == "tutri")

EXCEPTIONS = {
    "agents.prompting.acting": {  # of the record; of no example; what stands between several
        *("ok", "illegal", "malformed", "was left out", "", ", "),
        "explain\\s*\\(\\s*(.*?)\\s*\\)",
    },
    "agents.prompting.answers": {"replace", "{"},  # of a codec, and where an object begins
    "agents.prompting.base": {" and "},  # between two partners; here are teams of two
    "agents.prompting.label_study": {  # what notes are called
        *("chosen", "prior", "prompts", "single", "calibrated", "pride", "cheaper"),
        *("calibrated_averaged", "pride_arithmetic"),
    },
    "agents.prompting.calibrated": {"told", "unless default"},
    "agents.prompting.foretelling": {"", "\n", "^(?:\\d+[.):]|[A-Z][.)]|[-*])\\s+", "replace"},
    "agents.prompting.gamebench": {
        *("attempts=", ", max_tokens=", "explained", "faults", "malformed", "illegal", "ok"),
    },
    "agents.prompting.letter": {r"\W*([A-Z])\b"},  # no made-up reply is a letter alone
    "agents.prompting.observe": {  # of a good reply and of the record; what stands between three
        *("{", "}", "malformed", "illegal", "confidence", "reasoning", "; ", "replace"),
        *("max_tokens=", ", reasons=", ", "),
    },
    "agents.prompting.pride": {"geometric", "told", "unless default"},  # configs name the mean
    "agents.prompting.priors": {"prior"},
    "agents.prompting.rap": {  # of the record; labels alone
        *("answers", "faults", "guesses", "totals", "visits", "illegal", "malformed", "ok"),
        *("yes", "no", "\n"),
    },
    "agents.prompting.react": {"", ":", "(?i)action:(.*)"},  # which action was named is noted
    "agents.prompting.reading": {"", " .*\t", "malformed", "illegal"},
    "agents.prompting.reasoned": {"answers", "illegal"},
    "agents.prompting.talaga": {"situation", "move", "ok", "malformed", "illegal", "reworded"},
    "agents.prompting.tot": {"ok", "malformed"},
    "agents.prompting.tutri": {""},
    "agents.prompting.vanilla": {"answers", "dropped", "malformed", ""},
    "agents.prompting.wording": {
        *("plain", "told", "unless default"),
        *("", "\n- "),  # of options with a comma of their own
    },
    "agents.prompting.words": {"faults", "illegal", "replace"},  # of the record, and of a codec
    "games.uno.words": {"", "did nothing", "no colour", "drew and"},  # met once in many deals
}


def asked(game: Game[Any], method: str) -> str:
    """What a player that asks by this method asks in both seats."""
    roles = (Role(0, Goal()), Role(1, Goal(helps=0)))
    own = roles[: game.num_seats]
    return probe(game, LLM(build(PROMPTS[method])), own, ask_forced=game == PAPER)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_changed_text_is_another_key(name: str) -> None:
    module = importlib.import_module(name)
    before = [asked(*case) for case in CASES[name]]
    unnoticed = set()
    for number, text in enumerate(texts(module)):
        try:
            with mutated(module, number):
                same = all(
                    asked(*case) == key for case, key in zip(CASES[name], before, strict=True)
                )
        except (ValueError, KeyError, IndexError):
            same = False  # nobody plays with that
        if same:
            unnoticed.add(text)
    assert unnoticed <= EXCEPTIONS.get(name, set())
    assert [asked(*case) for case in CASES[name]] == before


def test_the_texts_of_every_method_are_changed() -> None:
    files = {file.stem for file in (ROOT / "agents" / "prompting").glob("*.py")} - {"__init__"}
    assert {f"agents.prompting.{stem}" for stem in files} <= CASES.keys()


# --- what is asked at other times, and after bad replies


@dataclass(frozen=True)
class Talker:
    """Says `text` at one occasion, and the same as ever at all others."""

    occasion: str
    text: str

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Talker]:
        yield self._about("preparation")
        return self

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        reply = yield self._about("first")
        assert isinstance(reply, Generation)
        if "action" not in reply.text:
            yield self._about("retry")
        yield (self._about("vote"), self._about("second vote"))
        row = yield Score((Prompt("", "which?"),), ("A", "B"))
        assert isinstance(row, Scores)
        if max(row.logprobs[0]) == -np.inf:
            yield self._about("silence")
        if turn.observation.seat == 1:
            yield self._about("seat 1")
        return Decision(0)

    def on_end(
        self, seat: int, moves: Sequence[str], ending: str, returns: Sequence[float]
    ) -> Generator[Question, Answer, None]:
        yield self._about("end")

    def _about(self, occasion: str) -> Generate:
        return Generate(Prompt("", self.text if occasion == self.occasion else occasion), 10)


OCCASIONS = (
    *("preparation", "first", "retry", "vote", "second vote"),
    *("silence", "seat 1", "end"),
)
BOTH = (Role(0, Goal()), Role(1, Goal()))


@pytest.mark.parametrize("game", [UnoArena(2), RockPaperScissors()], ids=["arena", "rps"])
@pytest.mark.parametrize("occasion", OCCASIONS)
def test_whatever_is_said_counts(game: Game[Any], occasion: str) -> None:
    told = {probe(game, Talker(occasion, text), BOTH) for text in ("one", "two")}
    assert len(told) == 2


def test_a_seat_that_is_never_taken_does_not_count() -> None:
    told = {probe(UnoArena(2), Talker("seat 1", text), BOTH[:1]) for text in ("one", "two")}
    assert len(told) == 1


@dataclass(frozen=True)
class Endless:
    """Never comes to its first match."""

    def prepare(
        self, game: Game[Any], seat: int, goal: Goal
    ) -> Generator[Question, Answer, Endless]:
        while True:
            yield Generate(Prompt("", "and then?"), 10)

    def decide(self, turn: Turn, rng: np.random.Generator) -> Thinking:
        raise AssertionError("not reached")
        yield


def test_a_probe_ends() -> None:
    assert probe(UnoArena(2), Endless(), BOTH) == probe(UnoArena(2), Endless(), BOTH[:1])


# --- made-up replies


def test_made_up_texts_are_of_every_kind() -> None:
    from agents.prompting.answers import named

    rng, names = np.random.default_rng(0), ("red 7", "blue 3", "draw a card")
    request = Generate(Prompt("", "which?"), 10, n=MOST)
    reply = made_up(request, names, (), rng)
    assert isinstance(reply, Generation)
    read = [named(text, names) for text in reply.texts]
    assert {0, 1, 2, "malformed", "illegal"} <= set(read)
    assert "" in reply.texts
    assert any(all(name in text for name in names[:2]) for text in reply.texts)


def test_made_up_scores_are_of_every_kind() -> None:
    rng = np.random.default_rng(0)
    request = Score((Prompt("", "which?"),) * 3, ("A", "B", "C"))
    replies = [made_up(request, (), (), rng) for _ in range(200)]
    rows = [reply.logprobs for reply in replies if isinstance(reply, Scores)]
    assert any(max(map(max, told)) == -np.inf for told in rows), "nothing at all"
    assert any(min(map(max, told)) == -np.inf < max(map(max, told)) for told in rows), "some rows"
    assert any(min(row) == -np.inf < max(row) for told in rows for row in told), "some choices"
    assert all(value * 8 == int(value * 8) for t in rows for r in t for value in r if value > -99)


# --- the same everywhere

SCRIPT = """
from tests.pipeline.test_identity import ARENA, asked
print(*(asked(ARENA, method) for method in ("cloze", "tutri", "label_study")))
"""


@pytest.mark.parametrize("hashes", ["0", "4242"])
def test_another_process_comes_to_the_same_key(hashes: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    here = [asked(ARENA, method) for method in ("cloze", "tutri", "label_study")]
    assert done.stdout.split() == here
