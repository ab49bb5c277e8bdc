"""Players by name: in a seat, with changed settings, and all pairs in a round robin."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.pages import sheets
from gauntlet.pipeline.plan.cells import Cell
from gauntlet.pipeline.tables.registry import read_table
from tests.nodes import nodes
from tests.pipeline.composing import cells_of, composed
from tests.pipeline.conftest import FAST, Capsys, Refusal, Sweep
from tests.pipeline.logs import matches

SEARCH = {"class": "agents.search.Search", "playouts": 30, "policy": "random"}
GAMES = {
    **dict.fromkeys(("lookahead", "lookahead_k1", "lookahead_noisy"), "tic_tac_toe"),
    **dict.fromkeys(("minimax", "minimax_d1", "minimax_eps"), "tic_tac_toe"),
    **dict.fromkeys(("uct_4", "uct_16", "uct_64", "uct_256", "uct_1024"), "tic_tac_toe"),
    **dict.fromkeys(("caller", "holdem_search", "maniac", "neuron_random", "tight"), "holdem"),
    **dict.fromkeys(("bayes", "constant", "likeliest", "nearest"), "watch_rps"),
    **dict.fromkeys(("greedy", "one_ply"), "santorini"),
    "equilibrium": "openspiel game.name=kuhn_poker",
}
"""Players for games other than UNO."""
ROUND = ("pairing=round_robin", "players=[random,rule,first]")


Built = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def built() -> Built:
    """Return the cells of a command line, as a folder would describe them; nothing is played."""

    def go(*overrides: str) -> list[dict[str, Any]]:
        given = {item.partition("=")[0] for item in overrides}
        base = [item for item in FAST if item.partition("=")[0] not in given]
        return [json.loads(json.dumps(about(cell))) for cell in cells_of(*base, *overrides)]

    return go


def about(cell: Cell) -> dict[str, Any]:
    names = [player.name for player in cell.players]
    return {
        "key": cell.key,
        "labels": dict(cell.labels),
        "players": names,
        "identity": cell.identity,
        "measure": cell.measure,
    }


def agents(described: dict[str, Any]) -> list[dict[str, Any]]:
    return [player["agent"] for player in described["identity"]["players"]]


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A config folder in addition to the project's, for custom players."""
    for group in ("player", "seats"):
        (tmp_path / "conf" / group).mkdir(parents=True)
    return tmp_path / "conf"


def more(conf: Path) -> str:
    return f"--config-dir={conf}"


def test_seats_take_players_from_the_command_line(built: Built) -> None:
    (first,) = built("seats.0.player=quick_search", "agent=random")
    assert agents(first)[0] == SEARCH
    assert first["labels"]["seats"] == "solo[0.player=quick_search]"
    assert first["players"] == ["quick_search", "random"]
    (measured,) = built("seats.1.player=quick_search")
    assert agents(measured)[1] == SEARCH
    labels = measured["labels"]
    assert (labels["agent"], labels["model"]) == ("quick_search", "-"), "it stands for the subject"
    (further,) = built("seats.2.player=rule", "agent=random")
    assert further["players"] == ["random", "random", "rule"]


def test_an_agent_on_the_command_line_replaces_a_player(built: Built, conf: Path) -> None:
    (conf / "seats" / "named.yaml").write_text(
        "'0': {player: rule}\n'1': {agent: subject}\nmeasured: 1\n"
    )
    (told,) = built("seats=named", more(conf), "seats.0.agent=random", "agent=rule")
    assert told["players"] == ["random", "rule"]


def test_two_ways_of_saying_it_are_one_cell(built: Built) -> None:
    (named,) = built("seats.1.player=vanilla")
    (spelt,) = built("seats.1={agent: llm, prompt: vanilla}")
    assert named["key"] == spelt["key"]


def test_a_players_null_model_is_the_sweeps(built: Built) -> None:
    told = built("seats.1.player=vanilla", "model.seed=1,2")
    assert [one["identity"]["players"][1]["model"]["fake"] for one in told] == [1, 2]
    assert [one["players"][1] for one in told] == [f"vanilla.fake[seed={seed}]" for seed in (1, 2)]
    assert {(one["labels"]["agent"], one["labels"]["prompt"]) for one in told} == {
        ("vanilla", "vanilla")
    }


