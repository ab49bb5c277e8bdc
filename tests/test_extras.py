"""Packages that are not installed are named together with the extra that installs them."""

import sys

import pytest

from gauntlet.common.errors import UserError, extra
from tests.games import __main__ as conformance


def test_a_module_that_is_there_is_given():
    assert extra("json", "any") is sys.modules["json"]


def test_one_that_is_absent_is_named_with_the_command():
    with pytest.raises(
        UserError, match=r"^nowhere is not installed: pip install 'gauntlet\[far\]'$"
    ):
        extra("nowhere.inner", "far")


def test_a_package_that_lacks_another_says_so_itself(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import nowhere_either\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="nowhere_either"):
        extra("half_there", "any")


def test_a_check_of_a_game_names_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert conformance.main(["tic_tac_toe"]) == 2
    said = capsys.readouterr().err
    assert said == "gauntlet: hypothesis is not installed: pip install 'gauntlet[conformance]'\n"
