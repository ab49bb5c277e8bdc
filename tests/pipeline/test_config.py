"""No secret comes into a config; what is composed comes back from config.yaml, job by job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from omegaconf import OmegaConf, open_dict

from gauntlet.common.errors import UserError
from gauntlet.games.base import Game
from gauntlet.games.hive import Hive
from gauntlet.games.holdem import Holdem
from gauntlet.games.playouts import policies_of
from gauntlet.games.tic_tac_toe import TicTacToe
from gauntlet.games.uno import Uno
from gauntlet.games.uno.arena import UnoArena
from gauntlet.pipeline.config import jobs, secrets
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.jobs import Composed
from gauntlet.pipeline.config.resolved import as_yaml, document
from gauntlet.pipeline.config.yaml_files import reading
from gauntlet.pipeline.plan.build import build_cells
from tests.nodes import ROOT
from tests.pipeline.composing import composed
from tests.pipeline.conftest import Capsys, Sweep

BASE = ("game=tic_tac_toe", "model=openai", "prompt=cloze")
VALUE = "Zx81-correct-horse"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)
    monkeypatch.setenv("MY_SIZE", "4")


REFUSED = {
    "model.name=${oc.env:MY_TOKEN}": "model.name: ${oc.env:MY_TOKEN}: MY_TOKEN looks like a secret",
    "name=${oc.env:MY_TOKEN,other}": "MY_TOKEN looks like a secret",
    "name=${oc.env:MY_TOKEN} allow_env=[MY_TOKEN]": "MY_TOKEN looks like a secret",
    'name="${oc.decode:${oc.env:MY_TOKEN}}"': "MY_TOKEN looks like a secret",
    "game=${oc.env:MY_TOKEN}": "MY_TOKEN looks like a secret",
    "seats.1={agent:random,model.name:'${oc.env:MY_TOKEN}'}": "MY_TOKEN looks like a secret",
    "--cfg job --resolve name=${oc.env:MY_TOKEN}": "MY_TOKEN looks like a secret",
    f"name=a{VALUE}b": "holds the value of the environment variable MY_TOKEN",
    f"model.name=x,{VALUE}": "model.name holds the value of the environment variable MY_TOKEN",
    f"+{VALUE}=1": "holds the value of the environment variable MY_TOKEN",
    f"--cfg job players=[{VALUE}]": "players.0 holds the value of the environment variable",
    f"tracking.store=http://u:{VALUE}!@h": "cannot be read",
    "game.size=${oc.env:MY_SIZE}": "MY_SIZE is not in allow_env; allow_env=[MY_SIZE] lets it be",
    "game.size=${oc.env:MY_SIZE} allow_env=MY_SIZE": "allow_env is 'MY_SIZE'; it must be a list",
}


@pytest.mark.parametrize(("words", "line"), REFUSED.items())
def test_a_secret_is_refused_and_not_shown(capsys: Capsys, words: str, line: str) -> None:
    assert compose([*BASE, *words.split()], lambda *_: 0) == 2
    said = capsys.readouterr()
    assert line in said.err
    assert said.err.count("\n") == 1
    assert VALUE not in said.err + said.out


def test_an_allowed_variable_is_read(tmp_path: Path) -> None:
    """From the command line, and from a player's file."""
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "mine.yaml").write_text(
        "agent:\n  _target_: agents.search.Search\n  playouts: ${oc.decode:${oc.env:MY_SIZE}}\n"
    )
    own = ("--config-dir", str(tmp_path), "seats.1.player=mine", "allow_env=[MY_SIZE]")
    words = ('game.size="${oc.decode:${oc.env:MY_SIZE}}"', "seats=two_random", "seats.0.agent=rule")
    (cell,), _ = composed(*BASE, *own, *words)
    assert (cell.game["size"], cell.seats[1].agent["playouts"]) == (4, 4)


NAMES = {
    "OPENAI_API_KEY": True,
    "AWS_SECRET_ACCESS_KEY": True,
    "HF_TOKEN": True,
    "PGPASSWORD": True,
    "MYSQL_PWD": True,
    "GITHUB_APIKEY": True,
    "PROXY_AUTH": True,
    "STORE_CREDENTIALS": True,
    "TOKENIZERS_PARALLELISM": False,
    "MONKEYS": False,
    "GIT_AUTHOR_NAME": False,
    "KEYBOARD_LAYOUT": False,
    "BYPASS": False,
    "RAY_AUTH_MODE": False,
    "SSH_KEY_FILE": False,
}


