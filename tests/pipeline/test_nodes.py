"""Nested nodes in configs: games that wrap games, agents composed of several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gauntlet.agents.llm import LLM
from gauntlet.agents.prompting.cloze import Cloze
from gauntlet.agents.prompting.vanilla import Vanilla
from gauntlet.agents.random import Random
from gauntlet.agents.search import Search
from gauntlet.common.errors import UserError
from gauntlet.games.uno import Uno
from gauntlet.pipeline.config.nodes import DEEPEST, PACKAGES, build
from gauntlet.pipeline.log.recorded import recorded_game
from gauntlet.pipeline.plan.build import methods_of
from gauntlet.pipeline.plan.identity import describe
from tests.pipeline.conftest import Sweep
from tests.pipeline.logs import matches
from tests.pipeline.wrapped import Chosen, Team, Wrapped

TESTS = ("tests",)
HERE = "tests.pipeline.wrapped"
UNO = {"_target_": "games.uno.Uno", "paper_bugs": True}
RANDOM = {"_target_": "agents.random.Random"}
SEARCH = {"_target_": "agents.search.Search", "playouts": 5}
LETTER = {"_target_": "agents.llm.LLM", "method": {"_target_": "agents.prompting.cloze.Cloze"}}
OPEN = {"_target_": "agents.llm.LLM"}


def wrapped(game: Any, **more: Any) -> dict[str, Any]:
    return {"_target_": f"{HERE}.Wrapped", "game": game, **more}


def team(*actors: Any) -> dict[str, Any]:
    return {"_target_": f"{HERE}.Team", "actors": list(actors)}


def test_a_wrapped_game_has_the_seats_of_the_wrapper_or_its_own() -> None:
    for seats, node in ((4, UNO), (3, {**UNO, "num_seats": 3})):
        inner = Uno(seats, paper_bugs=True)
        assert build(wrapped(node), "game", TESTS, num_seats=4) == Wrapped(inner, 4)
    with pytest.raises(UserError, match=r"^game\.num_seats is not a setting"):
        build(wrapped(UNO, num_seats=3), "game", TESTS, num_seats=4)


def test_an_agent_of_three() -> None:
    method = Vanilla()
    found = build(team(RANDOM, LETTER, OPEN), "agent", TESTS, method=method)
    assert found == Team((Random(), LLM(Cloze()), LLM(method)))
    assert methods_of(found) == (Cloze(), method)


def test_agents_by_name() -> None:
    node = {"_target_": f"{HERE}.Chosen", "actors": {"a": RANDOM, "b": SEARCH}, "name": "b"}
    found = build({**node, "depth": 2, "spare": RANDOM}, "agent", TESTS)
    assert found == Chosen({"a": Random(), "b": Search(5)}, "b", Random(), 2.0)
    assert isinstance(found.depth, float)


@pytest.mark.parametrize(
    ("node", "line"),
    [
        (wrapped({"_target_": "os.system"}), "game.game._target_ is 'os.system'; it must lie in"),
        (
            wrapped({**UNO, "paper_bug": 1}),
            "game.game.paper_bug is not a setting; did you mean 'paper_bugs'?",
        ),
        (wrapped({**UNO, "paper_bugs": 1}), "game.game.paper_bugs is 1; it must be true or false"),
        (wrapped(RANDOM), "game.game is Random; it must be a node of class Game"),
        (wrapped("uno"), "game.game is 'uno'; it must be a node of class Game"),
        (
            wrapped({"paper_bugs": True}),
            "game.game is {'paper_bugs': True}; it must be a node of class",
        ),
        ({"_target_": f"{HERE}.Wrapped"}, "game.game must be given"),
        (wrapped(UNO, names=[1]), "game.names.0 is 1; it must be text"),
        (team(RANDOM, RANDOM), "game.actors has 2 items; it must have 3"),
        (team(RANDOM, RANDOM, UNO), "game.actors.2 is Uno; it must be a node of class Agent"),
        (
            {"_target_": f"{HERE}.Chosen", "actors": {"a": UNO}, "name": "a"},
            "game.actors.a is Uno; it must be a node of class Agent",
        ),
        (
            {"_target_": f"{HERE}.Chosen", "actors": {}, "name": "a", "spare": UNO},
            "game.spare is Uno; it must be a node of class Agent or null",
        ),
    ],
)
def test_what_does_not_fit_is_one_line_that_says_where(node: Any, line: str) -> None:
    with pytest.raises(UserError) as refused:
        build(node, "game", TESTS)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_nodes_do_not_lie_in_each_other_for_ever() -> None:
    node: Any = UNO
    for _ in range(DEEPEST + 1):
        node = wrapped(node)
    with pytest.raises(UserError, match="at most 12 levels"):
        build(node, "game", TESTS)


@pytest.mark.parametrize(
    "game",
    [Uno(3), Wrapped(Wrapped(Uno(3, paper_bugs=True), 3), 3, ("a", "b"))],
    ids=["flat", "deep"],
)
def test_what_is_described_is_built_again(game: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PACKAGES, "tests")
    written = json.loads(json.dumps(describe(game)))
    assert recorded_game(written) == game


def test_other_nodes_within_are_another_description() -> None:
    found = {
        json.dumps(describe(build(team(*actors), "agent", TESTS)))
        for actors in ((RANDOM, RANDOM, SEARCH), (RANDOM, SEARCH, RANDOM), (SEARCH,) * 3)
    }
    assert len(found) == 3


WRAPPED = """
defaults:
  - /game@game: uno
  - _self_
