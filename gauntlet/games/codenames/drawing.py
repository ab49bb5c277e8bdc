"""Draws Codenames' board: every word, with its colour if it is open or the viewer knows the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from gauntlet.common.markup import tag
from gauntlet.games.base import Observation
from gauntlet.games.codenames import Codenames
from gauntlet.games.codenames.game import KINDS, ROLES, SPYMASTERS, View
from gauntlet.games.codenames.rules import BLUE, RED, State, Turn, guessed, team_of
from gauntlet.games.drawing import by_place, entry, marks, picture, sign

STYLE = Path(__file__).with_suffix(".css")

UNKNOWN = -1


def draw_state(game: Codenames, state: State) -> Markup:
    """Includes the key."""
    return _picture(state.words, state.key, state.turns, "", {})


def draw_view(game: Codenames, observation: Observation) -> Markup:
    """Includes the key for a spymaster; an operative sees only open words."""
    view: View = observation.view
    hidden = [at for at in range(len(view.words)) if at not in guessed(view.turns)]
    moves = {} if view.role in SPYMASTERS else by_place(hidden)
    return _picture(view.words, view.seen, view.turns, f"You are {ROLES.names[view.role]}.", moves)


def _picture(
    words: Sequence[str],
    kinds: Sequence[int],
    turns: Sequence[Turn],
    heading: str,
    moves: Mapping[int, Sequence[int]],
) -> Markup:
    lies_open = guessed(turns)
    cards = [
        _card(word, kind, place in lies_open, moves.get(place, ()))
        for place, (word, kind) in enumerate(zip(words, kinds, strict=True))
    ]
    return picture(
        "the board of Codenames",
        tag("p", heading, class_="d-score") if heading else "",
        tag("div", *(_team(team, turns) for team in (RED, BLUE)), class_="d-middle"),
        tag("div", *cards, class_="d-words"),
        kind="d-codenames",
    )


def _team(team: int, turns: Sequence[Turn]) -> Markup:
    clues = [f"{turn.clue} for {turn.number}" for turn in turns if turn.team == team]
    acts = " (to act)" if team_of(turns) == team else ""
    return entry(f"{KINDS[team]}{acts}:", ", ".join(clues) or "no clue yet")


def _card(word: str, kind: int, lies_open: bool, moves: Sequence[int]) -> Markup:
    """Draw a word; its kind also as text, since not everyone can see the colours."""
    name = "" if kind == UNKNOWN else KINDS[kind]
    note = f"{name}, open" if lies_open else name
    look = f"d-word-card d-{name or 'unknown'}-word"
    label = f"{word}: {note or 'hidden'}"
    look += " d-open" * lies_open
    return sign(label, tag("b", word), tag("i", note), kind=look, **marks(moves))
