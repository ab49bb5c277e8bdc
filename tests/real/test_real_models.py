"""Real language models: SmolLM2 against llama.cpp with the same weights, and by every method.

`make test-real` fetches the models first; without them everything here is skipped.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.decisions import stored
from gauntlet.api import run
from gauntlet.common.errors import UserError
from gauntlet.models.base import Prompt, Score, Scores
from gauntlet.models.checkpoint import Checkpoint
from gauntlet.models.engine.files import CACHED
from gauntlet.models.engine.local import Local
from gauntlet.pipeline.tables.sweep import report
from gauntlet.pipeline.verify import verify
from tests.nodes import ROOT
from tests.real import fetch
from tests.real.smollm2 import FOLDER, MARKS, NAME, SOURCE, served

DECISIONS = 20
EQUAL = 0.95
"""Least share of prompts whose likeliest letter is that of llama.cpp."""
NOISE = 0.1, 0.4
"""Most median and largest difference of a log-probability from llama.cpp's, which quantises
activations to 8 bits. Measured here: .031 and .135 in 190 letters of 58 prompts."""
EXACT = 1e-3
"""Most difference between our two engines in float32. Measured here: 1.0e-5."""

pytestmark = MARKS


@pytest.fixture(scope="module")
def packed() -> Local:
    """The model, kept in memory for all tests of this file."""
    return Checkpoint(f"{CACHED}{NAME}").load()


@pytest.fixture(scope="module")
def decisions() -> list[Score]:
    asked = [turn.decision for turn in stored()]
    return [decision for decision in asked if decision is not None][:DECISIONS]


def letters(model: Local, decisions: Sequence[Score]) -> list[np.ndarray]:
    """The letters' log-probabilities (prompts, choices) of each decision."""
    replies = model.answer(decisions)
    assert all(isinstance(reply, Scores) for reply in replies)
    return [np.array(reply.logprobs) for reply in replies if isinstance(reply, Scores)]


@pytest.fixture(scope="module")
def ours(packed: Local, decisions: list[Score]) -> list[np.ndarray]:
    return letters(packed, decisions)


def test_an_instruct_model_is_asked_in_its_chat_template(packed: Local) -> None:
    text = packed.tokens.text(Prompt("Rules.\n", "Hand: red 1\n", "Answer:"))
    assert text.startswith("<|im_start|>system\n")
    assert text.endswith(
        "<|im_start|>user\nRules.\nHand: red 1\n<|im_end|>\n<|im_start|>assistant\nAnswer:"
    )
    auto, chat = (Checkpoint(f"{CACHED}{NAME}", chat=c).identity() for c in ("auto", True))
    assert auto == chat
    assert auto["chat"] is True


def test_the_packed_engine_is_the_reference(
    ours: list[np.ndarray], decisions: list[Score], figure: Any
) -> None:
    reference = Checkpoint(f"{CACHED}{NAME}", engine="reference").load()
    exact = letters(reference, decisions[:8])
    off = max(np.abs(a - b).max() for a, b in zip(ours, exact, strict=False))
    figure(f"SmolLM2: packed and reference differ by at most {off:.1e}")
    assert off < EXACT