_target_: tests.pipeline.wrapped.Wrapped
"""


@pytest.fixture
def more(tmp_path: Path) -> str:
    """A config folder in addition to the project's: a game composed of another one of conf/game."""
    (tmp_path / "conf" / "game").mkdir(parents=True)
    (tmp_path / "conf" / "game" / "wrapped.yaml").write_text(WRAPPED)
    return f"--config-dir={tmp_path}/conf"


def test_a_composed_game_plays_as_the_one_in_it(
    sweep: Sweep, tmp_path: Path, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = tmp_path / "inner", tmp_path / "outer"
    base = ("agent=random", "deals=3", "seats=three_random")
    assert sweep("game=uno", *base[1:], f"output_dir={folders[0]}") == 0
    node = ("game=wrapped", more, "packages=[tests]", "game.game.paper_bugs=true")
    assert sweep(*node, *base[1:], f"output_dir={folders[1]}") == 0
    (cell,) = (folders[1] / "cells").glob("*.json")
    told = json.loads(cell.read_text())
    monkeypatch.setenv(PACKAGES, "tests")
    assert told["labels"]["game"] == "wrapped[game.paper_bugs=True]"
    assert told["identity"]["game"]["game"]["paper_bugs"] is True
    assert recorded_game(told["identity"]["game"]) == Wrapped(Uno(3, paper_bugs=True), 3)
    assert len(matches(folders[1])) == 3


def test_another_game_may_be_chosen_for_the_inner_one(
    sweep: Sweep, folder: Path, more: str
) -> None:
    node = ("game=wrapped", more, "packages=[tests]", "game@game.game=tic_tac_toe")
    assert sweep(*node, "agent=random", "deals=2") == 0
    (cell,) = (folder / "cells").glob("*.json")
    told = json.loads(cell.read_text())
    assert told["labels"]["game"] == "wrapped[game=tic_tac_toe]"
    assert told["identity"]["game"]["game"]["class"] == "games.tic_tac_toe.TicTacToe"


def test_an_agent_of_several_asks_the_seats_model(
    sweep: Sweep, folder: Path, tmp_path: Path, more: str
) -> None:
    (tmp_path / "conf" / "player").mkdir()
    (tmp_path / "conf" / "player" / "team.yaml").write_text(json.dumps(
        {"agent": team(RANDOM, LETTER, OPEN), "prompt": "vanilla", "agent.actors.1.method.moves": 3}
    ))  # fmt: skip
    assert sweep("seats.1.player=team", more, "packages=[tests]", "deals=2") == 0
    (cell,) = (folder / "cells").glob("*.json")
    told = json.loads(cell.read_text())
    assert told["labels"]["agent"] == "team"
    actors = told["identity"]["players"][1]["agent"]["actors"]
    assert [actor.get("method", {}).get("moves") for actor in actors] == [None, 3, 20]
    asked = [made.asked for m in matches(folder).values() for made in m.decisions]
    assert any(asked)
