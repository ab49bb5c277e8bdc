"""Packages that are not installed are named together with the extra that installs them."""

import sys

import pytest

from gauntlet.common.errors import UserError, extra
from tests import nodes
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


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["mines"], "no mines.yaml is in conf/game"),
        (["uno", "--config-dir", "absent"], "--config-dir absent: the folder is not found"),
        (["mine", "--config-dir", "."], "mine._target_ is 'mygames.Mine'; it must lie in "),
        (["mine", "--config-dir", ".", "packages=[a,mygames]"], "'mygames.Mine' cannot be loaded"),
    ],
)
def test_a_check_of_a_game_of_ones_own_says_what_it_lacks(
    tmp_path, monkeypatch, capsys, words, refusal
):
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "mine.yaml").write_text("_target_: mygames.Mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(conformance, "FOLDERS", FOLDERS := [*nodes.FOLDERS])
    monkeypatch.setattr(nodes, "FOLDERS", FOLDERS)
    assert conformance.main(words) == 2
    assert refusal in capsys.readouterr().err


def test_a_check_of_a_game_names_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert conformance.main(["tic_tac_toe"]) == 2
    said = capsys.readouterr().err
    assert said == "gauntlet: hypothesis is not installed: pip install 'gauntlet[conformance]'\n"
