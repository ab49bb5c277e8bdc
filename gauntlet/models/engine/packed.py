"""The packed scorer: computes shared tokens once, within and across decisions.

The static part of the prompts is cached as keys and values; the rest of a decision's prompts form a
tree in which each shared token is computed once; many decisions run as one flat row. The
log-probabilities are those of the plain scorer up to rounding, and their bits do not depend on the
other requests in a call (unless `Flat` is allowed to vary).

The first path that works is used: `Flat`, `General`, `Portable`, else the plain scorer. The plain
scorer also takes texts longer than the path is verified for (`equivalence_check.py`).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from gauntlet.common.errors import ModelError
from gauntlet.models.base import Score, Scores
from gauntlet.models.engine.attention import KeysValues, Piece
from gauntlet.models.engine.equivalence_check import (
    FIRST,
    EquivalenceCheck,
    differences,
    probe,
    tree_difference,
)
from gauntlet.models.engine.general import General, Portable
from gauntlet.models.engine.memory import Least, Memory, alone, state_bytes
from gauntlet.models.engine.ragged_forward import Flat, Unsupported
from gauntlet.models.engine.reference import REFUSALS, GoOn, Reference, check_finite
from gauntlet.models.engine.tokens import PromptTree, Tokens, grow, shared_length

LOG = logging.getLogger("gauntlet")

Engine = Flat | General | Portable


@dataclass(frozen=True, slots=True)
class TokenizedScore:
    """One request in tokens: the shared static part, and the tree of what follows it."""

    request: Score
    head: tuple[int, ...]
    tree: PromptTree
    spellings: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]


Running = list[tuple[list[TokenizedScore], list[int], torch.Tensor]]
"""Started packs: their decisions, the token columns read, and the log-probabilities."""


class Packed:
    """Scores decisions in packs.

    Falls back to a slower path, with one log message, if the fast one does not support the network.

    engine: the pass that runs the packs; None if only the plain scorer can.
    proof: up to which length the pass is verified against the plain scorer.
    text_bytes: memory for the keys and values of texts in progress; a token of one takes
        `state_bytes`.
    """

    proof: EquivalenceCheck

    def __init__(
        self,
        network: Any,
        tokens: Tokens,
        invariant: bool = True,
        least: Least = alone,
        go_on: GoOn = lambda: None,
    ) -> None:
        """invariant: bits do not depend on the other requests.
        least: agrees on a minimum with the other processes that run the network.
        """
        self._go_on = go_on
        self.memory = Memory(network, least)
        allowed = self.memory.budget()
        self.tokens = tokens
        self.pack_tokens = allowed.pack_tokens
        self.text_bytes = allowed.texts
        self.state_bytes = state_bytes(
            network.config.get_text_config(decoder=True), network.dtype.itemsize
        )
        self.resident = Resident(allowed.resident, self.memory.size)
        self._plain = Reference(network, tokens, go_on)
        self.engine: Engine | None = None
        self._take_the_first_that_can(network, invariant, least)

    def score(self, requests: Sequence[Score]) -> list[Scores]:
        """One reply per request, in order. Equal requests are computed once."""
        replies: dict[Score, Scores] = {}
        waiting: Running = []
        for pack in self._packs(list(dict.fromkeys(requests)), replies):
            self._go_on()
            started = self._run(pack)
            # A GPU computes the new pack while the previous one is read.
            replies.update(self._read(waiting))
            waiting = started
        replies.update(self._read(waiting))
        return [replies[request] for request in requests]

    def past(self, head: tuple[int, ...]) -> KeysValues:
        """Keys and values of a static part, cached."""
        assert self.engine is not None
        if not head:
            return ()
        states = self.resident.get(head)
        if states is None:
            states = self.engine.keys_values(head)
            self.resident.put(head, states)
        return states

    def _decision(self, request: Score, sequences: list[list[int]]) -> TokenizedScore:
        head = self.tokens.head(request.prompts[0])
        # The last token of a prompt is never part of the head, because its row gives the answer.
        shared = min(
            min(shared_length(head, sequence), len(sequence) - 1) for sequence in sequences
        )
        return TokenizedScore(
            request=request,
            head=tuple(head[:shared]),
            tree=grow([sequence[shared:] for sequence in sequences]),
            spellings=self.tokens.spellings(request.choices),
            lengths=tuple(map(len, sequences)),
        )

    def _packs(
        self, requests: Sequence[Score], replies: dict[Score, Scores]
    ) -> Iterator[list[TokenizedScore]]:
        """The decisions in packs, grouped by size; what does not fit is scored into `replies`."""
        prompts = [prompt for request in requests for prompt in request.prompts]
        encoded = iter(self.tokens.encode_all(prompts, answering=True))
        texts = {request: [next(encoded) for _ in request.prompts] for request in requests}
        pack: list[TokenizedScore] = []
        tokens = 0
        for request in sorted(requests, key=lambda r: (len(texts[r]), len(texts[r][0]))):
            decision = self._decision(request, texts[request])
            if not self._can_pack(decision):
                (replies[request],) = self._plain.score([request])
                continue
            nodes = len(decision.tree.tokens)
            if pack and tokens + nodes > self.pack_tokens:
                yield pack
                pack, tokens = [], 0
            pack.append(decision)
            tokens += nodes
        if pack:
            yield pack

    def _can_pack(self, decision: TokenizedScore) -> bool:
        if self.engine is None or max(decision.lengths) > self._plain.limit:
            return False
        return self.proof.covers(self.engine.span(len(decision.head), decision.tree))

    def _run(self, pack: list[TokenizedScore]) -> Running:
        """Start one pack, split if it does not fit in memory."""
        for attempt in ("as it is", "without anything kept"):
            try:
                return [self._start(pack)]
            except RuntimeError as error:
                if not self.memory.ran_out(error):
                    raise
            self.make_room()
            if attempt == "as it is" and len(pack) > 1:
                break
        if len(pack) == 1:
            raise ModelError(
                f"model {self.tokens.name!r}: a prompt of {max(pack[0].lengths)} tokens does not "
                "fit in memory"
            )
        self.pack_tokens = max(1, self.pack_tokens // 2)
        LOG.warning("out of memory; packs now hold %d tokens", self.pack_tokens)
        half = len(pack) // 2
        return self._run(pack[:half]) + self._run(pack[half:])

    def make_room(self) -> None:
        self.resident.clear()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _start(
        self, pack: list[TokenizedScore]
    ) -> tuple[list[TokenizedScore], list[int], torch.Tensor]:
        assert self.engine is not None
        tokens = sum(len(decision.tree.tokens) for decision in pack)
        self.memory.claim(max(tokens, *(len(decision.head) for decision in pack)))
        columns = sorted({t for d in pack for ids in d.spellings for t in ids})
        pieces = [Piece(decision.tree, self.past(decision.head)) for decision in pack]
        return pack, columns, self.engine.logprobs(pieces, columns)

    def _read(self, running: Running) -> Iterator[tuple[Score, Scores]]:
        for pack, columns, logprobs in running:
            check_finite(logprobs.amax(dim=-1), self._plain.network.dtype, self.tokens.name)
            place = {token: column for column, token in enumerate(columns)}
            rows = iter(logprobs.tolist())
            for decision in pack:
                spelt = [[place[token] for token in ids] for ids in decision.spellings]
                answers = [next(rows) for _ in decision.tree.ends]
                best = tuple(tuple(max(row[c] for c in ids) for ids in spelt) for row in answers)
                yield decision.request, Scores(best, decision.lengths)

    def _take_the_first_that_can(self, network: Any, invariant: bool, least: Least) -> None:
        """Use the fastest path that agrees with the plain scorer. Raises ModelError if none can
        run."""
        ways: tuple[Callable[[], Engine], ...] = (
            lambda: Flat(network, invariant),
            lambda: General(network, invariant, least),
            lambda: Portable(network),
        )
        reasons: list[str] = []
        self._plain.next_token(probe(FIRST, self._plain.vocabulary))
        for way in ways:
            try:
                engine = way()
            except Unsupported as unknown:
                reasons.append(f"does not know its {unknown}")
                continue
            except REFUSALS as error:
                reasons.append(f"cannot run it ({type(error).__name__})")
                continue
            difference = partial(tree_difference, engine, self._plain)
            name = f"model {self.tokens.name!r} are scored one prompt at a time"
            path = f"{type(engine).__name__} {invariant}"
            stored = differences(network, path, least is alone)
            self.proof = EquivalenceCheck(network, difference, self.memory, name, stored)
            if self.proof.covers(1):
                self.engine = engine
                if isinstance(engine, Portable):
                    self._tell("a decision at a time, by the portable path", reasons)
                return
            reasons.append(str(self.proof.objection))
        self._tell("one prompt at a time", reasons)

    def _tell(self, path: str, reasons: Sequence[str]) -> None:
        ways = ("the flat pass", "the flat pass by its own modules", "the portable path")
        why = "; ".join(f"{way} {reason}" for way, reason in zip(ways, reasons, strict=False))
        LOG.warning("model %r is scored %s: %s", self.tokens.name, path, why)


class Resident:
    """A least-recently-used cache of keys and values, limited in bytes as counted by `size`."""

    def __init__(self, limit: int, size: Callable[[KeysValues], int]) -> None:
        self.limit = limit
        self._size = size
        self._kept: OrderedDict[tuple[int, ...], tuple[KeysValues, int]] = OrderedDict()
        self._bytes = 0

    def get(self, text: tuple[int, ...]) -> KeysValues | None:
        if text not in self._kept:
            return None
        self._kept.move_to_end(text)
        return self._kept[text][0]

    def put(self, text: tuple[int, ...], states: KeysValues) -> None:
        """Cache `states`, evicting the least recently used entries until all fit."""
        size = self._size(states)
        self._kept[text] = states, size
        self._bytes += size
        while self._bytes > self.limit:
            self._bytes -= self._kept.popitem(last=False)[1][1]

    def clear(self) -> None:
        self._kept.clear()
        self._bytes = 0
