"""*Observe*: an observer at work, guess by guess: who plays how, and what it would cost to err."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nicegui import html, ui

from gauntlet.games.rock_paper_scissors.strategies import CODES
from gauntlet.pipeline.config.output_dir import short
from gauntlet.pipeline.pages.at_observer import Follower, show
from gauntlet.pipeline.pages.forms import button, choices, number, select
from gauntlet.pipeline.pages.frame import framed, note, part, words
from gauntlet.pipeline.pages.play import WATCHING

OBSERVERS = ("bayes", "likeliest", "nearest", "constant", "llm")
"""Those who say their guess; a random player's is drawn for it once it has decided."""
DRAWN = "drawn by the deal"


@dataclass
class Wish:
    """What a person asks for. first, second: codes, or DRAWN."""

    game: str = "watch_rps"
    first: str = "H"
    second: str = "C"
    observer: str = "bayes"
    model: str = "pocket_observer"
    temperature: float = 0.2
    window: int = 50
    seed: int = 1
    deal: int = 0

    @property
    def players(self) -> list[str]:
        """The codes of both players; none where the deal draws them."""
        named = self.game == "watch_rps" and DRAWN not in (self.first, self.second)
        return [self.first, self.second] if named else []

    def words(self, outputs: Path) -> list[str]:
        """The run's settings."""
        who = "".join(self.players) or "any"
        llm = self.observer == "llm"
        asked = (f"model={self.model}", f"prompt.temperature={self.temperature:g}") if llm else ()
        told = [self.game, who, f"window_{self.window}"]
        told += [f"seed_{self.seed}"] if self.seed != 1 else []
        return [
            *("experiment=observer_table1", "name=observe", f"game={self.game}"),
            *(f"game.players=[{','.join(self.players)}]", f"game.window={self.window}"),
            *(f"agent={self.observer}", "prompt=observe", *asked, f"seed={self.seed}"),
            *(f"deals={self.deal + 1}", "launch=inline", "tracking=none"),
            f"output_dir={outputs / f'observe-{short(told)}'}",
        ]


def register(outputs: Path) -> None:
    """Serves /observe, and /observe/ID for each match that is followed."""
    followers: dict[str, Follower] = {}

    @ui.page("/observe")
    def page() -> None:
        with framed("Observe"):
            words("h1", "Observe")
            note("Scripted players play; an observer says, step by step, who plays how.")
            for follower in followers.values():
                ui.link(follower.name, f"/observe/{follower.id}")
            _setup(outputs, followers)

    @ui.page("/observe/{name}")
    def followed(name: str) -> None:
        with framed("Observe"):
            if name in followers:
                show(followers[name])
            else:
                note("Nobody is followed here any more. What was finished is kept.", warning=True)
                ui.link("Follow another one", "/observe")


def _setup(outputs: Path, followers: dict[str, Follower]) -> None:
    wish = Wish()
    part("A match to watch")
    with html.div().classes("p-form"):
        select("Game", [one for one in choices("game") if one.startswith(WATCHING)], wish, "game")
        for label, key in (("Player 1", "first"), ("Player 2", "second")):
            select(label, [DRAWN, *CODES], wish, key).bind_visibility_from(
                wish, "game", value="watch_rps"
            )
        select("Observer", list(OBSERVERS), wish, "observer")
        number("Window", wish, "window", 1)
    with html.div().classes("p-form"):
        select("Model of llm", choices("model"), wish, "model")
        warm = ui.number("Temperature of llm", min=0, max=2, step=0.1, value=wish.temperature)
        warm.bind_value_to(wish, "temperature", lambda value: value or 0.0)
        number("Seed", wish, "seed", 0)
        number("Deal", wish, "deal", 0)

    def follow() -> None:
        who = " against ".join(wish.players) or "players drawn by the deal"
        made = Follower(f"{wish.observer} watches {who}", wish.words(outputs), wish.deal)
        followers[made.id] = made
        ui.navigate.to(f"/observe/{made.id}")

    button("Watch", follow)
