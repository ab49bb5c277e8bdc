"""*Observe*: an observer at work, guess by guess: paused, stepped through, or at any speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from nicegui import html, ui
from nicegui.events import KeyEventArguments

from gauntlet.common.sanitize import visible
from gauntlet.games.rock_paper_scissors import RockPaperScissors, strategies
from gauntlet.games.watch import Watch
from gauntlet.games.watch import drawing as watched
from gauntlet.pipeline.config.output_dir import short_name
from gauntlet.pipeline.pages import charts
from gauntlet.pipeline.pages.child import Child, Guessed, Scene
from gauntlet.pipeline.pages.frame import (
    button,
    choices,
    drawing,
    note,
    number,
    page_frame,
    section_heading,
    select,
    text_block,
    words,
)
from gauntlet.pipeline.pages.play import WATCHING

TICK = 0.2
"""Seconds between page updates."""
SPEEDS = {1: "1 a second", 5: "5 a second", 20: "20 a second", 1000: "as they come"}
"""Guesses shown per second."""
LOSSES = ("union", "brier", "ev_loss")
"""The losses of `games.watch.guesses` that are plotted guess by guess."""
ADDED = {"ArrowLeft": -1, "ArrowRight": 1, "PageUp": -10, "PageDown": 10}
"""How many guesses a key moves."""


class Follower(Child):
    """A run of one watched match.

    scene: None until known.
    guesses: those made so far.
    """

    module = "gauntlet.pipeline.pages.watcher"

    def __init__(self, name: str, words: Sequence[str], first: int = 0) -> None:
        self.scene: Scene | None = None
        self.guesses: list[Guessed] = []
        super().__init__(name, words, first)

    def take_in(self, news: Scene | Guessed) -> None:
        if isinstance(news, Scene):
            self.scene = news
        else:
            self.guesses.append(news)


@dataclass
class ObserverView:
    """What a page shows of a match: the current guess, running or paused."""

    follower: Follower
    place: float = -1.0
    going: bool = True
    speed: int = 5
    drawn: tuple[int, int] = (-2, -1)

    @property
    def at(self) -> int:
        """The index of the guess shown; -1 before the first."""
        return int(self.place)

    def go(self, by: float) -> None:
        """Move by this many guesses, within those available."""
        self.place = min(max(self.place + by, 0.0), len(self.follower.guesses) - 1.0)

    def step(self, by: int) -> None:
        self.going, self.place = False, float(self.at)
        self.go(by)

    def switch(self) -> None:
        self.going = not self.going

    def press(self, event: KeyEventArguments) -> None:
        """Arrows step, P pauses and resumes."""
        if not event.action.keydown or event.modifiers.alt or event.modifiers.ctrl:
            return  # reserved for the browser
        if event.key.name in ADDED:
            self.step(ADDED[event.key.name])
        elif event.key.name in ("p", "P") and not event.action.repeat:
            self.switch()


def show(follower: Follower) -> None:
    ui.add_css(watched.STYLE)
    view = ObserverView(follower)
    words("h1", follower.name)
    with html.div().classes("p-after"):
        _controls(view)

    @ui.refreshable
    def body() -> None:
        _body(view)

    def look() -> None:
        if view.going:
            view.go(view.speed * TICK)
        if view.drawn != (view.at, follower.ended is None):
            view.drawn = view.at, follower.ended is None
            body.refresh()

    body()
    ui.keyboard(view.press, ignore=["input", "select", "textarea"])
    ui.timer(TICK, look)


def _controls(view: ObserverView) -> None:
    for icon, label, by in (("chevron_left", "back", -1), ("chevron_right", "on", 1)):
        made = ui.button(icon=icon, on_click=lambda by=by: view.step(by), color=None)
        made.props(f'flat dense aria-label="{label}"').mark(label)
    pause = ui.button(on_click=view.switch, color=None).props("no-caps unelevated")
    pause.classes("p-go").bind_text_from(view, "going", lambda on: "Pause" if on else "Go on")
    ui.select(SPEEDS, label="Speed").bind_value(view, "speed")


def _body(view: ObserverView) -> None:
    follower, scene = view.follower, view.follower.scene
    with html.p().props("role=status aria-live=off").classes("p-status"):
        if follower.ended:
            ui.label(visible(f"The run is over: {follower.ended}")).classes("warning")
        elif scene is None:
            ui.label("The players are being watched ...")
        elif view.at < 0:
            ui.label("No guess yet ...")
        else:
            ui.label(_step_text(scene, follower.guesses, view.at))
    if scene is not None and view.at >= 0:
        _match(scene, follower.guesses[: view.at + 1])
        note(f"kept in {scene.folder}")
    if follower.ended is None:
        leave = ui.button("Stop watching", on_click=follower.leave, color=None)
        leave.props("no-caps flat").classes("p-leave")
    else:
        ui.link("Watch another match", "/observe")


def _step_text(scene: Scene, guesses: Sequence[Guessed], at: int) -> str:
    guess = guesses[at]
    guess_text = _named(scene, guess.guess) or "no guess"
    sure = "" if guess.confidence is None else f", confidence {guess.confidence:.2f}"
    right = "right" if guess.guess == scene.truth else "wrong"
    real = _named(scene, scene.truth)
    return f"Step {guess.shown} of {guess.steps}: {guess_text}{sure}; {right}, it is {real}"


def _named(scene: Scene, guess: Sequence[int]) -> str:
    names = list(scene.strategies)
    return " and ".join(names[each] for each in guess)


def _match(scene: Scene, guesses: Sequence[Guessed]) -> None:
    now, losses = guesses[-1], scene.losses.get("union")
    with html.div().classes("p-columns"):
        for seat, name in enumerate(scene.players):
            with html.div():
                section_heading(f"Player {name}")
                guess = now.guess[seat] if now.guess else None
                row = now.posterior[seat], scene.truth[seat], guess
                drawing(watched.draw_beliefs(name, [*scene.strategies], *row))
        with html.div():
            section_heading("Steps")
            drawing(watched.draw_steps(scene.players, _numbered_actions(guesses)))
        if losses is not None and len(scene.players) == 2:
            with html.div():
                section_heading("Union loss of every guess")
                found = scene.players, [*scene.strategies], losses, scene.truth, now.guess
                drawing(watched.draw_losses(*found))
    most = len(guesses) + now.steps - now.shown
    with html.div().classes("p-columns"):
        if scene.losses:
            with html.div():
                section_heading("Losses")
                lines = {name: _costs(scene, name, guesses) for name in LOSSES}
                drawing(charts.course("losses", lines, most))
        with html.div():
            section_heading("Belief in the truth")
            drawing(charts.course("belief in the truth", _beliefs(scene, guesses), most))
    reasons = [(one.shown, one.reasoning) for one in guesses if one.reasoning]
    section_heading("Strategies")
    drawing(watched.draw_catalogue(scene.strategies))
    if reasons:
        section_heading("Reasoning")
        text_block("\n".join(f"step {step}: {told}" for step, told in reversed(reasons)))


def _numbered_actions(guesses: Sequence[Guessed]) -> list[tuple[int, Sequence[tuple[int, str]]]]:
    entries: list[tuple[int, Sequence[tuple[int, str]]]] = []
    for one in guesses[-watched.STEPS :]:
        first = one.shown - len(one.done) + 1
        entries += list(enumerate(one.done, first))
    return entries


def _costs(scene: Scene, name: str, guesses: Sequence[Guessed]) -> list[float]:
    """The loss of each guess; NaN for a missing one."""
    shape = (len(scene.codes),) * len(scene.players)
    return [
        float(scene.losses[name][np.ravel_multi_index(one.guess, shape)]) if one.guess else np.nan
        for one in guesses
    ]


def _beliefs(scene: Scene, guesses: Sequence[Guessed]) -> dict[str, list[float]]:
    """Each player's true strategy's posterior probability, and the observer's confidence."""
    curves = {
        f"player {name}, by Bayes": [float(one.posterior[seat, real]) for one in guesses]
        for seat, (name, real) in enumerate(zip(scene.players, scene.truth, strict=True))
    }
    sure = [np.nan if one.confidence is None else one.confidence for one in guesses]
    return curves if np.isnan(sure).all() else {**curves, "confidence of the observer": sure}


