"""TextArena's messages as rules, facts and a public history; and proposals of valid texts.

The texts are the library's own. What every seat is shown at the start, compared sentence by
sentence, is the rules; later messages to the seat are facts, with the latest board separate.

The library lists no legal moves: it only accepts or rejects a text. So, for players that cannot
write, texts are proposed, first those that the game itself showed in brackets, and tried on copies
of the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, permutations, product

import numpy as np

from gauntlet.games.base import Fact
from gauntlet.games.textarena.live import EVERYBODY, Live, Message

PROMPT, ACTION, BOARD, ADMIN = "prompt", "player_action", "game_board", "game_admin"
WORD = re.compile(r"[A-Za-z]{2,}")
SENTENCE = 3
"""Minimum number of words in a line that is a sentence rather than part of a drawing."""


def seen_by(live: Live, seat: int) -> list[Message]:
    """Return the messages to the seat, oldest first, without those about invalid moves."""
    return [m for m in live.messages if m.to in (EVERYBODY, seat) and m.kind != ADMIN]


def rules(first: Live, name: str, seats: int) -> str:
    """Return the sentences that open every seat's match, on one line, and what they omit or what
    the library plays otherwise. name: the game's, without its version."""
    told = common(first, seats) or ["You learn the rules as you play."]
    limit = getattr(first.env.state, "max_turns", None)
    limits = [f"After about {limit} moves of all players the game is ended."] if limit else []
    stuck = [DEAD_ENDS[name][1]] if name in DEAD_ENDS else []
    return " ".join((*told, *limits, *stuck, *([NOTES[name]] if name in NOTES else [])))


def facts(live: Live, first: Live, seats: int, seat: int) -> tuple[Fact, ...]:
    """Return what a seat knows beyond the rules: what only it was shown at the start, the latest
    board, and all messages since."""
    shared = common(first, seats)
    lines = [line for line in prompt(first, seat).split("\n") if line.strip() not in shared]
    seen = [m for m in seen_by(live, seat) if m.kind != PROMPT]
    boards = [m.text for m in seen if m.kind == BOARD]
    talk = [format_message(m) for m in seen if m.kind != BOARD]
    fact_list = (
        Fact("Seat", f"player {seat}"),
        fact("Told at the start", "\n".join(lines), own=True),
        fact("Told so far", "\n".join(talk), own=True),
        fact("Now", boards[-1] if boards else "", own=True),
    )
    return tuple(one for one in fact_list if one.text)


def common(first: Live, seats: int) -> list[str]:
    """Return the sentences that every seat is shown at the start."""
    own = [sentences(prompt(first, seat)) for seat in range(seats)]
    return [line for line in own[0] if all(line in others for others in own)]