@pytest.mark.parametrize(
    "written",
    [
        "agent: search\nagent.playouts: 30\n",
        "agent: {_target_: agents.search.Search, playouts: 30}\n",
        "agent: {_target_: agents.search.Search}\nagent.playouts: 30\n",
    ],
)
def test_a_player_changes_single_settings(built: Built, conf: Path, written: str) -> None:
    (conf / "player" / "mine.yaml").write_text(written)
    (told,) = built("seats.0.player=mine", more(conf), "agent=random")
    assert agents(told)[0] == SEARCH


def test_a_player_has_a_model_and_a_prompt_of_its_own(built: Built, conf: Path) -> None:
    (conf / "player" / "mine.yaml").write_text(
        "agent: llm\nmodel: fake\nmodel.seed: 7\nprompt: vanilla\nprompt.moves: 3\n"
    )
    (told,) = built("seats.1.player=mine", more(conf), "model=pocket", "deals=1")
    player = told["identity"]["players"][1]
    assert player["model"]["fake"] == 7
    assert player["agent"]["method"]["moves"] == 3
    assert told["players"][1] == "mine"
    assert told["labels"]["model"] == "fake[seed=7]"
    assert told["labels"]["prompt"] == "vanilla[moves=3]"


def test_a_seat_changes_single_settings_too(built: Built, conf: Path) -> None:
    (conf / "seats" / "mine.yaml").write_text(
        "'0': {agent: search, agent.playouts: 30}\n'1': {agent: subject}\nmeasured: 1\n"
    )
    (told,) = built("seats=mine", more(conf), "agent=random")
    assert agents(told)[0] == SEARCH
    assert told["players"][0] == "search[playouts=30]"


@pytest.mark.parametrize("game", ["uno", *dict.fromkeys(GAMES.values())])
def test_every_player_of_the_box_is_built(built: Built, game: str) -> None:
    names = [name for name in nodes("player") if GAMES.get(name, "uno") == game]
    seats, seat = ("observer", 0) if game.startswith("watch") else ("solo", 1)
    sitting = (f"seats={seats}", f"seats.{seat}.player={','.join(names)}")
    found = built(*f"game={game}".split(), *sitting, "prompt=calibrated")
    assert [told["labels"]["agent"] for told in found] == names


@pytest.mark.parametrize(
    ("written", "line"),
    [
        ("model: fake\n", "player=mine must name an agent"),
        ("agent: serch\n", "agent=serch does not exist; did you mean 'search'?"),
        ("agent: search\nagent.playout: 3\n", "agent.playout is not a setting; did you mean"),
        ("agent: search\nagent.playouts: 0\n", "player=mine: agent: playouts is 0"),
        (
            "agent: search\nagent.playouts.x: 0\n",
            "agent.playouts is {'x': 0}; it must be",
        ),
        ("agent: search\ngoal: win\n", "player=mine: goal is not a setting"),
        ("agent: {_target_: os.system}\n", "player=mine: agent._target_ is 'os.system'; it must"),
    ],
)
def test_a_mistake_in_a_player_is_one_line(
    sweep: Sweep, conf: Path, refusal: Refusal, written: str, line: str
) -> None:
    (conf / "player" / "mine.yaml").write_text(written)
    assert line in refusal(sweep("seats.0.player=mine", more(conf), "agent=random"))


SCORING = "agent: {_target_: tests.pipeline.habits.Scoring}\n"


def test_an_agent_without_a_method_asks_the_model_that_its_player_names(
    sweep: Sweep, conf: Path, folder: Path
) -> None:
    (conf / "player" / "mine.yaml").write_text(f"{SCORING}model: fake\n")
    own = ("game=tic_tac_toe", "packages=[tests]", more(conf))
    assert sweep(*own, "seats.1.agent=null", "seats.1.player=mine", "deals=2") == 0
    played = [made for match in matches(folder).values() for made in match.decisions]
    assert {len(made.asked) for made in played if made.seat == 1 and not made.forced} == {1}
    (described,) = Folder(folder).all_cells()
    assert described.players[1] == "mine"
    assert (described.labels["model"], described.labels["prompt"]) == ("fake", "-")


