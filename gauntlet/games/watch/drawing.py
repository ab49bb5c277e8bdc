"""Draws a watched match: the last steps, and the strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from gauntlet.common.markup import tag
from gauntlet.games.base import Observation
from gauntlet.games.drawing import draw_facts, entry, picture, policy_name
from gauntlet.games.watch.game import State, View, Watch
from gauntlet.games.watch.transcript import Step

STEPS = 14
"""Number of last steps to list."""

Acts = Sequence[tuple[int, str]]
"""The seats that acted in a step, and what each took."""


def draw_state(game: Watch, state: State) -> Markup:
    """Includes the strategies of the players, and the last guess."""
    view: View = game.observe(state, 0).view
    names = list(catalogue(game))
    real, guess = (
        " and ".join(names[one] for one in guessed)
        for guessed in (game.truth(state), state.guesses[-1] if state.guesses else ())
    )
    middle = tag(
        "div",
        entry("step", tag("b", f"{view.shown} of {view.steps}")),
        entry("played by", tag("b", real)),
        entry("last guess", tag("b", guess or "none")) if state.guesses else "",
        class_="d-middle",
    )
    return picture(f"watching, step {view.shown}", middle, _last_steps(game, view))


def draw_view(game: Watch, observation: Observation) -> Markup:
    """Draw the shown steps, also as text, which includes what the players knew, and the
    strategies."""
    steps, strategies = _last_steps(game, observation.view), draw_catalogue(catalogue(game))
    return picture(f"what {observation.role} knows", steps, strategies, draw_facts(observation))


def catalogue(game: Watch) -> dict[str, str]:
    """Return the name of each strategy, in order, with what it does; "" if that is not said."""
    told: Mapping[str, str] = getattr(game.of, "told_policies", {})
    return {policy_name(game.of, one): told.get(one, "") for one in game.policies}


def draw_catalogue(strategies: Mapping[str, str]) -> Markup:
    rows = (tag("div", tag("dt", name), tag("dd", line)) for name, line in strategies.items())
    return tag("dl", *rows, class_="d-facts")


def acts(step: Step) -> Acts:
    return [(one.seat, one.observation.options[one.taken]) for one in step.acted]


def _last_steps(game: Watch, view: View) -> Markup:
    first = view.shown - len(view.told) + 1
    return draw_steps(game.watched, list(enumerate(map(acts, view.told), first)))


def draw_steps(players: Sequence[str], done: Sequence[tuple[int, Acts]]) -> Markup:
    """Draw the last steps, the newest first: their numbers, and what each player took."""
    rows = []
    for number, acted in list(done)[: -STEPS - 1 : -1]:
        took = dict(acted)
        cells = [tag("td", took.get(seat, "")) for seat in range(len(players))]
        rows.append(tag("tr", tag("td", number), *cells))
    names = (f"player {name}" for name in players)
    head = tag("tr", *(tag("th", word, scope="col") for word in ("step", *names)))
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="d-rounds")
    return picture("what was done in the last steps", table)
