"""Requirements on a launch config, checked before Ray is used."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from gauntlet.common.errors import UserError
from gauntlet.pipeline.launch.session import authentication, new_token, session

JOIN: dict[str, Any] = {
    "kind": "ray", "address": "10.0.0.1:6379", "nodes": 1, "workers": None, "auth": "token",
    "token_file": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"address": "???"}, "launch.address=HOST:PORT"),
        ({"address": "auto"}, "RAY_ADDRESS"),
        ({"auth": "password"}, "launch.auth is 'password'"),
        ({"token_file": "/nonexistent/token"}, "launch.token_file: /nonexistent/token"),
        ({"token_file": None}, "launch.token_file"),
    ],
)
def test_what_is_missing_is_named(
    changes: dict[str, Any], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    with pytest.raises(UserError, match=named), session({**JOIN, **changes}):
        pass


def test_a_token_is_new_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    new_token(one)
    new_token(other)
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    assert len(one.read_text()) == 64
    assert one.read_text() != other.read_text()
    with pytest.raises(FileExistsError):
        new_token(one)


def test_the_token_itself_is_in_no_environment(tmp_path: Path) -> None:
    """Other users see a process's command line, and crash reports its environment."""
    new_token(tmp_path / "token")
    variables = authentication(tmp_path / "token")
    assert (tmp_path / "token").read_text() not in str(variables)
    assert authentication(None) == {"RAY_AUTH_MODE": "disabled"}
