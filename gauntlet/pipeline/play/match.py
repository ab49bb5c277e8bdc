"""One match as a chain: it yields its players' questions and returns the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gauntlet.agents.base import Decision, Notified, Turn, decide, questions
from gauntlet.games.base import Action, TextAction, TextMove, default_text_move
from gauntlet.games.capabilities import WIN, forfeit_returns
from gauntlet.games.contract import (
    check_length,
    final_measures,
    final_returns,
    seats_to_move,
    shown,
)
from gauntlet.models.exchanges import Exchange
from gauntlet.pipeline.config.read import Seed
from gauntlet.pipeline.log.exchanges import margin
from gauntlet.pipeline.log.schema import DecisionRecord, MatchRecord
from gauntlet.pipeline.plan.cells import Cell, Task
from gauntlet.pipeline.plan.rng import CHOICE, DEAL, OPENING, WORDS, streams
from gauntlet.pipeline.play.chains import Chain, answer_questions, run_concurrently

Made = tuple[Action, DecisionRecord]
"""A move and the record of its decision."""


def play(
    cell: Cell, task: Task, seed: Seed, reached: Callable[[int], None] = lambda plies: None
) -> Chain[MatchRecord]:
    """Play one match. Returns its record, without times.

    Seats that move simultaneously are asked concurrently. reached: called with the number of plies
    before each further one.
    """
    table = Table(cell, task, seed, reached)
    state = yield from table.played()
    yield from run_concurrently(table.endings(state))
    return table.record(state)


class Table:
    """The seated players, and the decisions so far."""

    def __init__(
        self,
        cell: Cell,
        task: Task,
        seed: Seed,
        reached: Callable[[int], None] = lambda plies: None,
    ) -> None:
        self.cell, self.task, self.reached = cell, task, reached
        self.stream = streams(seed, cell.game, task.deal)
        self.seating, sample = cell.seating(task.rotation), cell.sample(task.rotation)
        self.again = (sample,) if sample else ()
        self.turns, self.steps = [0] * len(cell.players), 0
        self.decisions: list[DecisionRecord] = []
        self.statics: dict[str, str] = {}
        self.forfeits: tuple[int, ...] = ()

    def played(self) -> Chain[Any]:
        """Play from the deal to the final state, or to the state in which a seat gives up."""
        game = self.cell.game
        state = game.deal(self.stream(DEAL))
        while seats := self.seats(state):
            made = yield from run_concurrently([self.turn(state, seat) for seat in seats])
            self.decisions += [decision for _, decision in made]
            if self.forfeits:
                break
            state = game.play(state, [move for move, _ in made])
        return state

    def seats(self, state: Any) -> tuple[int, ...]:
        """The seats to move, once for each state. Raises UserError if the match does not end."""
        seats = seats_to_move(self.cell.game, state)
        if seats:
            check_length(self.cell.game, self.steps)
            self.steps += 1
            self.reached(len(self.decisions))
        return seats

    def turn(self, state: Any, seat: int) -> Chain[Made]:
        """Play one seat's turn: ask its player if there is a choice, of an option or of a text."""
        game, number = self.cell.game, self.seating[seat]
        player = self.cell.players[number]
        turn = Turn.at(game, state, seat, self.cell.goal(number, self.task.rotation))
        options = turn.options
        ply, self.turns[seat] = self.turns[seat], self.turns[seat] + 1
        asked: list[Exchange] = []
        forced = len(options) == 1 and not isinstance(options[0], TextAction)
        decision = Decision(0)
        if len(self.decisions) < self.cell.opening:
            forced, rng = True, self.stream(OPENING, seat, ply)
            decision = Decision(int(rng.integers(len(options))))
        elif not forced or (self.cell.ask_forced and player.model is not None):
            rng = self.stream(CHOICE, seat, ply, *self.again)
            thinking = decide(player.agent, turn, rng)
            decision = yield from answer_questions(
                thinking, player, asked, self.statics, self.cell.keep_thoughts
            )
            self.forfeits += (seat,) * decision.forfeit
        move = self._move(options[decision.option], decision.text, seat, ply)
        return move, _decision_record(seat, turn, decision, move, forced, asked)

    def _move(self, option: Action, text: str, seat: int, ply: int) -> Action:
        """The option, with the player's text if it takes one, or one of the game's examples for a
        player that wrote none."""
        if not isinstance(option, TextAction):
            return option
        rng = self.stream(WORDS, seat, ply, *self.again)
        return TextMove(option, text) if text else default_text_move(option, rng)

    def endings(self, state: Any) -> list[Chain[None]]:
        """Chains that notify the players that want to know how the match ended."""
        game, told = self.cell.game, []
        for seat, number in enumerate(self.seating):
            player = self.cell.players[number]
            if isinstance(player.agent, Notified):
                ending, returns = shown(game, state), self._results(state)[0]
                telling = player.agent.on_end(seat, self._since(seat), ending, returns)
                checked = questions(player.agent, "on_end", telling)
                told.append(answer_questions(checked, player, [], {}))
        return told

    def _since(self, seat: int) -> list[str]:
        """The moves after the last asked decision of `seat`."""
        own = [n for n, made in enumerate(self.decisions) if made.seat == seat and made.asked]
        last = self.decisions[own[-1] + 1 :] if own else self.decisions
        return [f"player {made.seat}: {move_text(made)}" for made in last]

    def _results(self, state: Any) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
        """The returns and the measures."""
        game = self.cell.game
        if not self.forfeits:
            returns = final_returns(game, state)
            return returns, final_measures(game, state, returns)
        returns = forfeit_returns(game, self.forfeits)
        return returns, {WIN.name: tuple(float(one > 0) for one in returns)}

    def record(self, state: Any) -> MatchRecord:
        task, cell = self.task, self.cell
        returns, measures = self._results(state)
        return MatchRecord(
            match=task.match,
            cell=task.cell,
            deal=task.deal,
            rotation=task.rotation,
            subjects=cell.seats_of(cell.subjects, task.rotation),
            measured=cell.seats_of(cell.measured, task.rotation),
            returns=returns,
            measures=measures,
            forfeits=self.forfeits,
            plies=sum(self.turns),
            decisions=tuple(self.decisions),
            statics=dict(sorted(self.statics.items())),
        )


def move_text(decision: DecisionRecord) -> str:
    """A recorded move as readable text."""
    return f"{decision.move}: {decision.text}" if decision.text else decision.move


def _decision_record(
    seat: int,
    turn: Turn,
    decision: Decision,
    move: Action,
    forced: bool,
    exchanges: Sequence[Exchange],
) -> DecisionRecord:
    return DecisionRecord(
        seat=seat,
        options=turn.observation.options,
        scores=decision.scores,
        margin=margin(decision.scores),
        chosen=decision.option,
        forced=forced,
        status=decision.status,
        fallback=decision.fallback,
        attempts=decision.attempts,
        tokens=sum(exchange.logical_tokens for exchange in exchanges),
        asked=tuple(exchanges),
        notes=dict(decision.notes),
        text=move.text if isinstance(move, TextMove) else "",
        chances=decision.chances,
    )