@pytest.mark.parametrize(("name", "looks"), NAMES.items())
def test_names_that_look_secret(name: str, looks: bool) -> None:
    config = {"model": {"name": f"x-{VALUE}"}}
    if looks:
        with pytest.raises(UserError, match=rf"^model\.name holds the value of .* {name};"):
            secrets.refuse(config, {name: VALUE})
    else:
        secrets.refuse(config, {name: VALUE})


@pytest.mark.parametrize("value", ["none", "/run/secrets/key", "~/.key"])
def test_short_values_and_paths_are_no_secrets(value: str) -> None:
    secrets.refuse({"output_dir": value, "model": "none"}, {"MY_KEY": value})


@pytest.mark.parametrize("setting", ["api_key_env", "key_env"])
def test_the_variable_that_a_setting_names_is_a_secret(setting: str) -> None:
    config = {"model": {setting: "OURS"}, "name": VALUE}
    with pytest.raises(UserError, match=r"^name holds the value of the environment variable OURS"):
        secrets.refuse(config, {"OURS": VALUE})
    secrets.refuse({"name": VALUE}, {"OURS": VALUE})


# --- resolved


def merged(common: Mapping[str, Any], specific: Mapping[str, Any]) -> dict[str, Any]:
    """As a reader of the file would."""
    found = dict(common)
    for key, value in specific.items():
        both = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if both else value
    return found


JOBS: list[dict[str, Any]] = [
    {"prompt": {"_target_": "cloze", "moves": 5, "deep": {}}, "seed": 1, "players": [1, 2]},
    {"prompt": {"_target_": "cot", "moves": 5, "deep": {}, "tokens": 9}, "seed": 1, "players": []},
    {"prompt": None, "seed": True, "players": [1, 2], "more": {"x": "on", "y": None}},
]


@pytest.mark.parametrize("jobs", [JOBS, JOBS[:2], JOBS[::2], JOBS[:1], [JOBS[0]] * 2])
def test_shared_with_a_jobs_own_is_what_was_composed(jobs: list[dict[str, Any]]) -> None:
    words = [("deals=3", f"prompt={number}") for number in range(len(jobs))]
    told = [Composed(job, {}, typed) for job, typed in zip(jobs, words, strict=True)]
    read = yaml.safe_load(as_yaml(document(told)))
    own = read.pop("jobs", [{}])
    if len(jobs) > 1:
        assert [one.pop("overrides") for one in own] == [[second] for _, second in words]
    for job, one in zip(jobs, own, strict=True):
        back = merged(read, one)
        assert json.dumps(back, sort_keys=True) == json.dumps(job, sort_keys=True)


def test_a_run_writes_its_config_without_secrets(sweep: Sweep, folder: Path) -> None:
    words = ("agent=random,rule", "prompt=cloze", "deals=1", "name=sk-Zx81-horse", "seed=1,2")
    assert sweep(*words) == 0
    text = (folder / "config.yaml").read_text()
    assert "Zx81" not in text
    found = yaml.safe_load(text)
    assert (found["deals"], found["output_dir"]) == (1, str(folder))
    assert [(job["overrides"], job["seed"]) for job in found["jobs"]] == [
        (["agent=random", "seed=1"], 1),
        (["agent=random", "seed=2"], 2),
        (["agent=rule", "seed=1"], 1),
        (["agent=rule", "seed=2"], 2),
    ]
    assert found["jobs"][2]["agent"]["_target_"] == "gauntlet.agents.rule.Rule"
    assert sweep("agent=rule", "prompt=cloze", "deals=2", "name=other", "seed=1,2") == 0
    assert yaml.safe_load((folder / "config.yaml").read_text())["name"] == "other"


# --- jobs


SWEEPS = (
    ("game=tic_tac_toe", "model=fake", "model.seed=0,1", "prompt=cloze,vanilla", "deals=3"),
    (
        "experiment=label_prior",
        "model=fake",
        "+model.texts=[A],[B,C]",
        "name=x",
        "output_dir=${name}/y",
    ),
    (
        "seats.0.player=rule,random",
        "agent=llm",
        "model=fake",
        "prompt={moves:4}",
        "prompt.wording=terse",
    ),
    ("prompt=direct,cot", "deals=3", "prompt.max_tokens=64", "model=fake"),
    ("~packages", "+packages=[a]", "seed=1,2", "game=uno"),
)


