"""*Play*: choose your opponents, and the open tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from nicegui import html, run, ui

from gauntlet.common.errors import UserError
from gauntlet.models.base import Paid
from gauntlet.pipeline.config.compose import composed
from gauntlet.pipeline.config.nodes import build
from gauntlet.pipeline.config.output_dir import short_name
from gauntlet.pipeline.config.players import SeatConfig
from gauntlet.pipeline.log.recorded import trusted
from gauntlet.pipeline.pages.frame import (
    button,
    choices,
    note,
    number,
    page_frame,
    section_heading,
    select,
    words,
)
from gauntlet.pipeline.pages.table import Table
from gauntlet.pipeline.pages.table_page import show
from gauntlet.pipeline.plan.build import build_agent, model_of

WATCHING = "watch_"
"""Name prefix of the games of watching."""
MOST_SEATS = 10
DEALS = 100
"""Deals that a table plays, from the first on."""
SCRIPTED, NOBODY = "the game's scripted player", "nobody"
"""Whom you are compared with: who plays the same deals in your seat, besides an agent's name."""
PREFERRED = ("rule", "greedy", "tight")
"""Policies that a game may have, each with an agent of the same name."""


@dataclass
class Wish:
    """The form's values.

    others: names of conf/player, by seat.
    compared: SCRIPTED, NOBODY or a name of conf/agent.
    further: settings as on a command line.
    configs: further folders of configs.
    """

    game: str = "uno"
    seats: int = 2
    own: int = 1
    others: dict[int, str] = field(default_factory=dict)
    compared: str = SCRIPTED
    model: str = "pocket"
    prompt: str = "cloze"
    seed: int = 1
    first: int = 0
    further: str = ""
    configs: Sequence[Path] = ()

    def other(self, seat: int) -> str:
        return self.others.get(seat, "llm")

    @property
    def rest(self) -> list[int]:
        """The other players' seats; an observer sits alone."""
        alone = self.game.startswith(WATCHING)
        return [] if alone else [seat for seat in range(self.seats) if seat != self.own]

    def words(self, outputs: Path) -> list[str]:
        """The run's settings. In your seat are you, and then whom you are compared with on the same
        deals. Raises ValueError if the further settings cannot be split."""
        compared = self.compared
        if compared == SCRIPTED:
            compared = scripted(self, self._words(outputs, "human"))
        return self._words(outputs, "human" if compared == NOBODY else f"human,{compared}")

    def _words(self, outputs: Path, agents: str) -> list[str]:
        further = shlex.split(self.further)
        rest = self.rest
        others = [f"{seat}_{self.other(seat)}" for seat in rest]
        name_parts = [
            self.game,
            *others,
            *further,
            *([f"seed_{self.seed}"] if self.seed != 1 else []),
        ]
        packages = ",".join(trusted())
        return [
            *(f"--config-dir={folder}" for folder in self.configs),
            *((f"packages=[{packages}]",) if packages else ()),
            *("experiment=play", f"game={self.game}", f"model={self.model}"),
            *(f"prompt={self.prompt}", f"seed={self.seed}", f"deals={self.first + DEALS}"),
            *("controls=[]", f"agent={agents}"),
            *(f"output_dir={outputs / f'play-{short_name(name_parts)}'}",),
            *self._seating(rest),
            *further,
        ]

    def _seating(self, rest: Sequence[int]) -> Iterator[str]:
        """What differs from conf/seats/play.yaml: the sweep's model in seat 0, the person in 1."""
        if not rest:
            yield "seats=observer"
            return
        if self.own != 1:
            yield from (f"seats.{self.own}.agent=subject", f"seats.measured={self.own}")
        for seat in rest:
            if (seat, self.other(seat)) != (0, "llm"):
                yield f"seats.{seat}.player={self.other(seat)}"