OBSERVERS = ("bayes", "likeliest", "nearest", "constant", "llm")
"""Observers that state a guess; a random player's guess is drawn only after its decision."""
DRAWN = "drawn by the deal"
CATALOGUE = watched.catalogue(Watch(of=RockPaperScissors()))
STRATEGIES = dict(zip(strategies.CODES, CATALOGUE, strict=True))
"""The names of rock-paper-scissors' strategies, by code."""


@dataclass
class Wish:
    """The form's values. first, second: codes, or DRAWN."""

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
        """The codes of both players; [] if the deal draws them."""
        named = self.game == "watch_rps" and DRAWN not in (self.first, self.second)
        return [self.first, self.second] if named else []

    @property
    def names(self) -> str:
        return " against ".join(map(STRATEGIES.__getitem__, self.players))

    def words(self, outputs: Path) -> list[str]:
        player_words = "".join(self.players) or "any"
        llm = self.observer == "llm"
        model_settings = (
            (f"model={self.model}", f"prompt.temperature={self.temperature:g}") if llm else ()
        )
        name_parts = [self.game, player_words, f"window_{self.window}"]
        name_parts += [f"seed_{self.seed}"] if self.seed != 1 else []
        return [
            *("experiment=observer_table1", "name=observe", f"game={self.game}"),
            *(f"game.players=[{','.join(self.players)}]", f"game.window={self.window}"),
            *(f"agent={self.observer}", "prompt=observe", *model_settings, f"seed={self.seed}"),
            *(f"deals={self.deal + 1}", "launch=inline", "tracking=none"),
            f"output_dir={outputs / f'observe-{short_name(name_parts)}'}",
        ]


def register(outputs: Path) -> None:
    followers: dict[str, Follower] = {}

    @ui.page("/observe")
    def page() -> None:
        with page_frame("Observe"):
            words("h1", "Observe")
            note("Scripted players play; an observer says, step by step, who plays how.")
            for follower in followers.values():
                ui.link(follower.name, f"/observe/{follower.id}")
            _setup(outputs, followers)

    @ui.page("/observe/{name}")
    def followed(name: str) -> None:
        with page_frame("Observe"):
            if name in followers:
                show(followers[name])
            else:
                note("Nobody is followed here any more. What was finished is kept.", warning=True)
                ui.link("Follow another one", "/observe")


def _setup(outputs: Path, followers: dict[str, Follower]) -> None:
    wish = Wish()
    section_heading("A match to watch")
    with html.div().classes("p-form"):
        select("Game", [one for one in choices("game") if one.startswith(WATCHING)], wish, "game")
        for label, key in (("Player 1", "first"), ("Player 2", "second")):
            select(label, {DRAWN: DRAWN, **STRATEGIES}, wish, key).bind_visibility_from(
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
        who = wish.names or "players drawn by the deal"
        made = Follower(f"{wish.observer} watches {who}", wish.words(outputs), wish.deal)
        followers[made.id] = made
        ui.navigate.to(f"/observe/{made.id}")

    button("Watch", follow)
    section_heading("Strategies of rock-paper-scissors")
    drawing(watched.draw_catalogue(CATALOGUE))
