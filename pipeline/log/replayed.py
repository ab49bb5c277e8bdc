"""A match of a log played again: its cards dealt from the sweep's seed, its recorded moves made by
the game's own rules, so that every state is there as it was. Prompts and scores are the record's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.common.errors import UserError
from gauntlet.games.base import Game, move_with
from gauntlet.games.capabilities import WIN, seatings_of, with_score
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.folder import Folder
from gauntlet.pipeline.log.recorded import player_name, recorded_game
from gauntlet.pipeline.log.results import CellInfo
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.log.trace import Trace, trace
from gauntlet.pipeline.plan.rng import DEAL, stream


@dataclass(frozen=True)
class ReplayedTurn:
    """One seat's decision: who, what it decided and how, and what a person should be warned of.

    margin, tokens, notes: as the record has them.
    """

    seat: int
    player: str
    trace: Trace
    forced: bool
    status: str
    fallback: bool
    text: str
    margin: float | None = None
    tokens: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def move(self) -> str:
        """The option, and the words that went with it."""
        option = self.trace.options[self.trace.chosen]
        return f"{option}: {self.text}" if self.text else option


@dataclass(frozen=True)
class Ply:
    """A state of the game and how it is shown in full, hidden cards included, and the decisions
    taken in it."""

    number: int
    state: Any
    shown: str
    turns: tuple[ReplayedTurn, ...]


@dataclass(frozen=True)
class ReplayedMatch:
    """A match with all its plies; `players` by seat. ended: the state after the last ply, and
    last: how it is shown. scores: what each seat has of the measure that the run counts, with its
    name, where that is not who won."""

    match: str
    game: Game[Any]
    cell: str
    deal: int
    rotation: int
    players: tuple[str, ...]
    measured: tuple[int, ...]
    plies: tuple[Ply, ...]
    ended: Any
    last: str
    returns: tuple[float, ...]
    scores: tuple[str, Sequence[float]] | None = None

    @property
    def outcome(self) -> str:
        winners = [seat for seat, value in enumerate(self.returns) if value > 0]
        won = f"won by player {winners[0]}" if winners else "nobody won"
        if self.scores is None:
            return won
        name, scores = self.scores
        told = (f"player {seat} {score:.4g}" for seat, score in enumerate(scores))
        return f"{won}; {name}: {', '.join(told)}"


def replayed(folder: Folder, record: MatchRecord) -> ReplayedMatch:
    """A match of the folder, played again. Raises UserError where the game plays otherwise."""
    cell = folder.cell(record.cell)
    names = [player_name(player) for player in cell["identity"]["players"]]
    game = recorded_game(cell["identity"]["game"])
    seatings = seatings_of(game)
    seating = seatings[record.rotation % len(seatings)]
    players = tuple(names[player] for player in seating)
    plies, ended = _plies(game, folder.seed, record, players)
    return ReplayedMatch(
        match=record.match,
        game=game,
        cell=cell["name"],
        deal=record.deal,
        rotation=record.rotation,
        players=players,
        measured=record.measured,
        plies=plies,
        ended=ended,
        last=game.show(ended),
        returns=record.returns,
        scores=_scores(cell, record),
    )


def _scores(cell: Mapping[str, Any], record: MatchRecord) -> tuple[str, Sequence[float]] | None:
    name = CellInfo.read(cell).measure.name
    found = with_score(record.measures, record.returns).get(name)
    return None if name == WIN.name or found is None else (name, found)


def _plies(
    game: Game[Any], seed: Seed, record: MatchRecord, players: Sequence[str]
) -> tuple[tuple[Ply, ...], Any]:
    """Every ply, and the final state."""
    state = game.deal(stream(seed, game, record.deal, DEAL))
    decisions = iter(record.decisions)
    plies: list[Ply] = []
    while seats := game.to_move(state):
        taken = [(seat, _checked(game, state, seat, next(decisions, None))) for seat in seats]
        turns = tuple(_turn(decision, record.statics, players[s]) for s, decision in taken)
        plies.append(Ply(len(plies), state, game.show(state), turns))
        moves = [
            move_with(game.legal(state, seat)[decision.chosen], decision.text)
            for seat, decision in taken
        ]
        state = game.play(state, moves)
    return tuple(plies), state


def _checked(
    game: Game[Any], state: Any, seat: int, decision: DecisionRecord | None
) -> DecisionRecord:
    options = game.observe(state, seat).options
    if decision is None or decision.seat != seat or decision.options != options:
        raise UserError(
            "the record does not fit the game as it is now: it was written by another version "
            f"of {type(game).__name__}"
        )
    return decision


def _turn(decision: DecisionRecord, statics: Mapping[str, str], player: str) -> ReplayedTurn:
    return ReplayedTurn(
        seat=decision.seat,
        player=player,
        trace=trace(decision, statics),
        forced=decision.forced,
        status=decision.status,
        fallback=decision.fallback,
        text=decision.text,
        margin=decision.margin,
        tokens=decision.tokens,
        notes=decision.notes,
    )
