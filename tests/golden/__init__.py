"""Golden playthroughs and prompts: games, and conversations by every prompting method, written out
in full for a person to read.

`python -m tests.golden` rewrites tests/golden/<game>.txt and tests/golden/prompts/<method>.txt;
review the diff before committing it. Models are trained on these prompts: whoever changes a wording
has to train them anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.agents.base import Goal, Turn
from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.base import format_facts
from gauntlet.games.air_land_sea import AirLandSea
from gauntlet.games.arctic_scavengers import ArcticScavengers
from gauntlet.games.are_you_the_traitor import AreYouTheTraitor
from gauntlet.games.base import Action, Game, TextMove, default_text_move
from gauntlet.games.codenames import Codenames
from gauntlet.games.hive import Hive
from gauntlet.games.holdem import Holdem
from gauntlet.games.pit import Pit
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.santorini import Santorini
from gauntlet.games.sea_battle import SeaBattle
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.two_rooms import TwoRooms
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.watch import Watch
from gauntlet.models.base import Generate, Generation, Prompt, Reply, Request
from gauntlet.models.fake import reply_in_form
from tests.agents.play import drive, opinionated, talk, turn_at
from tests.nodes import build, nodes

FOLDER = Path(__file__).parent


def playthrough(game: Game[Any], deal_seed: int) -> str:
    """Return a game of uniformly random moves: each state, the observations and options of the
    seats to move, and their choices."""
    rng = np.random.default_rng(deal_seed)
    state = game.deal(rng)
    rules = game.observe(state, game.to_move(state)[0]).rules
    lines = [f"{game}, deal seed {deal_seed}", "", f"rules: {rules}"]
    ply = 0
    while seats := game.to_move(state):
        lines += ["", f"--- ply {ply}", game.show(state)]
        moves = []
        for seat in seats:
            choice = int(rng.integers(len(game.legal(state, seat))))
            move = default_text_move(game.legal(state, seat)[choice], rng)
            lines += _turn(game, state, seat, choice, move)
            moves.append(move)
        state = game.play(state, moves)
        ply += 1
    lines += ["", f"--- over after {ply}", game.show(state), f"returns: {game.returns(state)}"]
    return "\n".join(lines) + "\n"


def _turn(game: Game[Any], state: Any, seat: int, choice: int, move: Action) -> list[str]:
    seen = game.observe(state, seat)
    who = f", {seen.role}" * bool(seen.role)
    lines = [f"player {seat}{who} is told:"]
    lines += [f"    {line}" for line in format_facts(seen.facts).splitlines()]
    lines += [f"    last move: {seen.history[-1] if seen.history else 'none'}"]
    said = f": {move.text}" if isinstance(move, TextMove) else ""
    return [
        *lines,
        f"    options: {', '.join(seen.options)}",
        f"    chooses: {seen.options[choice]}{said}",
    ]


GAMES: dict[str, tuple[Game[Any], int]] = {
    "air_land_sea": (AirLandSea(goal=6), 35),
    "arctic_scavengers": (ArcticScavengers(rounds=4), 1902),
    "are_you_the_traitor": (AreYouTheTraitor(points=5, exchanges=2), 408),
    "hive": (Hive(), 369),
    "codenames": (Codenames(), 44),
    "holdem": (Holdem(hands=3, stack=40), 5),
    "pit": (Pit(goal=50, turns=40, deal_turns=24), 147),
    "rock_paper_scissors": (RockPaperScissors(rounds=4), 3),
    "santorini": (Santorini(), 55),
    "sea_battle": (SeaBattle(most_turns=2), 1451),
    "tic_tac_toe": (TicTacToe(), 4),
    "two_rooms": (TwoRooms(rounds=1), 2),
    "uno": (Uno(num_seats=3), 20),
    "uno_arena": (UnoArena(num_seats=3), 157),
    "watch_rps": (Watch(of=RockPaperScissors(rounds=14), players=("H", "Y")), 2),
    "watch_tic_tac_toe": (Watch(of=TicTacToe(), warmup=4), 6),
}
"""The game and the deal of every golden file: one for each of our own games."""

METHODS = sorted(nodes("prompt"))
SHOWN = 12
"""Different prompts of a decision that are written down."""


def prompts(method: str) -> str:
    """Return the requests of a method of conf/prompt for a decision of some games: the first reply
    is of no use, the others are as asked for."""
    lines = []
    for turn in _turns(method):
        agent, _ = talk(
            LLM(build(nodes("prompt")[method])).prepare(turn.game, 0, turn.goal), _reply
        )
        heard: list[Request] = []

        def answer(request: Request, heard: list[Request] = heard) -> Reply:
            heard.append(request)
            return _reply(request, bad=len(heard) == 1)

        drive(agent, turn, answer)
        shown: dict[str, None] = {}
        for request in heard:
            for prompt in _prompts(request)[:3]:
                shown.setdefault(f"=== {turn.game}, {_settings(request)}\n{prompt.text}")
        lines += list(shown)[:SHOWN]
    return "\n".join(lines) + "\n"


def _turns(method: str) -> Iterator[Turn]:
    rng = np.random.default_rng(4)
    if method == "observe":
        game = GAMES["watch_rps"][0]
        yield turn_at(game, game.deal(rng), 0)
        return
    words = Codenames(num_seats=4)
    yield turn_at(words, words.deal(rng), 0)
    grid = TicTacToe()
    yield turn_at(grid, grid.play(grid.play(grid.deal(rng), [0]), [4]), 0, Goal(helps=1))


def _reply(request: Request, bad: bool = False) -> Reply:
    if not isinstance(request, Generate):
        return opinionated(request)
    text = "?" if bad else reply_in_form(request.prompt.text, 0.5)
    return Generation(text, 1, 1, (text,) * (request.n - 1))


def _prompts(request: Request) -> tuple[Prompt, ...]:
    return (request.prompt,) if isinstance(request, Generate) else request.prompts


def _settings(request: Request) -> str:
    if not isinstance(request, Generate):
        return f"a choice of {', '.join(request.choices)}"
    told = (
        f"{request.n} of at most {request.max_tokens} tokens at temperature {request.temperature}"
    )
    return told + ", JSON" * request.json + "".join(f", to {stop!r}" for stop in request.stop)
