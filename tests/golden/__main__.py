"""Rewrite the golden files."""

from tests.golden import FOLDER, GAMES, playthrough

for name, (game, deal) in GAMES.items():
    (FOLDER / f"{name}.txt").write_text(playthrough(game, deal), encoding="utf-8")
