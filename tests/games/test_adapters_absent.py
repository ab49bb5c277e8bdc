"""Other libraries' games without the library: one line that says what to install."""

from __future__ import annotations

import sys

import pytest

from gauntlet.common.errors import UserError
from gauntlet.games.pettingzoo import PettingZoo
from gauntlet.games.textarena import TextArena
from gauntlet.games.textarena import game as textarena


@pytest.mark.parametrize(("kind", "name"), [(TextArena, "textarena"), (PettingZoo, "pettingzoo")])
def test_an_absent_package_is_named_with_its_extra(
    kind: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    textarena.names.cache_clear()
    for module in [one for one in sys.modules if one.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=rf"pip install 'gauntlet\[{name}\]'") as error:
        kind(name="tictactoe")
    assert "\n" not in str(error.value)
    textarena.names.cache_clear()
