"""A recorded match as plain data: its states, decisions, requests and replies.

The cards are dealt again from the sweep's seed and the recorded moves are replayed by the game's
rules, which restores every state. Prompts, replies and scores come only from the record: the option
that an answer word stood for is read from the prompt as sent ("A) green 2").
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gauntlet.agents.base import NO_ANSWERS
from gauntlet.common.sanitize import one_line
from gauntlet.games.base import Action, Game
from gauntlet.games.capabilities import WIN, add_match_score, seatings_of
from gauntlet.games.contract import legal_actions, observation, seats_to_move
from gauntlet.games.drawing import state_text
from gauntlet.models.exchanges import Exchange, TextExchange
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import (
    other_version,
    player_name,
    recorded_game,
    recorded_move,
)
from gauntlet.pipeline.log.replies import verdicts
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan.rng import DEAL, stream

LETTERED = re.compile(r"^(\w+)\) (.+)$", re.MULTILINE)
MOVE = 60
"""Characters of a move in a list of moves."""
CHARACTERS, LIKELIEST = 600, 5
"""Limits for an answer in one line: characters of a reply, and number of scored words."""


@dataclass(frozen=True)
class Answer:
    """An answer word, its probability, and the index of the option it stood for in its prompt,
    if any."""

    word: str
    probability: float
    option: int | None


@dataclass(frozen=True)
class PromptView:
    """One prompt as sent, with its answers: scored words, or a written reply.

    reading: how the reply was parsed, or what is wrong with it; "" if the record does not say.
    thoughts, finish, refusal: of the reply, as in `models.base.Detail`.
    place, prompts: its number in its request, from 0, and how many prompts that request had.
    """

    text: str
    answers: tuple[Answer, ...] = ()
    reply: str | None = None
    reading: str = ""
    thoughts: str = ""
    finish: str = "stop"
    refusal: str = ""
    place: int = 0
    prompts: int = 1

    def tail(self, lines: int) -> str:
        """The last lines of the prompt."""
        return "\n".join(self.text.splitlines()[-lines:])

    @property
    def answer(self) -> str:
        """The reply, or the likeliest words with their probabilities, in one line."""
        if self.reply is not None:
            return repr(self.reply[:CHARACTERS])
        best = sorted(self.answers, key=lambda answer: -answer.probability)[:LIKELIEST]
        listed = ", ".join(f"{answer.word} {answer.probability:.3f}" for answer in best)
        first = f" (to the first of {self.prompts} prompts)" if self.prompts > 1 else ""
        return listed + first


@dataclass(frozen=True)
class DecisionView:
    """One seat's decision: its prompts in order, its options and their scores (None without one).

    words: the text of the move.
    player: the seat's player; "" if only the record was read.
    forced, status, fallback, margin, tokens, notes: as in the record.
    """

    seat: int
    prompts: tuple[PromptView, ...]
    options: tuple[str, ...]
    scores: tuple[float | None, ...]
    chosen: int
    forced: bool = False
    status: str = "ok"
    fallback: bool = False
    words: str = ""
    player: str = ""
    margin: float | None = None
    tokens: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def move(self) -> str:
        """The chosen option, with its text."""
        option = self.options[self.chosen]
        return f"{option}: {self.words}" if self.words else option

    @property
    def firsts(self) -> list[PromptView]:
        return [prompt for prompt in self.prompts if prompt.place == 0]

    @property
    def outcome(self) -> str:
        """Whether its choice or a fallback was played, and the reply's status if it was not ok."""
        outcome = "a fallback took it" if self.fallback else "its choice"
        return outcome if self.status == "ok" else f"{self.status}: {outcome}"

    @property
    def shown(self) -> bool:
        return bool(self.prompts) or not self.forced


@dataclass(frozen=True)
class Ply:
    """A state of the game, its text with hidden cards shown, and the decisions taken in it."""

    number: int
    state: Any
    text: str
    decisions: tuple[DecisionView, ...]