@pytest.mark.parametrize("agent", ["random", "minimax_eps"])
def test_a_scripted_agent_of_ours_is_not_labelled_by_a_model_that_it_never_asks(
    built: Built, conf: Path, agent: str
) -> None:
    wrapped = "{_target_: gauntlet.agents.epsilon_random.EpsilonRandom, agent: {_target_: %s}}"
    written = "random" if agent == "random" else wrapped % "gauntlet.agents.random.Random"
    (conf / "player" / "mine.yaml").write_text(f"agent: {written}\nmodel: fake\n")
    (described,) = built("seats.1.player=mine", more(conf), "game=tic_tac_toe")
    assert described["labels"]["model"] == described["labels"]["prompt"] == "-"
    assert described["players"][1] == "mine"
    assert "model" not in described["identity"]["players"][1]


def test_a_model_that_a_users_agent_never_asks_is_named_in_the_warning(
    sweep: Sweep, conf: Path, folder: Path
) -> None:
    player = "agent: {_target_: tests.pipeline.habits.Remembering}\nmodel: fake\n"
    (conf / "player" / "mine.yaml").write_text(player)
    own = ("game=tic_tac_toe", "packages=[tests]", more(conf))
    assert sweep(*own, "seats.1.agent=null", "seats.1.player=mine", "deals=2") == 0
    assert "never asked its model, fake" in pd.read_csv(folder / "summary.csv")["warning"][0]


def test_an_agent_that_asks_without_a_model_ends_the_run_in_a_line(
    sweep: Sweep, conf: Path, capsys: Capsys
) -> None:
    (conf / "player" / "mine.yaml").write_text(SCORING)
    own = ("game=tic_tac_toe", "packages=[tests]", more(conf))
    assert sweep(*own, "seats.1.agent=null", "seats.1.player=mine", "deals=2") == 2
    shown, error = capsys.readouterr()
    assert "safe" not in shown
    assert error.startswith("gauntlet: Scoring asks a model, but the player has none")
    assert error.count("\n") == 1


def test_a_round_robin_is_a_cell_a_pair_on_the_same_deals(sweep: Sweep, folder: Path) -> None:
    assert sweep(*ROUND, "deals=10") == 0
    first: defaultdict[int, set[str]] = defaultdict(set)
    for match in matches(folder).values():
        assert match.subjects == match.measured == (1 - match.rotation,)
        first[match.deal].add(json.dumps(match.decisions[0].options))
    assert {len(options) for options in first.values()} == {1}
    shared = pd.read_csv(folder / "shared_opponents.csv")
    assert len(shared) == 3
    assert set(shared["deals"]) == {10}
    assert not (folder / "pairs.csv").exists(), "one family of tests"


def test_the_labels_tell_both_players(built: Built) -> None:
    told = built(*ROUND)
    assert [one["players"] for one in told] == [
        *(["rule", "random"], ["first", "random"], ["first", "rule"])
    ]
    assert [(one["labels"]["agent"], one["labels"]["seats"]) for one in told] == [
        *(("random", "solo against rule"), ("random", "solo against first")),
        ("rule", "solo against first"),
    ]


def test_at_a_larger_table_the_first_takes_the_measured_seats(sweep: Sweep, folder: Path) -> None:
    seats = ("seats=three_random", "seats.measured=[0,2]")
    fixed = ("pairing=round_robin", "rotate=false")
    assert sweep(*seats, *fixed, "players=[rule,random]") == 0
    assert all(m.subjects == m.measured == (0, 2) for m in matches(folder).values())


@pytest.mark.parametrize(
    ("words", "rotate"),
    [
        ("pairing=round_robin players=[rule,random]", True),
        ("pairing=anchor players=[rule,random]", True),
        ("pairing=round_robin players=[rule,random] rotate=false", False),
        ("seats=three_random seats.0.player=search seats.1.player=rule", True),
        ("seats=three_random seats.0.player=search seats.1.player=rule rotate=false", False),
        ("seats=three_random seats.0.player=rule", False),
        ("seats=coop", False),
        ("seats=solo", False),
        ("seats=solo rotate=true", True),
    ],
)
def test_players_who_meet_each_other_take_every_seat(words: str, rotate: bool) -> None:
    assert {cell.rotate for cell in composed(*words.split())[0]} == {rotate}


