"""What agents and prompting methods refuse: settings that cannot be, and games."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gauntlet.agents import mcts
from gauntlet.agents.actors import LookAhead, Perfect, Playouts, Scripted
from gauntlet.agents.depth_limited_minimax import DepthLimitedMinimax
from gauntlet.agents.epsilon_random import EpsilonRandom
from gauntlet.agents.llm import LLM
from gauntlet.agents.minimax import Minimax
from gauntlet.agents.observers import Bayes, Constant, Likeliest, Nearest
from gauntlet.agents.one_ply import OnePly
from gauntlet.agents.prompting.calibrated import Calibrated
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.cot import Cot
from gauntlet.agents.prompting.counterfactual import Counterfactual
from gauntlet.agents.prompting.direct import Direct
from gauntlet.agents.prompting.gamebench import Base, GamebenchCot
from gauntlet.agents.prompting.label_study import LabelStudy
from gauntlet.agents.prompting.letter import Letter
from gauntlet.agents.prompting.observe import Observe
from gauntlet.agents.prompting.pride import Pride
from gauntlet.agents.prompting.rap import Rap
from gauntlet.agents.prompting.talaga import Talaga
from gauntlet.agents.prompting.tot import Tot
from gauntlet.agents.prompting.tutri import Tutri
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.agents.random import Random
from gauntlet.agents.rule import Rule
from gauntlet.agents.search import Search
from gauntlet.games.base import Game
from gauntlet.games.rock_paper_scissors import RockPaperScissors
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.games.watch import Watch
from tests.agents.hints import Hints
from tests.agents.test_one_ply import Bets
from tests.games.bare import Bare

NO_TOKENS = "max_tokens is 0"
SETTINGS: list[tuple[Any, dict[str, Any], str]] = [
    *(
        (kind, {"moves": -1}, "moves is -1; a prompt tells 0 or more recent moves")
        for kind in (Base, Cloze, Counterfactual, Direct, LabelStudy, Letter, Pride, Rap, Tutri)
    ),
    (Vanilla, {"moves": -1}, "moves is -1"),
    *(
        (kind, {"estimate": 0}, "estimate is 0; a prior needs 1 or more decisions")
        for kind in (Pride, LabelStudy)
    ),
    *((kind, {"plies": 0}, "plies is 0; random play needs 1") for kind in (Pride, LabelStudy)),
    (Pride, {"mean": "arithmetik"}, "did you mean 'arithmetic'"),
    (Calibrated, {"inputs": ()}, "needs one or more"),
    (Calibrated, {"inputs": ("", "")}, "names one twice: '', ''"),
    (Base, {"attempts": 0}, "attempts=0, max_tokens=200: both are 1 or more"),
    (Base, {"max_tokens": 0}, "max_tokens=0: both are 1 or more"),
    (Base, {"temperature": 3}, "temperature is 3; it lies from 0 to 2"),
    (GamebenchCot, {"thoughts": 0}, "thoughts is 0; thinking aloud takes 1 token"),
    (Letter, {"max_tokens": 0}, NO_TOKENS),
    (mcts.Search, {"depth": 0}, "depth=0, iterations=10: a search has 1 or more"),
    (mcts.Search, {"iterations": 0}, "iterations=0: a search has 1 or more"),
    (mcts.Search, {"exploration": -1.0}, "exploration is -1; it is 0 or more"),
    (mcts.Search, {"exploration": math.inf}, "exploration is inf"),
    (Observe, {"max_tokens": 0}, "max_tokens"),
    (Observe, {"reasons": -1}, "reasons"),
    (Observe, {"temperature": 2.5}, "temperature"),
    (Observe, {"temperature": -1}, "temperature"),
    (OnePly, {"worlds": 0}, "worlds is 0; a search looks at 1 to 1,000"),
    (OnePly, {"worlds": 1001}, "worlds is 1001; a search looks at 1 to 1,000"),
    (Rap, {"depth": 0}, "depth=0"),
    (Rap, {"iterations": 0}, "iterations=0"),
    (Rap, {"max_tokens": 0}, NO_TOKENS),
    (Rap, {"temperature": 2.5}, "temperature is 2.5"),
    (Direct, {"max_tokens": 0}, f"{NO_TOKENS}; a reply needs 1"),
    (Direct, {"temperature": -0.1}, "temperature is -0.1"),
    (Direct, {"retries": -1}, "retries is -1"),
    (Cot, {"samples": 0}, "samples is 0"),
    (Cot, {"samples": 3, "temperature": 0.0}, "samples is 3 at temperature 0"),
    (Tot, {"votes": 0}, "votes is 0"),
    (Search, {"playouts": 0}, "playouts is 0"),
    (Talaga, {"k": 0}, "k is 0; a tree needs 1 or more"),
    (Talaga, {"n2": 0}, "n2 is 0"),
    (Talaga, {"votes": 0}, "votes is 0"),
    (Talaga, {"perturbations": -1}, "perturbations is -1"),
    (Talaga, {"reward": "luck"}, "reward is 'luck'"),
    (Talaga, {"temperature": 0.0}, "at temperature 0"),
    (Talaga, {"temperature": 0.0, "votes": 1, "samples": 1}, "temperature is 0"),
    (Scripted, {"agent": Random(), "noise": 1.5}, "noise is 1.5; a probability"),
    (Perfect, {"votes": 0}, "votes is 0"),
    (Playouts, {"playouts": 0}, "playouts is 0"),
    (Tutri, {"history": False, "strategy": False}, "is vanilla; use that"),
    (Tutri, {"least": -1}, "least is -1"),
    (Vanilla, {"max_tokens": 0}, f"{NO_TOKENS}; a reply needs 1"),
    (DepthLimitedMinimax, {"depth": 0}, "depth is 0; it looks 1 to 6 plies ahead"),
    (DepthLimitedMinimax, {"depth": 7}, "depth is 7"),
    (EpsilonRandom, {"agent": Random(), "noise": -0.1}, "noise is -0.1; a probability"),
    (Cloze, {"wording": "ters"}, r"wording is 'ters'.*did you mean 'terse'"),
]


@pytest.mark.parametrize(("kind", "settings", "message"), SETTINGS)
def test_impossible_settings_are_refused(kind: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**settings)


class Closed(Bare):
    """A game with figures for positions that cannot be played on from what a seat knows."""

    def worth(self, state: Any, seat: int) -> float:
        return 0.5


UNO, GRID, HANDS, ARENA = Uno(2), TicTacToe(), RockPaperScissors(), UnoArena(3)
ANY, UNKNOWN = Scripted(Random()), "no scripted policy '{}'; it has random"
GAMES: list[tuple[Any, Any, str]] = [
    *(
        (agent, game, rf"minimax.* plays games .* {type(game).__name__} is not one")
        for agent in (Minimax(), DepthLimitedMinimax(), EpsilonRandom(Minimax()))
        for game in (HANDS, UNO)
    ),
    (Minimax(), Uno(3), "minimax plays games of 2 seats; this Uno has 3"),
    *(
        (agent, GRID, "TicTacToe has nobody to watch")
        for agent in (Constant(), Nearest(), Likeliest(), Bayes())
    ),
    (LLM(Observe()), HANDS, "RockPaperScissors has nobody to watch"),
    (Nearest(), Watch(of=UNO), "Uno has no mixes"),
    (Search(), Watch(of=UNO), "sample"),
    (Search(), Bare(GRID), "Bare cannot be played on from what a seat knows: it has no"),
    (Search(policy="rule"), GRID, UNKNOWN.format("rule")),
    (Search(policy="clever"), UNO, f"Uno has {UNKNOWN.format('clever')}"),
    (OnePly(), Hints(), "Hints does not tell what a position is worth"),
    (OnePly(policy="rule"), Bets(), "has no scripted policy 'rule'; it has random, greedy"),
    (OnePly(), Closed(Bets()), "Closed cannot be played on from what a seat knows"),
    (
        Rule("rule"),
        GRID,
        f"TicTacToe has {UNKNOWN.format('rule')}, .*[(]agent=rule agent.policy=NAME[)]",
    ),
    (Rule("rule"), object(), f"object has {UNKNOWN.format('rule')}"),
    (LookAhead(mover=ANY, opponent=ANY, judge=Playouts()), UNO, "Uno has no `sample`"),
    (Talaga(judge=Perfect()), ARENA, "minimax plays games of 2 seats"),
    (Talaga(judge=Playouts(policy="clever")), GRID, UNKNOWN.format("clever")),
]


@pytest.mark.parametrize(("agent", "game", "message"), GAMES)
def test_a_game_that_an_agent_cannot_play_is_refused(
    agent: Any, game: Game[Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        agent.check(game)


@pytest.mark.parametrize(
    ("agent", "game"),
    [
        *((DepthLimitedMinimax(), GRID), (EpsilonRandom(Minimax()), GRID)),
        *((EpsilonRandom(Random()), UNO), (Likeliest(), Watch(of=UNO))),
        *((Rule("rule"), UNO), (Rule("random"), GRID)),
    ],
)
def test_a_game_that_an_agent_can_play_is_let_in(agent: Any, game: Game[Any]) -> None:
    agent.check(game)