@pytest.mark.parametrize("typed", SWEEPS)
def test_a_job_is_what_hydra_makes_of_it(typed: Sequence[str]) -> None:
    with reading(()) as loader:
        configs = jobs.Configs(loader)
        own, _ = configs.compose(tuple(word for word in typed if word.startswith("experiment=")))
        words = [f"++{word}" if word.startswith("seats.") else word for word in typed]
        composed = configs.jobs([*configs.grids(own)[0], *configs.parsed(words)], {})
        assert len(composed) > 1
        for found in composed:
            config = hydra.compose("config", list(found.overrides), return_hydra_config=True)
            assert found.choices == config.hydra.runtime.choices
            with open_dict(config):
                del config["hydra"], config["sweep"]
            plain: Any = OmegaConf.to_container(config, resolve=True)
            assert list(found.config.items()) == list(plain.items())
    assert len({str(found.config) for found in composed}) == len(composed)


def test_a_glob_lists_the_choices_of_every_folder(tmp_path: Path) -> None:
    (tmp_path / "player").mkdir()
    (tmp_path / "player" / "min_of_mine.yaml").write_text("agent: minimax\n")
    typed = ("--config-dir", str(tmp_path), "game=glob(tic*)", "prompt=cloze", "deals=1")
    players = "seats.0.player=minimax,min_of_mine"
    found, _ = composed(*typed, players)
    assert [one.labels["game"] for one in found] == ["tic_tac_toe"] * 2
    with reading([tmp_path]) as loader:
        assert "min_of_mine" in loader.get_group_options("player")


@pytest.mark.parametrize("game", [TicTacToe(), Holdem(2), Uno(2), Hive(), UnoArena(3)])
def test_every_policy_of_a_game_is_an_agent(game: Game[Any]) -> None:
    for name in policies_of(game):
        assert composed(f"agent={name}")[0][0].labels["agent"] == name


def test_another_librarys_game_is_called_by_its_name() -> None:
    games = ("game=openspiel", "game.name=go,chess", "game.listed=20")
    found, _ = composed(*games, "agent=random", "prompt=cloze")
    assert [one.labels["game"] for one in found] == [
        "openspiel:go[listed=20]",
        "openspiel:chess[listed=20]",
    ]


@pytest.mark.parametrize(
    ("typed", "label"),
    [
        (("model=hf", "model.path=a/Llama-8B"), "hf:Llama-8B"),
        (("model=hf", "model.path=b/c", "model.dtype=float32"), "hf:c[dtype=float32]"),
        (("model=pocket",), "pocket"),
        (("model=openai", "model.name=org/gpt", "model.cap=null"), "openai:org/gpt"),
        (("model=openai", "model.name=m", "model.in_flight=2", "model.top=5"), "openai:m[top=5]"),
    ],
)
def test_a_models_label_has_its_name_or_its_path(typed: tuple[str, ...], label: str) -> None:
    found, _ = composed("game=tic_tac_toe", "prompt=cloze", *typed)
    assert [one.labels["model"] for one in found] == [label]


@pytest.mark.parametrize(
    ("words", "key", "file"),
    [
        (("model=hf,pocket", "model.path=models/pocket_duel/weights"), "model.path", "pocket"),
        (("model=gpt_4_1", "model.name=gpt-4.1-mini"), "model.name", "gpt_4_1"),
        (
            ("seats.0.agent=llm", "+seats.0={model: pocket, model.path: a/b}", "model=fake"),
            "seats.0.model.path",
            "pocket",
        ),
    ],
)
def test_the_name_of_a_model_is_not_given_to_another(
    capsys: Capsys, words: tuple[str, ...], key: str, file: str
) -> None:
    asked = ("game=tic_tac_toe", "prompt=cloze", *words)
    assert compose(asked, lambda *_: 0) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"gauntlet: {key} is ")
    assert f" but {file} names " in line


def test_two_names_of_the_same_weights_are_told(caplog: pytest.LogCaptureFixture) -> None:
    path = f"{ROOT}/gauntlet/models/pocket/weights"
    configs, _ = composed("game=tic_tac_toe", "prompt=cloze", "model=hf", f"model.path='{path}'")
    others, _ = composed(
        "game=tic_tac_toe", "prompt=cloze", "model=pocket", "model.dtype=float32,bfloat16"
    )
    build_cells(others)
    assert not caplog.records, "settings of one model, by one name"
    build_cells([*configs, *others])
    (warning,) = caplog.records
    assert warning.args == ("hf:weights and pocket",)


def test_cells_built_together_are_those_built_alone() -> None:
    """They share their players' probe requests."""
    typed = ("game=tic_tac_toe", "model=fake", "model.seed=0,1", "prompt=cloze,vanilla")
    found, _ = composed(*typed)
    alone = [build_cells([one])[0].key for one in found]
    assert [cell.key for cell in build_cells(found)] == alone
    assert len(set(alone)) == 4