class Server:
    """llama.cpp's server, asked with token ids."""

    def __init__(self) -> None:
        self.server = served(8192, 1)

    def post(self, route: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(
            self.server.listening_address + route,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=300) as reply:
            return json.load(reply)

    def next_tokens(self, ids: Sequence[int]) -> dict[int, float]:
        """The log-probabilities of the likeliest next tokens."""
        body = {"prompt": list(ids), "n_predict": 1, "n_probs": 3000, "temperature": 0}
        (place,) = self.post("/completion", body)["completion_probabilities"]
        return {token["id"]: token["logprob"] for token in place["top_logprobs"]}


@pytest.fixture(scope="module")
def server() -> Server:
    return Server()


def test_llama_cpp_reads_the_same_tokens(
    server: Server, packed: Local, decisions: list[Score]
) -> None:
    for decision in decisions:
        text = packed.tokens.text(decision.prompts[0])
        body = {"content": text, "add_special": False, "parse_special": True}
        assert server.post("/tokenize", body)["tokens"] == packed.tokens.encode(decision.prompts[0])


def test_llama_cpp_gives_the_same_choices(
    server: Server, packed: Local, decisions: list[Score], ours: list[np.ndarray], figure: Any
) -> None:
    differences, equal = [], []
    for decision, own in zip(decisions, ours, strict=True):
        spelt = packed.tokens.spellings(tuple(decision.choices))
        for prompt, row in zip(decision.prompts, own, strict=True):
            found = server.next_tokens(packed.tokens.encode(prompt))
            theirs = np.array([max(found[i] for i in ids if i in found) for ids in spelt])
            differences.append(np.abs(theirs - row))
            equal.append(theirs.argmax() == row.argmax())
    off = np.concatenate(differences)
    figure(
        f"SmolLM2 and llama.cpp: first choices equal in {sum(equal)} of {len(equal)} prompts; "
        f"log-probabilities differ by {np.median(off):.3f} (median), {off.max():.3f} (most)"
    )
    assert np.mean(equal) >= EQUAL
    assert np.median(off) < NOISE[0]
    assert off.max() < NOISE[1]


def test_fetching_again_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = FOLDER.stat()
    assert fetch.fetch(NAME, SOURCE) == FOLDER
    assert capsys.readouterr().out == f"{NAME}: already in {FOLDER}\n"
    assert FOLDER.stat() == before


def test_a_wrong_checksum_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        fetch.check(FOLDER / SOURCE.gguf, "0" * 64)
    assert str(error.value).startswith(f"{SOURCE.gguf} has the SHA-256 {SOURCE.sha256}, not 0")
    assert "\n" not in str(error.value)
    (tmp_path / SOURCE.gguf).write_bytes(b"GGUF")
    with pytest.raises(UserError, match=r": it is not used$"):
        fetch.check(tmp_path / SOURCE.gguf, SOURCE.sha256)


# Small, because rotations take a prompt per option: on 3 by 3 cells two methods ask 600 prompts.
GAMES = {
    "uno": ("game=uno",),
    "tic_tac_toe": ("game=tic_tac_toe", "game.size=2", "game.win_length=2"),
    "holdem": ("game=holdem_hands", "game.hands=2"),
    "sea_battle": ("game=sea_battle", "game.most_turns=1"),
    "leduc_poker": ("game=openspiel", "game.name=leduc_poker"),
}
WRITES = "prompt.max_tokens=12"
METHODS = {
    "cloze,counterfactual,calibrated": (),
    "pride,label_study": ("prompt.estimate=1", "prompt.plies=50"),
    "vanilla,tutri,tutri_no_history,tutri_no_strategy,letter": (WRITES,),
    "direct,cot,react": (WRITES, "prompt.retries=1"),
    "cot_sc": (WRITES, "prompt.retries=0", "prompt.samples=2"),
    "tot": (WRITES, "prompt.retries=0", "prompt.samples=1", "prompt.votes=1"),
    "base": (WRITES, "prompt.attempts=2"),
    "gamebench_cot": (WRITES, "prompt.attempts=2", "prompt.thoughts=12"),
    "rap": (WRITES, "prompt.depth=1", "prompt.iterations=1"),
    "talaga": (WRITES, "prompt.k=1", "prompt.n1=2", "prompt.n2=1", "prompt.votes=1"),
}
"""Every method that plays, with what makes it cheap."""
WATCHED = ("seats=observer", "game.games=1", "game.warmup=4")
SMALL = ("launch=inline", "tracking=none", "baseline=null", "controls=[]", "deals=1", "seed=7")


def test_every_method_is_played() -> None:
    here = {name for names in METHODS for name in names.split(",")} | {"observe"}
    assert here == {file.stem for file in (ROOT / "gauntlet" / "conf" / "prompt").glob("*.yaml")}


@pytest.mark.parametrize("methods", METHODS)
@pytest.mark.parametrize("game", GAMES)
def test_a_match(
    game: str, methods: str, packed: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(tmp_path, monkeypatch, *GAMES[game], f"prompt={methods}", *METHODS[methods])


def test_a_match_watched(packed: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(tmp_path, monkeypatch, "game=watch_tic_tac_toe", *WATCHED, "prompt=observe", WRITES)


def played(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """Play a deal of each cell: no match fails, and every record is intact."""
    monkeypatch.setattr(report, "drawings", lambda *_: {})
    results = run(*SMALL, f"model={NAME}", *words, f"output_dir={folder / 'out'}")
    cells = next(word for word in words if word.startswith("prompt=")).count(",") + 1
    assert len(results.matches) == cells * len(results.matches["rotation"].unique())
    assert not (folder / "out" / "failed_matches.jsonl").exists()
    assert verify(folder / "out").problems == {}
    asked = results.decisions.query("subject and not forced")
    assert (asked["tokens"].map(bool)).any()
