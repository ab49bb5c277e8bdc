"""Real decisions to score: cloze prompts from two-player UNO between random players.

python -m benchmarks.decisions    writes the fallback file for machines without the games
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.common.disk import write_atomically
from gauntlet.models.base import Prompt, Score

FILE = Path(__file__).parent / "decisions.json.gz"
WRITTEN = 256


@dataclass(frozen=True)
class TwoQuestions:
    """One turn of a seat: the decision as this project prompts it (None without a choice), and the
    prompts of the published loop, which lists a card held twice as two options."""

    decision: Score | None
    published: Score


def turns(decisions: int, seed: int = 0) -> list[TwoQuestions]:
    """Return turns of whole games with at least `decisions` decisions; if numba or the games are
    not installed, all turns of the committed file."""
    try:
        return played(decisions, seed)
    except ModuleNotFoundError:
        return stored()


def played(decisions: int, seed: int) -> list[TwoQuestions]:
    """Return the turns of seat 1 in games dealt from `seed`."""
    from gauntlet.games.uno import Uno

    game, published = Uno(), Uno(paper_bugs=True)
    rng = np.random.default_rng(seed)
    asked: list[TwoQuestions] = []
    found = 0
    while found < decisions:
        state = game.deal(rng)
        while seats := game.to_move(state):
            options = game.legal(state, seats[0])
            if seats[0] == 1:
                decision = _question(game, state) if len(options) > 1 else None
                found += decision is not None
                asked.append(TwoQuestions(decision, _question(published, state)))
            state = game.play(state, (int(rng.choice(options)),))
    return asked


def _question(game: Any, state: Any) -> Score:
    """Return the cloze prompts of seat 1's turn."""
    from gauntlet.agents.base import Goal, Turn
    from gauntlet.agents.prompting.cloze import Cloze

    turn = Turn(game, game.legal(state, 1), Goal(), lambda: game.observe(state, 1))
    request = next(Cloze().ask(turn, np.random.default_rng(0)))
    if not isinstance(request, Score):
        raise TypeError(f"cloze asked {request!r}, not for scores")
    return request


def stored() -> list[TwoQuestions]:
    """Return the turns of the committed file."""
    written = json.loads(gzip.decompress(FILE.read_bytes()))
    statics: list[str] = written["statics"]
    return [
        TwoQuestions(_score(turn[0], statics) if turn[0] else None, _score(turn[1], statics))
        for turn in written["turns"]
    ]


def store(turns: Sequence[TwoQuestions]) -> None:
    """Write the file; static parts and the common prefixes of each decision are stored once."""
    statics: list[str] = []
    rows = [
        [_row(score, statics) if score else None for score in (turn.decision, turn.published)]
        for turn in turns
    ]
    text = json.dumps({"statics": statics, "turns": rows}, ensure_ascii=False)
    write_atomically(FILE, gzip.compress(text.encode(), mtime=0))
    print(f"{len(rows)} turns in {FILE.name}")


def _row(score: Score, statics: list[str]) -> list[Any]:
    first = score.prompts[0]
    if first.static not in statics:
        statics.append(first.static)
    changing = [prompt.changing for prompt in score.prompts]
    shared = next(
        (i for i, letters in enumerate(zip(*changing, strict=False)) if len(set(letters)) > 1),
        min(map(len, changing)),
    )
    branches = [text[shared:] for text in changing]
    place = statics.index(first.static)
    return [place, first.cue, list(score.choices), changing[0][:shared], branches]


def _score(row: Sequence[Any], statics: Sequence[str]) -> Score:
    place, cue, choices, shared, branches = row
    prompts = tuple(Prompt(statics[place], shared + branch, cue) for branch in branches)
    return Score(prompts, tuple(choices))


if __name__ == "__main__":
    store(played(WRITTEN, seed=0))