def scripted(wish: Wish, words: Sequence[str]) -> str:
    """The agent of the game's best-known policy, a random one if it has none; NOBODY against a
    model behind an API, which would be paid again. words: your settings without it."""
    if wish.game.startswith(WATCHING):
        return "bayes"
    try:
        cells, _ = composed(words)
        if any(_paid(seat, cell.packages) for cell in cells for seat in cell.seats):
            return NOBODY
        game = build(cells[0].game, "game", cells[0].packages, num_seats=wish.seats)
    except UserError:  # the table will say it
        return "random"
    policies = getattr(game, "policies", ())
    return next((name for name in PREFERRED if name in policies), "random")


def _paid(seat: SeatConfig, packages: Sequence[str]) -> bool:
    """Whether the seat's player asks a model whose answers cost money."""
    return isinstance(model_of(seat, build_agent(seat, packages), packages), Paid)


def register(outputs: Path, configs: Sequence[Path]) -> None:
    tables: dict[str, Table] = {}

    @ui.page("/play")
    def page() -> None:
        with page_frame("Play"):
            words("h1", "Play")
            note("You against any player in any game, recorded as any other match.")
            _open(tables)
            _setup(outputs, tables, configs)

    @ui.page("/play/{name}")
    def table(name: str) -> None:
        with page_frame("Play"):
            if name in tables:
                show(tables[name])
            else:
                note("This table is not open any more. What was finished is kept.", warning=True)
                ui.link("Open another one", "/play")


def _open(tables: dict[str, Table]) -> None:
    playing = [table for table in tables.values() if table.ended is None]
    if playing:
        section_heading("Open tables")
    for table in playing:
        ui.link(table.name, f"/play/{table.id}")


def _setup(outputs: Path, tables: dict[str, Table], configs: Sequence[Path]) -> None:
    wish = Wish(configs=configs)
    section_heading("A new table")
    with html.div().classes("p-form"):
        game = select("Game", choices("game", configs), wish, "game")
        number("Players", wish, "seats", 2, MOST_SEATS, lambda: others.refresh())
        number("Your seat", wish, "own", 0, MOST_SEATS - 1, lambda: others.refresh())

    @ui.refreshable
    def others() -> None:
        _other_seats(wish)

    game.on_value_change(lambda: others.refresh())
    with html.div().classes("p-form"):
        others()
    with html.div().classes("p-form"):
        select("Model of llm", choices("model", configs), wish, "model")
        select("Prompt of llm", choices("prompt", configs), wish, "prompt")
        agents = [name for name in choices("agent", configs) if name != "human"]
        select("Compared with", [SCRIPTED, NOBODY, *agents], wish, "compared")
        number("Seed", wish, "seed", 0)
        number("First deal", wish, "first", 0)
    further = ui.input("Further settings, as game.size=4").classes("p-wide")
    further.bind_value(wish, "further")
    button("Sit down", partial(_sit_down, outputs, tables, wish))


def _other_seats(wish: Wish) -> None:
    for seat in wish.rest:
        chosen = ui.select(
            choices("player", wish.configs), value=wish.other(seat), label=f"Player {seat}"
        )
        chosen.on_value_change(lambda event, seat=seat: wish.others.update({seat: event.value}))


async def _sit_down(outputs: Path, tables: dict[str, Table], wish: Wish) -> None:
    """Open a table. Whoever closed its page finds the same one again; another one that writes to
    its folder is left first."""
    if not wish.own < wish.seats:
        ui.notify(f"your seat is one of 0 to {wish.seats - 1}", type="warning")
        return
    try:
        words = wish.words(outputs)
    except ValueError as error:
        ui.notify(f"further settings: {error}", type="warning")
        return
    against = ", ".join(map(wish.other, wish.rest)) or "nobody else"
    playing = [table for table in tables.values() if table.ended is None]
    table = next((one for one in playing if (one.words, one.first) == (words, wish.first)), None)
    if table is None:
        for other in playing:
            if _folder(other.words) == _folder(words):
                other.leave()
                await run.io_bound(other.wait)
        table = Table(f"{wish.game} with {against}", words, wish.first)
        tables[table.id] = table
    ui.navigate.to(f"/play/{table.id}")


def _folder(words: Sequence[str]) -> str:
    """Where a run with these settings writes: the last one counts."""
    return [word for word in words if word.startswith("output_dir=")][-1]
