"""The page of a table: what the person knows and may do, and how the match ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import html, run, ui
from nicegui.events import KeyEventArguments

from gauntlet.common.errors import UserError
from gauntlet.common.sanitize import visible
from gauntlet.games.base import Game, TextAction
from gauntlet.games.drawing import draw_facts, draw_state, draw_view, style_of
from gauntlet.games.watch import Watch
from gauntlet.games.watch.drawing import catalogue
from gauntlet.pipeline.pages.comparison import scores
from gauntlet.pipeline.pages.frame import button, drawing, note, section_heading, text_block, words
from gauntlet.pipeline.pages.matches import link
from gauntlet.pipeline.pages.messages import Over, PersonTurn, answer
from gauntlet.pipeline.pages.places import Moves, clickable, place_moves
from gauntlet.pipeline.pages.table import Ending, Table

LOOK_SECONDS = 0.2
"""Seconds between checks for changes at the table."""
COMPARE_SECONDS = 1.0
LOOKS = 120
"""Seconds between looks for others who have played the same cards, and how many looks at most."""
KEYS = 9
"""Number of options that have a key, from 1 on."""
FOCUS = """setTimeout(() => document.querySelector(
    ".p-turn [data-moves]:not([aria-pressed]), .p-turn .p-options button"
)?.focus({preventScroll: true}), 50)"""
"""Focuses the first place or option, once the page shows it."""
PLACES = "Click a framed card or square, or take an option here."
CHOSEN = "One is chosen: click where it goes, or take an option here. Escape drops it."


@dataclass
class TableView:
    """The state of one page of a table.

    turn, over: the question and the end that are shown. A key pressed for the last question does
        not leave an end that nobody has seen.
    chosen: the moves of the chosen place, () if none is.
    listed: whether the list of all moves is open.
    acted: whether the last answer came from here.
    scores: of the finished match, as `comparison` has them.
    looks: how often they were looked for.
    guess: of an observer, the last one.
    """

    table: Table
    changes: int = -1
    end: Ending | None = None
    damage: str = ""
    speaking: int | None = None
    styled: bool = False
    turn: PersonTurn | None = None
    over: Over | None = None
    chosen: Moves = ()
    listed: bool = False
    acted: bool = False
    scores: Sequence[str] = ()
    looks: int = 0
    guess: str = ""

    def take(self, turn: PersonTurn, option: int) -> None:
        """Take an option of this question, if it is the current one: a second click is for the
        same question. A text action opens its text field."""
        if self.table.asked is not turn or self.table.over or option >= len(turn.options):
            return
        self.acted = True
        if isinstance(turn.options[option], TextAction):
            self.speaking = option
            self.changes = -1
        else:
            self._say(turn, option)

    def press_place(self, turn: PersonTurn, two_places: set[int], moves: Moves) -> None:
        """Take the move of a place; choose a place of several moves, or the first of two."""
        names = {turn.observation.options[move] for move in moves}
        if len(names) == 1 and (self.chosen or not two_places.intersection(moves)):
            self.take(turn, moves[0])
        elif self.table.asked is turn:
            self.choose(() if moves == self.chosen else moves)

    def choose(self, moves: Moves) -> None:
        self.chosen, self.acted, self.changes = moves, True, -1

    def say(self, turn: PersonTurn, option: int, words: str) -> None:
        """Take a text action of this question with its text, if that is valid."""
        action = turn.options[option]
        if self.table.asked is not turn or not isinstance(action, TextAction):
            return
        if fault := action.text.fault(words.strip()):
            ui.notify(f"{words.strip()!r} {fault}", type="warning")
        else:
            self._say(turn, option, words.strip())

    def _say(self, turn: PersonTurn, option: int, words: str = "") -> None:
        self.speaking = None
        if not self.table.answer(answer(turn, option, words)):
            ui.notify("another page has answered that already", type="warning")

    def press(self, event: KeyEventArguments) -> None:
        """Keys 1 to 9 take an option, Escape drops the chosen place, Enter continues with the next
        deal."""
        held = event.modifiers
        if not event.action.keydown or held.ctrl or held.alt or held.meta:
            return
        if event.key.number and self.turn:
            self.take(self.turn, event.key.number - 1)
        elif event.key.escape and self.chosen:
            self.choose(())
        elif event.key.enter and self.table.over and self.over is self.table.over:
            self.go_on()

    def go_on(self) -> None:
        self.end, self.damage = None, ""
        self.scores, self.looks = (), 0
        self.table.go_on()


def show(table: Table) -> None:
    view = TableView(table)
    words("h1", table.name)

    @ui.refreshable
    def body() -> None:
        _body(view)

    async def look() -> None:
        if table.over and view.end is None and not view.damage:
            await _look_up(view)
        if view.changes != table.changes:
            view.changes = table.changes
            body.refresh()

    async def compare() -> None:
        if view.end and not view.scores and view.looks < LOOKS:
            await _compare(view, view.end)

    body()
    ui.timer(COMPARE_SECONDS, compare)
    ui.keyboard(view.press, repeating=False, ignore=["input", "select", "textarea"])
    ui.timer(LOOK_SECONDS, look)


async def _look_up(view: TableView) -> None:
    """Find the record of the finished match once it is written."""
    try:
        view.end = await run.io_bound(view.table.ending)
    except UserError as error:
        view.damage = str(error)
    if view.end or view.damage:
        view.changes = -1


async def _compare(view: TableView, end: Ending) -> None:
    """Look for others on the same cards, until they have played them too."""
    try:
        lines = await run.io_bound(scores, end.folder, end.record)
    except UserError:
        return  # as `damage` says
    if view.end is end:
        view.changes = -1
        view.scores, view.looks = lines or (), view.looks + 1


def _body(view: TableView) -> None:
    table = view.table
    _status(table)
    if table.over:
        _over(view, table.over)
    elif table.asked and table.ended is None:
        _turn(view, table.asked)
    if table.ended is None:
        ui.button("Leave the table", on_click=table.leave, color=None).props(
            "no-caps flat"
        ).classes("p-leave")
    else:
        ui.link("Open another table", "/play")


def _status(table: Table) -> None:
    with html.p().props("role=status aria-live=polite").classes("p-status"):
        if table.ended:
            ui.label(visible(f"The table is closed: {table.ended}")).classes("warning")
        elif table.ended is not None:
            ui.label("All deals of this table are played.")
        elif table.over:
            ui.label(_outcome(table, table.over))
        elif table.asked:
            ui.label("It is your turn.")
        else:
            ui.label("The others move ..." if table.laid else "The table is being laid ...")
    if table.laid:
        seats = (f"{n} {'you' if n == table.laid.seat else name}"
                 for n, name in enumerate(table.laid.players))  # fmt: skip
        note(f"players: {', '.join(seats)}; kept in {table.laid.folder}")


def _outcome(table: Table, over: Over) -> str:
    own = over.returns[table.laid.seat] if table.laid else 0.0
    winners = [f"player {seat}" for seat, value in enumerate(over.returns) if value > 0]
    if own > 0:
        return "The match is over: you won."
    return f"The match is over: won by {' and '.join(winners) or 'nobody'}."


def _turn(view: TableView, turn: PersonTurn) -> None:
    if view.turn is not turn:
        view.turn, view.chosen = turn, ()
    with html.div().classes("p-turn"):
        _choice(view, turn)
    if view.acted:
        ui.run_javascript(FOCUS)
    view.acted = False
    _model_view(turn)


def _choice(view: TableView, turn: PersonTurn) -> None:
    """What is known, and the moves: in the drawing, the others below it, and all in a list."""
    markup = draw_view(turn.game, turn.observation)
    placed = place_moves(markup)
    _style(view, turn.game)
    press = partial(view.press_place, turn, place_moves(markup, "then"))
    clickable(markup, turn.observation.options, view.chosen, press)
    if view.table.moves:
        section_heading("Since your last decision")
        text_block("\n".join(view.table.moves))
    section_heading("Your options")
    if placed:
        note(CHOSEN if view.chosen else PLACES)
    every = range(len(turn.options))
    if not isinstance(turn.game, Watch):
        _options(view, turn, view.chosen or [move for move in every if move not in placed])
    if placed and not view.chosen:
        with ui.expansion(f"All {len(every)} moves as a list").bind_value(view, "listed"):
            _options(view, turn, every)
    only = len(turn.options) == 1 and isinstance(turn.options[0], TextAction)
    if isinstance(turn.game, Watch):
        _guess(view, turn, turn.game)
    elif only or view.speaking is not None:
        _words(view, turn, view.speaking or 0)


def _options(view: TableView, turn: PersonTurn, moves: Iterable[int]) -> None:
    with html.div().classes("p-options"):
        for number in moves:
            name = turn.observation.options[number]
            label = visible(f"{number + 1}  {name}" if number < KEYS else name)
            made = button(label, partial(view.take, turn, number))
            if number == view.speaking:
                made.classes("p-chosen")


def _style(view: TableView, game: Game[Any]) -> None:
    """Add the style sheet of the game's drawing, once a page."""
    if not view.styled:
        ui.add_css(style_of(game))
    view.styled = True