def history(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the messages to everybody, one clause each."""
    public = (m for m in messages if m.to == EVERYBODY and m.kind not in (PROMPT, BOARD, ADMIN))
    return tuple(clause for m in public if (clause := one_line(format_message(m))))


def prompt(first: Live, seat: int) -> str:
    return "\n".join(m.text for m in seen_by(first, seat) if m.kind == PROMPT)


def sentences(text: str) -> list[str]:
    """Return the lines of a text that are sentences or headings."""
    lines = map(str.strip, text.split("\n"))
    return [one for one in lines if one.endswith(":") or len(WORD.findall(one)) >= SENTENCE]


def format_message(message: Message) -> str:
    text = message.text.strip("\n")
    return text if message.sender < 0 else f"player {message.sender}: {text.strip()}"


def fact(name: str, text: str, own: bool = False) -> Fact:
    """Return a fact with a text as the library wrote it, without surrounding whitespace."""
    lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
    drawn = "\n".join(lines).strip("\n")
    return Fact(name, drawn if "\n" in drawn else drawn.strip(), own)


def one_line(text: str) -> str:
    return " ".join(text.split())


ENOUGH = 24
"""How many valid texts to look for."""
LATEST = 4
"""How many of a seat's latest messages are searched for texts in brackets."""

TALK = ("I have nothing to add.", "Let us go on.", "I agree.")
CARDS = ("A", *map(str, range(2, 11)), "J", "Q", "K")
SQUARES = [f"{file}{rank}" for rank in range(1, 9) for file in "abcdefgh"]


def legal_texts(
    live: Live, messages: Sequence[Message], name: str, rng: np.random.Generator
) -> list[str]:
    """Return texts that the seat to move may say, up to ENOUGH, in random order; [] if none is
    found.

    messages: those to that seat. name: the game's, without its version.
    """
    texts: list[str] = []
    for text in dict.fromkeys(candidate_texts(messages, name, rng)):
        if not live.after(text).fault:
            texts.append(text)
        if len(texts) == ENOUGH:
            break
    return texts


def candidate_texts(
    messages: Sequence[Message], name: str, rng: np.random.Generator
) -> Iterator[str]:
    """Yield texts to try: those that the game showed, then the game's usual notation, each in
    random order."""
    for texts in (bracketed_texts(messages), list(WRITTEN[name]())):
        yield from (texts[at] for at in rng.permutation(len(texts)))


def bracketed_texts(messages: Sequence[Message]) -> list[str]:
    """Return the bracketed parts of the first and the latest messages."""
    some = [*messages[:2], *messages[2:][-LATEST:]]
    return list(dict.fromkeys(one for m in some for one in re.findall(r"\[[^\[\]\n]+\]", m.text)))


def each(*words: object) -> Callable[[], Iterable[str]]:
    return lambda: [f"[{word}]" for word in words]


def form(pattern: str, *ranges: Iterable[object]) -> Callable[[], Iterable[str]]:
    """Return the pattern with every combination of values from the ranges."""
    return lambda: [pattern.format(*values) for values in product(*map(list, ranges))]


def several(*kinds: Callable[[], Iterable[str]]) -> Callable[[], Iterable[str]]:
    return lambda: [text for kind in kinds for text in kind()]


def talk() -> Iterable[str]:
    return TALK


def nothing() -> Iterable[str]:
    """For games that show every move in brackets themselves."""
    return ()


def steps(pattern: str, side: int, far: int) -> Callable[[], Iterable[str]]:
    """From a square to one at most `far` files and ranks away."""

    def near(first: str, second: str) -> bool:
        return 0 < max(abs(ord(a) - ord(b)) for a, b in zip(first, second, strict=True)) <= far

    def texts() -> Iterable[str]:
        own = [square for square in SQUARES if max(ord(square[0]) - 96, int(square[1])) <= side]
        return [pattern.format(*pair) for pair in permutations(own, 2) if near(*pair)]

    return texts


def split_up() -> Iterable[str]:
    """Twenty units on three fields."""
    return [f"[A{a} B{b} C{20 - a - b}]" for a in range(21) for b in range(21 - a)]


WAYS = each("up", "down", "left", "right")
BETS = several(
    each("check", "call", "fold"), form("[{} {}]", ("bet", "raise"), (1, 2, 5, 20, 40, 80))
)

WRITTEN: dict[str, Callable[[], Iterable[str]]] = {
    "2048": WAYS,
    "Alquerque": steps("[{} {}]", 5, 2),
    "Bandit": each("red", "blue", "green", "yellow", "purple"),
    "Battleship": form("[{}{}]", "ABCDEFGHIJ", range(10)),
    "Blackjack": each("Hit", "Stand"),
    "Breakthrough": steps("[{}{}]", 8, 1),
    "Briscola": form("[play {}]", range(1, 4)),
    "Chopsticks": form("[{} {} {}]", ("attack", "split"), range(5), range(5)),
    "ColonelBlotto": split_up,
    "ConnectFour": form("[col {}]", range(12)),
    "Crusade": nothing,
    "FifteenPuzzle": WAYS,
    "FrozenLake": WAYS,
    "GameOfPureStrategy": each(*CARDS),
    "GermanWhist": form("[play {}]", range(1, 14)),
    "Golf": several(
        each("draw", "take", "discard", "knock"), form("[swap {} {}]", (1, 2), range(1, 4))
    ),
    "GuessTheNumber": each(*range(1, 51)),
    "HighSociety": each(*range(1, 12)),
    "IndianPoker": BETS,
    "IteratedMatchingPennies": each("heads", "tails"),
    "IteratedPrisonersDilemma": several(each("cooperate", "defect"), talk),
    "IteratedRockPaperScissors": each("rock", "paper", "scissors"),
    "IteratedTwoThirdsAverage": each(*range(101)),
    "IteratedUltimatumGame": several(each("Accept", "Reject"), form("[Offer: ${}]", range(11))),
    "KuhnPoker": each("check", "bet", "call", "fold"),
    "LiarsDice": several(each("Call"), form("[Bid: {}, {}]", range(1, 11), range(1, 7))),
    "LightsOut": form("[{} {}]", range(5), range(5)),
    "MarketEntryGame": several(each("E", "S"), talk),
    "Mastermind": lambda: ["[" + " ".join(p) + "]" for p in permutations("123456", 4)],
    "MemoryGame": form("[{} {} {} {}]", *[range(4)] * 4),
    "Minesweeper": form("[{} {}]", range(8), range(8)),
    "Nim": form("[{} {}]", range(5), range(1, 10)),
    "Othello": form("[{}, {}]", range(8), range(8)),
    "PegJump": form("[{} {}]", range(1, 16), range(1, 16)),
    "PigDice": each("roll", "hold"),
    "Poker": BETS,
    "PublicGoodsGame": several(each(*range(21)), talk),
    "QuantumTicTacToe": lambda: [f"[{a},{b}]" for a, b in combinations(range(9), 2)],
    "RushHour": form("[{}{}]", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "+-"),
    "SecretMafia": several(each(*range(15)), talk),
    "Secretary": each("accept", "continue"),
    "SimpleBlindAuction": several(form("[Bid on Item {}: {}]", range(5), (50, 100, 200)), talk),
    "SimpleNegotiation": several(
        each("Accept", "Deny", "Offer: 2 Wheat -> 1 Wood", "Offer: 1 Ore -> 2 Sheep"), talk
    ),
    "SimpleTak": each(*range(16)),
    "Snake": WAYS,
    "Sokoban": WAYS,
    "Surround": WAYS,
    "Taboo": talk,
    "ThreeCardMonte": each(*range(3)),
    "ThreePlayerGOPS": each(*CARDS),
    "ThreePlayerIPD": several(form("[{} {}]", range(3), ("cooperate", "defect")), talk),
    "ThreePlayerTicTacToe": each(*range(25)),
    "TicTacToe": each(*range(9)),
    "TowerOfHanoi": lambda: [f"[{a} {b}]" for a, b in permutations("ABC", 2)],
    "TruthAndDeception": several(each("Fact 1", "Fact 2"), talk),
    "UltimateTicTacToe": form("[{} {}]", range(9), range(9)),
    "WildTicTacToe": form("[{} {}]", "XO", range(9)),
}
"""The notation of moves in each supported game, by its name without the version: texts that may be
valid; the library decides."""

DRAWN = "If no move is possible, the game is a draw."
DEAD_ENDS: dict[str, tuple[float, str]] = {
    "IndianPoker": (-1.0, "Who has no chips for any move loses the game."),
    "QuantumTicTacToe": (0.0, DRAWN),
    "UltimateTicTacToe": (0.0, DRAWN),
}
"""Games in which the library goes on when it takes no move any more: there the match ends. The
mover's reward, and that rule."""

NOTES: dict[str, str] = {
    "Chopsticks": "A split must change your hands. A hand with 0 fingers neither attacks nor is "
    "attacked. Who has attacked both hands of the other down to 0 wins; a game that is ended "
    "before is a draw.",
    "ColonelBlotto": "Who has won the majority of the rounds first, or after all of them more "
    "rounds than the other, wins.",
    "ConnectFour": "A full board is a draw.",
    "GameOfPureStrategy": "Equal totals are a draw.",
    "IteratedPrisonersDilemma": "A decision without '[Defect]' counts as '[Cooperate]'. More "
    "points in the end win.",
    "IteratedTwoThirdsAverage": "More rounds win.",
    "IteratedUltimatumGame": "Player 0 proposes in every round. More money in the end wins.",
    "KuhnPoker": "Other than these rules say, '[bet]' and '[call]' add no chips: the pot is always "
    "the two antes. Equal chips are a draw. The players begin the rounds by turns.",
    "LiarsDice": "Neither number of a bid may be lower than before. There are no wild faces. Who "
    "has lost a die begins the next round.",
    "Othello": "Who has no valid move skips a turn, whatever it says. When nobody has, the game is "
    "over; equal numbers are a draw.",
    "PigDice": "A game that is ended by the number of moves is won by the higher score.",
    "SimpleTak": "Cells are joined along their sides, not their corners. A full board without a "
    "path is a draw.",
    "ThreePlayerGOPS": "The lowest total loses, and one between is a draw.",
    "ThreePlayerTicTacToe": "A full board is a draw.",
    "TicTacToe": "A full board is a draw.",
    "UltimateTicTacToe": "Three in a row win a mini-board, and three mini-boards in a row the "
    "game. If the mini-board in which you have to play is won or full, you may play in any other.",
    "WildTicTacToe": "A full board without a line is a draw.",
}
"""What a game's own text omits, or tells otherwise than the library plays, by the name without the
version. The referees of tests/games know the games by these and the texts alone."""

_LISTS = "it needs NLTK's word lists, which the library loads over the network"
_JURY = "it asks models over the network"
_UNTOLD = "how its moves are written is not told here yet"

REFUSED: dict[str, str] = {
    **dict.fromkeys(
        ("Codenames", "DontSayIt", "Hangman", "LetterAuction", "SpellingBee", "WordChains"), _LISTS
    ),
    **dict.fromkeys(("WordLadder", "WordSearch", "Wordle"), _LISTS),
    **dict.fromkeys(("Debate", "GuessWho", "ScenarioPlanning", "TwentyQuestions"), _JURY),
    **dict.fromkeys(("ScorableGames", "UsedCar", "UsedCarNegotiation"), "its files are not packed"),
    "CharacterConclave": "the library fails on its first move",
}
"""Unsupported games, and why; `why_not` covers the rest."""


def why_not(name: str) -> str:
    """Return why a game is not supported; "" if it is. name: without the version."""
    return "" if name in WRITTEN else REFUSED.get(name, _UNTOLD)
