"""What the scripted players of UNO and of UNO Arena do, in words for whoever watches them."""

UNO = {
    "random": "takes any option alike",
    "rule": "plays a wild draw four whenever that is allowed, naming the colour it holds most of; "
    "else any fitting card of a colour alike, and a wild, in any colour, only when nothing else "
    "fits",
    "helper": "takes what serves the player before it best: cards that others must draw, and an "
    "early next turn for that player",
    "saboteur": "takes what hurts the player before it most: cards that it must draw, and a late "
    "next turn for it",
    "first": "takes the first option in the order of red, green, blue, yellow, and within a colour "
    "of 0 to 9, skip, reverse, draw two, wild, wild draw four",
}
"""By name."""

ARENA = {
    "random": "takes any option alike",
    "rule": "takes a card of the top card's number or function, else one of its colour, else a "
    "wild, else a wild draw four; names a colour that it holds most of; challenges every second "
    "time",
}
"""The same of UNO Arena."""
