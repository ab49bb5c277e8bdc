"""Two Rooms and a Boom's scripted players, and what a team may hope for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from games.playouts import check_known
from games.two_rooms.belief import View, claims_heard
from games.two_rooms.claims import ADMIT, KINDS, QUESTION
from games.two_rooms.rules import BLUE, PEOPLE, State, number

TOLD = {
    "random": "asks, answers and sends at random",
    "greedy": "asks whoever has not told yet who it is and answers with the truth; a leader who is "
    "president or bomber sends whom it least wants in its room by what each last said to be, any "
    "other leader anybody",
}
"""What each does, by name."""
ANOTHER = 2
"""A hostage who is neither the president, 0, nor the bomber, 1."""
Places = tuple[tuple[int, bool], tuple[int, bool]]
BLUES, REDS, PRESIDENT, BOMBER = range(len(KINDS))
SENT: tuple[dict[int | None, int], ...] = (
    {BOMBER: 3, REDS: 2, None: 1, PRESIDENT: 1, BLUES: 0},
    {REDS: 3, BLUES: 2, BOMBER: 2, None: 1, PRESIDENT: 0},
)
"""How much a leader who is president, or bomber, wants whoever said to be this to go."""


def check(policy: str) -> None:
    """Raises ValueError for a policy that there is not."""
    check_known("two rooms", policy, TOLD)


def asking(view: View, targets: Sequence[int]) -> tuple[float, ...]:
    """The greedy player's chance to ask each."""
    said = dict(claims_heard(view))
    best = [target for target in targets if target not in said] or list(targets)
    return tuple((target in best) / len(best) for target in targets)


def sending(view: View, hostages: Sequence[int]) -> tuple[float, ...]:
    """The greedy leader's chance to send each."""
    said = dict(claims_heard(view))
    liked = SENT[view.role // (PEOPLE // 2)] if view.special else {}
    wishes = [liked.get(said.get(hostage), 0) for hostage in hostages]
    best = [wish == max(wishes) for wish in wishes]
    return tuple(one / sum(best) for one in best)


def truth(view: View) -> str:
    """The greedy player's answer."""
    team = view.role // (PEOPLE // 2)
    return ADMIT[(PRESIDENT, BOMBER)[team] if view.special else team]


def question(view: View) -> str:
    return QUESTION.examples[0]


def worth(state: State, team: int, rounds: int) -> float:
    """A team's chance to win if all leaders send whom they like from now on; whom room 0 has chosen
    goes."""
    president, bomber = (
        (state.rooms[-1][who], who in state.leaders) for who in (state.president, state.bomber)
    )
    chosen = None
    if state.chosen is not None:
        chosen = {state.president: 0, state.bomber: 1}.get(state.chosen, ANOTHER)
    chance = _meeting((president, bomber), chosen, rounds - number(state))
    return 1 - chance if team == BLUE else chance


@cache
def _meeting(places: Places, chosen: int | None, left: int) -> float:
    """The chance that president and bomber end in one room after `left` more swaps.

    places: of the two the room, and whether it leads there. chosen: whom of them room 0 has chosen,
    or ANOTHER.
    """
    if left == 0:
        return float(places[0][0] == places[1][0])
    first = _hostages(places, 0) if chosen is None else [chosen]
    chances = [
        _meeting(_swapped(places, (one, other)), None, left - 1)
        for one in first
        for other in _hostages(places, 1)
    ]
    return sum(chances) / len(chances)


def _hostages(places: Places, room: int) -> list[int]:
    """Whom the leader of a room may send."""
    known = [who for who, (place, leads) in enumerate(places) if place == room and not leads]
    return known + [ANOTHER] * (PEOPLE // 2 - 1 - len(known))


def _swapped(places: Places, moving: tuple[int, int]) -> Places:
    first, second = (
        (1 - place if who in moving else place, leads) for who, (place, leads) in enumerate(places)
    )
    return first, second