@pytest.mark.parametrize("players", ["random,first", "random,first,minimax"])
def test_nothing_is_said_about_players_who_kept_their_seats(
    sweep: Sweep, folder: Path, capsys: Capsys, players: str
) -> None:
    robin = ("game=tic_tac_toe", "pairing=round_robin", "deals=100", "rotate=false")
    assert sweep(*robin, f"players=[{players}]") == 0
    assert pd.read_csv(folder / "summary.csv")["p"].isna().all()
    assert "kept their seats" in " ".join(capsys.readouterr().out.split())


def test_goals_belong_to_the_seats(built: Built) -> None:
    seats = ("seats=coop", "seats.measured=2")
    (told,) = built(*seats, "pairing=round_robin", "players=[random,rule]")
    assert [player["helps"] for player in told["identity"]["players"]] == [None, None, 1]


def test_a_pair_of_scripted_players_is_one_cell_of_all_models(built: Built) -> None:
    players = "players=[random,rule,vanilla]"
    found = built("pairing=round_robin", players, "model.seed=1,2")
    told = sorted(one["labels"]["seats"] for one in found)
    assert told == [
        "solo against rule",
        *(f"solo against vanilla.fake[seed={seed}]" for seed in (1, 1, 2, 2)),
    ]


def test_against_an_anchor_each_player_meets_the_first_one(built: Built) -> None:
    told = built("pairing=anchor", "players=[random,rule,fake/cloze]", "model=fake")
    assert [one["players"] for one in told] == [["random", "rule"], ["random", "fake/cloze"]]
    assert [one["labels"]["agent"] for one in told] == ["rule", "fake/cloze"]
    assert told[1]["labels"]["model"] == "fake"


def test_an_optional_player_sits_out_of_games_that_it_cannot_play(
    built: Built,
) -> None:
    anchored = ("pairing=anchor", "game=tic_tac_toe,uno")
    told = built(*anchored, "players=[random,rule?,minimax?,first_option]")
    played = [(one["labels"]["game"], one["labels"]["agent"]) for one in told]
    assert played == [
        *(("tic_tac_toe", "minimax"), ("tic_tac_toe", "first_option")),
        *(("uno", "rule"), ("uno", "first_option")),
    ]
    with pytest.raises(UserError, match="player=minimax: agent:"):
        built(*anchored, "players=[random,minimax]")


def test_choices_typed_for_several_grids_keep_the_grids_that_list_them(built: Built) -> None:
    def games(*words: str) -> list[str]:
        told = built("experiment=league", *words)
        return list(dict.fromkeys(one["labels"]["game"] for one in told))

    two = "players=[random,first_option]"
    assert games("game=uno,hive", two) == ["uno", "hive"]
    assert games("game=openspiel", "game.name=hex", two) == [
        "openspiel:hex[parameters={board_size:5}]"
    ]
    assert games("game=rock_paper_scissors", two) == ["rock_paper_scissors"]
    assert games("players=[random,dqn?]", "game=uno,hive") == ["uno"]


NAMES = ("NA", "null", "42", "007", "qwen2.5-7b")


def test_players_may_be_called_what_other_formats_take_for_a_value(
    sweep: Sweep, conf: Path, folder: Path
) -> None:
    """YAML's null, a number of Hydra's, what pandas takes for a missing field, a dot."""
    for number, name in enumerate(NAMES, start=1):
        agent = f"agent: uct\nagent.playouts: {number}\n"
        (conf / "player" / f"{name}.yaml").write_text(agent)
    players = ",".join(f"'{name}'" for name in NAMES)
    own = ("game=tic_tac_toe", "pairing=round_robin", more(conf))
    assert sweep(*own, f"players=[{players}]", "deals=1") == 0
    summary = read_table(folder / "summary.csv")
    assert {*summary["agent"]} == {*NAMES[:-1]}
    assert len(summary) == 10
    headings, rows = sheets.read(folder / "summary.csv")
    place = headings.index("agent")
    assert {row[place] for row in rows} == {(name, name) for name in NAMES[:-1]}


def test_a_player_by_another_name_is_told(
    built: Built, conf: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b"):
        (conf / "player" / f"{name}.yaml").write_text("agent: random\n")
    own = ("game=tic_tac_toe", "pairing=round_robin", more(conf))
    assert len(built(*own, "players=[a,b,first]")) == 2
    (line,) = {record.getMessage() for record in caplog.records if record.name == "gauntlet"}
    assert re.findall(r"against_first-\w", line) == ["against_first-b", "against_first-a"]
