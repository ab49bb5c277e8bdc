"""No secret gets into a config, however it is referenced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline.config import secrets
from gauntlet.pipeline.config.compose import compose
from gauntlet.pipeline.config.read import CellConfig, SweepConfig

BASE = ("game=tic_tac_toe", "model=openai", "prompt=cloze")
VALUE = "Zx81-correct-horse"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", VALUE)
    monkeypatch.setenv("MY_SIZE", "4")


ASKED = {
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


@pytest.mark.parametrize(("words", "line"), ASKED.items())
def test_a_secret_is_refused_and_not_shown(
    capsys: pytest.CaptureFixture[str], words: str, line: str
) -> None:
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
    found: list[tuple[int, int]] = []

    def look(cells: Sequence[CellConfig], _: SweepConfig) -> int:
        found.extend((cell.game["size"], cell.seats[1].agent["playouts"]) for cell in cells)
        return 0

    own = ("--config-dir", str(tmp_path), "seats.1.player=mine", "allow_env=[MY_SIZE]")
    words = ('game.size="${oc.decode:${oc.env:MY_SIZE}}"', "seats=two_random", "seats.0.agent=rule")
    assert compose([*BASE, *own, *words], look) == 0
    assert found == [(4, 4)]


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


def test_the_variable_that_a_setting_names_is_a_secret() -> None:
    config = {"model": {"api_key_env": "OURS"}, "name": VALUE}
    with pytest.raises(UserError, match=r"^name holds the value of the environment variable OURS"):
        secrets.refuse(config, {"OURS": VALUE})
    secrets.refuse({"name": VALUE}, {"OURS": VALUE})