def _guess(view: TableView, turn: PersonTurn, game: Watch) -> None:
    """An observer picks the strategy of every player by its name, from the last guess on."""
    names = dict(zip(game.codes, catalogue(game), strict=True))
    last = dict(zip(game.watched, view.guess.split(), strict=False))
    with html.div().classes("p-form"):
        picks = [
            ui.select(names, label=f"Player {one}", value=last.get(one)) for one in game.watched
        ]

    def say() -> None:
        if all(pick.value for pick in picks):
            view.guess = " ".join(str(pick.value) for pick in picks)
            view.say(turn, 0, view.guess)
        else:
            ui.notify("pick a strategy for every player", type="warning")

    button("Guess", say)


def _words(view: TableView, turn: PersonTurn, option: int) -> None:
    action = turn.options[option]
    assert isinstance(action, TextAction)
    field = ui.input(f"Your words: {action.text.ask}").classes("p-wide").props("autofocus")
    field.props(f"maxlength={action.text.max_chars}")

    def say() -> None:
        view.say(turn, option, str(field.value or ""))

    field.on("keydown.enter", say)
    button("Say it", say)


def _model_view(turn: PersonTurn) -> None:
    """Everything a model would be shown, as text."""
    observation = turn.observation
    with ui.expansion("In words"):
        drawing(draw_facts(observation))
    with ui.expansion("Rules"):
        text_block(observation.rules)
    with ui.expansion(f"Moves so far: {len(observation.history)}"):
        text_block("\n".join(observation.history) or "none yet")


def _over(view: TableView, over: Over) -> None:
    view.over = over
    if over.moves:
        text_block("\n".join(over.moves))
    if view.end is None:
        text_block(over.ending)
    else:
        for line in view.scores or ["Nobody else has played these cards yet"]:
            words("p", f"{line}.").props("role=status").classes("p-compared")
        _style(view, view.end.view.game)
        drawing(draw_state(view.end.view.game, view.end.view.end_state))
    if view.damage:
        note(f"its record cannot be read: {view.damage}", warning=True)
    with html.div().classes("p-after"):
        if view.table.ended is None:
            button("Next deal", view.go_on)
        if view.end is not None:
            ui.link(
                "The match, move by move", link(view.end.folder.path.name, view.end.record.match)
            )
