"""Requirements on every agent, checked for every agent, prompting method and game of conf/.

A new agent or prompting method is tested here as soon as it has a YAML file.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import pickle
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import pytest
from hypothesis import given, settings

from gauntlet.agents.actors import Playouts, Scripted
from gauntlet.agents.base import Agent, Checked, Decision, Status, Turn
from gauntlet.agents.human import Human
from gauntlet.agents.lookahead import Tree
from gauntlet.agents.prompting.cloze import LETTERS
from gauntlet.agents.prompting.gamebench import Base
from gauntlet.agents.prompting.letter import Letter
from gauntlet.agents.prompting.rap import Rap
from gauntlet.agents.prompting.words import CUE
from gauntlet.agents.random import Random
from gauntlet.games.base import Game, TextAction
from gauntlet.games.capabilities import HasRuleHeadings
from gauntlet.games.openspiel import OpenSpiel
from gauntlet.games.watch import Watch
from gauntlet.models.base import Request, Score
from gauntlet.pipeline.config.read import Node
from tests.agents.hints import Hints
from tests.agents.play import match, opinionated, silent, unasked, uniform
from tests.games.cases import NAMED, seeds
from tests.nodes import build, nodes

ANY = Scripted(Random())
QUICKER = {
    "search": {"playouts": 5},
    "uct": {"playouts": 3},
    "rap": {"iterations": 2},
    "lookahead": {"n1": 2, "n2": 1, "mover": ANY, "opponent": ANY, "judge": Playouts(1)},
}
"""Settings that make a slow agent faster."""


def named_agents() -> Iterator[tuple[str, Agent]]:
    """Every agent of conf/agent; those that use a model, with every method of conf/prompt."""
    for name, node in nodes("agent").items():
        if not asks_a_model(node):
            yield name, build(node, **QUICKER.get(name, {}))
            continue
        for prompt, method in nodes("prompt").items():
            yield f"{name}-{prompt}", build(node, method=build(method, **QUICKER.get(prompt, {})))


def asks_a_model(node: Node) -> bool:
    module, _, name = node["_target_"].rpartition(".")
    fields = dataclasses.fields(getattr(importlib.import_module(module), name))
    return "method" in {field.name for field in fields}


def plays(agent: Agent, game: Game[Any]) -> bool:
    try:
        if isinstance(agent, Checked):
            agent.check(game)
    except ValueError:
        return False
    return True


SHORT = {
    "air_land_sea": build(nodes("game")["air_land_sea"], goal=1),
    "hive": build(nodes("game")["hive"], max_turns=10),
    "holdem": build(nodes("game")["holdem"], hands=4),
    "pit": build(nodes("game")["pit"], turns=16, deal_turns=10, goal=50),
}
"""Games whose matches are long between players that search many options, or rarely raise."""
MUCH_ALIKE = ("watch_uno", "watch_uno_arena", "watch_holdem")
"""Watched games with the same prompts as that of tic-tac-toe."""
GAMES = {
    **{name: game for name, game in NAMED.items() if name not in MUCH_ALIKE},
    **SHORT,
    "kuhn_poker": OpenSpiel(name="kuhn_poker"),
    "hints": Hints(),
    "forced_hints": Hints(forced=True),
}
"""The games of conf/game, and a game with free text."""
TOO_LARGE = ("minimax-hive", "minimax-santorini")
"""Refused after seconds of search; test_minimax.py has quicker refusals."""
AGENTS = dict(named_agents())
PAIRS = {
    f"{name}-{title}": (agent, game)
    for name, agent in AGENTS.items()
    for title, game in GAMES.items()
    if f"{name}-{title}" not in TOO_LARGE and plays(agent, game)
}
every_agent = pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS.keys())
LONG = {
    *(f"llm-talaga-{game}" for game in ("uno", "uno_arena", "holdem", "holdem_hands")),
    *(f"llm-talaga-{game}" for game in ("air_land_sea", "hive", "pit", "santorini")),
    *(f"search-{game}" for game in ("air_land_sea", "codenames", "pit")),
    *("greedy-hive", "greedy-sea_battle"),
}
"""Trees in long games: some sixty requests per move; and playouts or many options of uncompiled
games."""
LIKE_OTHERS = (
    *("air_land_sea", "arctic_scavengers", "hive", "openspiel"),
    *("pit", "sea_battle", "two_rooms"),
)
"""Games whose kind of moves, seats and text another one covers; all agents play them in the slow
tests only."""
ANYWHERE = ("llm-base", "llm-cloze", "llm-cot", "greedy", "one_ply", "human")
"""Agents that play them by default."""


def is_slow(name: str) -> bool:
    return name in LONG or any(
        name.endswith(f"-{game}") and name.removesuffix(f"-{game}") not in ANYWHERE
        for game in LIKE_OTHERS
    )


every_pair = pytest.mark.parametrize(
    ("agent", "game"),
    [
        pytest.param(*pair, id=name, marks=[pytest.mark.slow] * is_slow(name))
        for name, pair in PAIRS.items()
    ],
)
few = settings(max_examples=2, deadline=None)


@every_agent
def test_an_agent_is_a_frozen_value(agent: Agent) -> None:
    assert dataclasses.is_dataclass(agent)
    copy = pickle.loads(pickle.dumps(agent))
    assert copy == agent
    assert hash(copy) == hash(agent)
    with pytest.raises(dataclasses.FrozenInstanceError):
        agent.anything = 1


@every_agent
def test_an_agent_plays_some_game(agent: Agent) -> None:
    assert any(playing == agent for playing, _ in PAIRS.values())


def test_a_language_model_plays_every_game_by_every_method() -> None:
    for prompt in nodes("prompt"):
        for name, game in GAMES.items():
            if prompt != "observe" or isinstance(game, Watch):
                assert f"llm-{prompt}-{name}" in PAIRS


@every_pair
@few
@given(seeds)
def test_an_agent_keeps_the_rules_in_a_match(agent: Agent, game: Game[Any], seed: int) -> None:
    """A match by each kind of replies, and the last one again: by the same luck it is the same."""
    kinds = (uniform, silent, opinionated) if asks(agent) else (unasked,)
    for replies in kinds:
        decided = [*match(agent, game, seed, replies)]
        for turn, decision, asked in decided:
            is_one_of_the_options(turn, decision, asked)
            if replies is silent or all(isinstance(request, Score) for request in asked):
                assert decision.fallback == (replies is silent and bool(asked))
            for request in asked:
                choices_are_known_to_the_model(agent, request)
    prompts_tell_all_and_share_what_does_not_change(agent, game, decided)
    again = match(agent, game, seed, replies)
    assert [one[1:] for one in again] == [one[1:] for one in decided]


def asks(agent: Any) -> bool:
    return isinstance(agent, Human) or hasattr(agent, "method")


def is_one_of_the_options(turn: Turn, decision: Decision, requests: list[Request]) -> None:
    assert type(decision.option) is int
    assert 0 <= decision.option < len(turn.options)
    assert decision.status in get_args(Status)
    assert decision.fallback == (decision.status != "ok")
    assert len(decision.scores) in (0, len(turn.options))
    assert all(map(math.isfinite, decision.scores))
    assert bool(decision.attempts) == bool(requests)
    option = turn.options[decision.option]
    assert bool(decision.text) or not (isinstance(option, TextAction) and requests)
    assert not decision.text or option.text.fault(decision.text) == ""


def choices_are_known_to_the_model(agent: Any, request: Request) -> None:
    """They are labels that the model is checked for, or of a person."""
    if isinstance(request, Score):
        assert isinstance(agent, Human) or set(request.choices) <= set(agent.method.labels())
        assert len(set(request.choices)) == len(request.choices)


def prompts_tell_all_and_share_what_does_not_change(
    agent: Agent, game: Game[Any], decided: Iterable[tuple[Turn, Decision, list[Request]]]
) -> None:
    statics: dict[tuple[int, bool], set[str]] = {}
    crowds = isinstance(getattr(agent, "method", None), Letter)
    for turn, decision, asked in decided:
        seen = turn.observation
        for requests in looked_at(agent, asked):
            prompts = [prompt for request in requests for prompt in prompts_of(request)]
            told = "".join(prompt.text for prompt in prompts)
            words = prompts[0].cue == CUE and len(requests) == 1
            options = (seen.options[decision.option],) if words else seen.options
            if crowds and len(seen.options) > len(LETTERS):
                options = tuple(option for option in options if option in told)
                assert len(options) >= len(LETTERS)
            team = (f"player {seat}" for seat in seen.team if seat != seen.seat)
            facts = (fact.text for fact in seen.facts)
            for text in (*rules(agent, turn), *facts, *options, seen.role, *team):
                assert text in told
            if len(requests) == 1:
                statics.setdefault((seen.seat, words), set()).update(p.static for p in prompts)
    for (seat, _), texts in statics.items():
        assert len(texts) == 1
        assert texts.pop().endswith("\n")
        assert seat in range(game.num_seats)


def rules(agent: Agent, turn: Turn) -> tuple[str, ...]:
    """The part of the rules that must be in the prompt: for a model that may ask further, the
    summary and the headings."""
    game = turn.game
    if isinstance(getattr(agent, "method", None), Base) and isinstance(game, HasRuleHeadings):
        return (game.rules_summary, *game.rules_headings)
    return (turn.observation.rules,)


def looked_at(agent: Agent, requests: list[Request]) -> list[list[Request]]:
    """The requests of a decision that must each state everything. In a tree all but the first are
    about other turns; a method with several prompts about a turn covers everything in them
    together."""
    method = getattr(agent, "method", None)
    if isinstance(method, Rap):
        return [requests] if requests else []
    return [[request] for request in requests[: 1 if isinstance(method, Tree) else None]]


def prompts_of(request: Request) -> tuple[Any, ...]:
    return request.prompts if isinstance(request, Score) else (request.prompt,)
