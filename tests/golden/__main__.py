"""Rewrite the golden files."""

from tests.golden import FOLDER, GAMES, METHODS, playthrough, prompts

for name, (game, deal) in GAMES.items():
    (FOLDER / f"{name}.txt").write_text(playthrough(game, deal), encoding="utf-8")
for name in METHODS:
    (FOLDER / "prompts" / f"{name}.txt").write_text(prompts(name), encoding="utf-8")