@dataclass(frozen=True)
class MatchView:
    """A match with all its plies.

    players: by seat.
    end_state, end_text: after the last ply.
    scores: the name of the run's measure and its values by seat; None if it is the win.
    """

    match: str
    game: Game[Any]
    cell: str
    deal: int
    rotation: int
    players: tuple[str, ...]
    measured: tuple[int, ...]
    plies: tuple[Ply, ...]
    end_state: Any
    end_text: str
    returns: tuple[float, ...]
    scores: tuple[str, Sequence[float]] | None = None
    forfeits: tuple[int, ...] = ()

    @cached_property
    def moves(self) -> list[str]:
        """The moves of each ply in words."""
        return [
            "; ".join(f"{each.seat}: {one_line(each.move, MOVE)}" for each in ply.decisions)
            for ply in self.plies
        ]

    @property
    def deal_text(self) -> str:
        """The state that was dealt, as text."""
        return self.plies[0].text if self.plies else self.end_text

    @property
    def outcome(self) -> str:
        winners = [seat for seat, value in enumerate(self.returns) if value > 0]
        named = " and ".join(f"player {seat}" for seat in winners)
        winner = f"won by {named}" if winners else "nobody won"
        if self.forfeits:
            gave_up = " and ".join(f"player {seat}" for seat in self.forfeits)
            winner = f"{gave_up} gave up; {winner}"
        if self.scores is None:
            return winner
        name, scores = self.scores
        listed = (f"player {seat} {score:.4g}" for seat, score in enumerate(scores))
        return f"{winner}; {name}: {', '.join(listed)}"

    @property
    def facts(self) -> tuple[tuple[str, Sequence[str]], ...]:
        """The header of a match: terms with their values."""
        players = [
            f"{seat} {player}{' (measured)' if seat in self.measured else ''}"
            for seat, player in enumerate(self.players)
        ]
        returns = ", ".join(f"{value:g}" for value in self.returns)
        return (
            ("cell", [self.cell]),
            ("deal", [f"{self.deal}, rotation {self.rotation}"]),
            ("players", players),
            ("outcome", [f"{self.outcome}; returns {returns}"]),
        )


def match_view(folder: Folder, record: MatchRecord) -> MatchView:
    """The view of a match. Raises UserError if the game does not play as recorded."""
    cell = folder.cell(record.cell)
    names = [player_name(player) for player in cell["identity"]["players"]]
    game = recorded_game(cell["identity"]["game"])
    seatings = seatings_of(game)
    players = tuple(names[player] for player in seatings[record.rotation % len(seatings)])
    plies, end_state = _plies(game, folder.seed, record, players)
    return MatchView(
        match=record.match,
        game=game,
        cell=cell["name"],
        deal=record.deal,
        rotation=record.rotation,
        players=players,
        measured=record.measured,
        plies=plies,
        end_state=end_state,
        end_text=state_text(game, end_state),
        returns=record.returns,
        scores=_scores(cell, record),
        forfeits=record.forfeits,
    )


def decision_view(
    decision: DecisionRecord, statics: Mapping[str, str], player: str = ""
) -> DecisionView:
    """The view of a decision, without its game.

    statics: the texts that prompts share; one that was lost in a damaged line is left out.
    """
    statics = {name: statics.get(name, "") for each in decision.asked for name in each.named}
    readings = iter(_readings(decision))
    return DecisionView(
        seat=decision.seat,
        prompts=tuple(
            prompt
            for exchange in decision.asked
            for prompt in _prompts(exchange, statics, decision.options, readings)
        ),
        options=decision.options,
        scores=decision.scores or (None,) * len(decision.options),
        chosen=decision.chosen,
        forced=decision.forced,
        status=decision.status,
        fallback=decision.fallback,
        words=decision.text,
        player=player,
        margin=decision.margin,
        tokens=decision.tokens,
        notes=decision.notes,
    )


def _scores(cell: Mapping[str, Any], record: MatchRecord) -> tuple[str, Sequence[float]] | None:
    name = CellInfo.read(cell).measure.name
    scores = add_match_score(record.measures, record.returns).get(name)
    return None if name == WIN.name or scores is None else (name, scores)


