"""The scripted players of Arctic Scavengers."""

from __future__ import annotations

from collections.abc import Sequence

from games.arctic_scavengers.cards import CARDS, FIGHT, JUNK, Hand, without
from games.arctic_scavengers.rules import Rules
from games.arctic_scavengers.state import GATHER, LOOK, SKIRMISH, Action, View
from games.arctic_scavengers.verbs import DIG, HIRE, HUNT, STOP, TRASH
from games.arctic_scavengers.worth import asset, loss
from games.playouts import check_known

TOLD = {
    "random": "does anything that is allowed",
    "greedy": "hunts with the fewest cards that pay a mercenary, hires the best one, digs where "
    "that costs little fight value, trashes junk, keeps the rest, and strikes whenever it can",
}
"""What each does, by name."""


def check(policy: str) -> None:
    """Raises ValueError for a policy that is not known."""
    check_known("Arctic Scavengers", policy, TOLD)


def greedy(rules: Rules, view: View, options: Sequence[Action | int | None]) -> int:
    """Which of the options a greedy player takes: actions where it gathers, else kinds of cards, or
    None for none."""
    left = rules.rounds - 1 - view.round
    if view.phase == GATHER:
        actions = [one for one in options if isinstance(one, Action)]
        return actions.index(_gathered(rules, view, actions, left))
    kinds = [-1 if one is None else int(one) for one in options if not isinstance(one, Action)]
    if view.phase == LOOK:
        return max(range(len(kinds)), key=lambda at: 0 if kinds[at] < 0 else asset(kinds[at], left))
    hand = view.shown if view.phase == SKIRMISH else ()
    return max(range(len(kinds)), key=lambda at: _hurt(rules, hand, kinds[at]))


def _gathered(rules: Rules, view: View, actions: Sequence[Action], left: int) -> Action:
    hand = view.own.hand

    def costs(action: Action) -> int:
        return loss(hand, without(hand, action.cards), rules.loose)

    by_verb = {
        verb: [one for one in actions if one.verb == verb]
        for verb in (DIG, HUNT, HIRE, TRASH, STOP)
    }
    if by_verb[HIRE]:
        return max(by_verb[HIRE], key=lambda one: asset(one.hired, left))
    if HIRE not in view.taken and by_verb[HUNT]:
        return min(by_verb[HUNT], key=lambda one: (len(one.cards), costs(one)))
    digs = [one for one in by_verb[DIG] if costs(one) <= 1]
    if digs:
        return min(digs, key=costs)
    return next((one for one in by_verb[TRASH] if one.cards == (JUNK,)), by_verb[STOP][0])


def _hurt(rules: Rules, hand: Hand, kind: int) -> tuple[int, int, int]:
    """How much it hurts the other seat to lose a card: of a hand that is shown, in fight value."""
    if kind < 0:
        return (0, 0, 0)
    lost = loss(hand, without(hand, (kind,)), rules.loose) if hand else 0
    return (lost, CARDS[kind].people, max(CARDS[kind].values[FIGHT], 0) + 1)