def _plies(
    game: Game[Any], seed: Seed, record: MatchRecord, players: Sequence[str]
) -> tuple[tuple[Ply, ...], Any]:
    state = game.deal(stream(seed, game, record.deal, DEAL))
    decisions, done = iter(record.decisions), 0
    plies: list[Ply] = []
    while seats := seats_to_move(game, state):
        legal = [legal_actions(game, state, seat) for seat in seats]
        made = [
            _checked(game, state, seat, actions, next(decisions, None))
            for seat, actions in zip(seats, legal, strict=True)
        ]
        views = tuple(decision_view(one, record.statics, players[one.seat]) for one in made)
        plies.append(Ply(len(plies), state, state_text(game, state), views))
        done += len(seats)
        if record.forfeits and done == len(record.decisions):
            break
        chosen = zip(legal, made, strict=True)
        state = game.play(state, [recorded_move(game, each, one) for each, one in chosen])
    return tuple(plies), state


def _checked(
    game: Game[Any],
    state: Any,
    seat: int,
    legal: tuple[Action, ...],
    decision: DecisionRecord | None,
) -> DecisionRecord:
    """The decision, if it fits the state. The only move there is fits under any name."""
    fits = decision and decision.seat == seat and len(decision.options) == len(legal)
    if decision and fits and len(legal) > 1:
        fits = decision.options == observation(game, state, seat, legal).options
    if decision is None or not fits:
        raise other_version(game)
    return decision


def _prompts(
    exchange: Exchange, statics: Mapping[str, str], options: Sequence[str], readings: Iterator[str]
) -> Iterator[PromptView]:
    if isinstance(exchange, TextExchange):
        text = exchange.prompt(statics).text
        for place, reply in enumerate(exchange.texts):
            detail = exchange.detail(place)
            own = detail.thoughts, detail.finish, detail.refusal
            yield PromptView(text, (), reply, next(readings), *own, place, len(exchange.texts))
        return
    for number, branch in enumerate(exchange.branches):
        prompt = exchange.prompt(statics, branch)
        lettered = dict(LETTERED.findall(prompt.changing))
        answers = []
        for place, word in enumerate(exchange.choices):
            logprob = exchange.logprobs[number][place]
            chance = 0.0 if logprob is None else math.exp(logprob)
            option = _option(lettered.get(word), number + place, options)
            answers.append(Answer(word, chance, option))
        yield PromptView(prompt.text, tuple(answers), place=number, prompts=len(exchange.branches))


def _readings(decision: DecisionRecord) -> Iterator[str]:
    """How each text was read; of one that is no answer, or was replaced, what was wrong with it."""
    replaced = set(decision.notes.get("again", ()))
    written = [(at, one) for at, one in enumerate(decision.asked) if isinstance(one, TextExchange)]
    texts = [at for at, one in written for _ in one.texts]
    noted = iter(_noted_readings(decision, sum(at not in replaced for at in texts)))
    for at, verdict in zip(texts, verdicts(decision), strict=False):
        reading = str(verdict) if at in replaced else next(noted)
        yield verdict if verdict in NO_ANSWERS else reading


def _noted_readings(decision: DecisionRecord, replies: int) -> list[str]:
    """The method's notes, then faults of text, then the accepted text."""
    dropped, faults = _noted(decision, "dropped"), _noted(decision, "faults")
    noted = [
        _option_name(answer, decision.options) + ", taken for no answer" * (number in dropped)
        for number, answer in enumerate(_noted(decision, "answers"))
    ]
    words = [*map(str, faults), *([decision.text] if decision.text else [])]
    before = len(noted) or replies - len(faults) - bool(decision.text and not decision.fallback)
    noted += [""] * (before - len(noted))
    return [*noted, *words, *[""] * replies][:replies]


def _noted(decision: DecisionRecord, name: str) -> Sequence[Any]:
    noted = decision.notes.get(name, ())
    return noted if isinstance(noted, list | tuple) else ()


def _option_name(answer: Any, options: Sequence[str]) -> str:
    """The option of this number; any other value is an error description."""
    known = isinstance(answer, int) and 0 <= answer < len(options)
    return options[answer] if known else str(answer)


def _option(text: str | None, guess: int, options: Sequence[str]) -> int | None:
    """The option that a prompt's line names; among equal ones the one the rotation puts there."""
    if text is None or text not in options:
        return None
    guess %= len(options)
    return guess if options[guess] == text else list(options).index(text)
