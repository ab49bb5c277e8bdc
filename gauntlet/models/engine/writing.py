"""Texts that grow together; others may join between steps.

A step writes one token of every text. Models repeat themselves and their prompts, so a step also
checks guesses of what follows: each that is right saves a step, and none changes a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, groupby

import numpy as np
import torch
from torch import Tensor

from gauntlet.models.engine.attention import KeysValues, Piece
from gauntlet.models.engine.kv_cache import KVCache, depths, rows_left, steady
from gauntlet.models.engine.packed import Packed
from gauntlet.models.engine.ragged_forward import Flat
from gauntlet.models.engine.text import Endings, Text
from gauntlet.models.engine.tokens import grow

STAY = 16
"""Steps that the states of a text cut by its limit stay after its end, so that it goes on from
there if it is asked for again with more room."""

GUESSES = 5
"""Most guessed tokens of a text in a step."""
ROWS = 32
"""Rows of a step up to which guesses cost little: reading the weights takes longer."""

States = tuple[KeysValues, KeysValues]
"""Keys and values of a text: of the part that it shares with others, and of the rest."""


class Writing:
    """A row of the cache for each text, in the order of their lengths. A text's tokens are the same
    whatever others are written with it.

    texts: those in progress, and ended ones whose row has not been dropped yet.
    """

    def __init__(self, scorer: Packed, endings: Endings) -> None:
        """scorer: provides the forward pass and the cached static parts."""
        assert isinstance(scorer.engine, Flat)
        self._flat, self._scorer, self._endings = scorer.engine, scorer, endings
        flat = scorer.engine
        self._most_guesses = GUESSES
        if flat.invariant and not steady(1 + GUESSES, *flat.heads, flat.dtype, flat.device):
            self._most_guesses = 0
        self.texts: list[Text] = []
        self._cache = KVCache(self._flat.invariant)
        self._steps = 0
        self._ended: dict[Text, int] = {}

    @property
    def unfinished(self) -> list[Text]:
        return [text for text in self.texts if text.reply is None]

    def clear(self) -> None:
        """Drop all rows."""
        self.texts, self._cache = [], KVCache(self._flat.invariant)

    @torch.inference_mode()
    def join(self, new: Sequence[Text]) -> None:
        """Read the prompts of the new texts and write their first tokens; drop ended texts, if new
        ones come or they are half of all."""
        begun = self._take_over(new)
        rows = [row for row, text in enumerate(self.texts) if self._stays(text)]
        # Copying is expensive; ended rows cost little until they are half of all.
        if not new and 2 * len(rows) > len(self.texts):
            return
        fresh = sorted(set(new) - begun, key=lambda text: text.prompt)
        states, logits = self._read(fresh)
        texts = [*(self.texts[row] for row in rows), *fresh]
        lengths = [*(self.texts[row].states for row in rows), *(len(t.prompt) for t in fresh)]
        order = sorted(range(len(texts)), key=lengths.__getitem__)
        self._cache.arrange(list(zip(rows, lengths, strict=False)), states, order)
        self.texts = [texts[place] for place in order]
        self._ended = {text: at for text, at in self._ended.items() if text in self.texts}
        if fresh:
            self._endings.extend(fresh, torch.stack(logits))

    @torch.inference_mode()
    def step(self) -> list[Text]:
        """Write at least one token of every text in progress; return those that ended since the
        last step."""
        if self.unfinished:
            self._steps += 1
            guesses = self._guesses()
            self._endings.extend(self.texts, self._logits(guesses), guesses)
        ended = [text for text in self.texts if text.reply and text not in self._ended]
        self._ended.update(dict.fromkeys(ended, self._steps))
        return ended

    def _stays(self, text: Text) -> bool:
        """Whether the row is needed: the text is in progress, or was just cut by its limit."""
        if text.reply is None:
            return True
        cut = text.reply.detail().finish == "length"
        return cut and self._steps - self._ended.get(text, self._steps) <= STAY

    def _take_over(self, new: Sequence[Text]) -> set[Text]:
        """Let new texts go on from rows of cut ones of the same wording; return those."""
        cut = {text.wording: text for text in self.texts if text.reply and self._stays(text)}
        begun: set[Text] = set()
        for text in new:
            before = cut.get(text.wording)
            if before and len(before.written) < text.most:
                text.go_on(before)
                self.texts[self.texts.index(before)] = text
                begun.add(text)
        return begun

    def _read(self, new: Sequence[Text]) -> tuple[list[States], list[Tensor]]:
        """For each text, neighbours with the same prompt being read once, the states of the prompt
        and the logits after it."""
        states: list[States] = []
        rows: list[Tensor] = []
        same = [list(group) for _, group in groupby(new, key=lambda text: text.prompt)]
        self._claim(new)
        for pack in self._packs(same):
            pasts = [self._scorer.past(texts[0].head) for texts in pack]
            trees = [grow([texts[0].prompt[len(texts[0].head) :]]) for texts in pack]
            logits, fresh_states = self._flat.read(
                [Piece(tree, past) for tree, past in zip(trees, pasts, strict=True)]
            )
            for texts, past, fresh, row in zip(pack, pasts, fresh_states, logits, strict=True):
                states += [(past, fresh)] * len(texts)
                rows += [row] * len(texts)
        return states, rows

    def _claim(self, new: Sequence[Text]) -> None:
        """Raises OutOfMemory in all processes that run the network unless all have the memory."""
        every = [*self.texts, *new]
        widest = max((len(text.prompt) for text in new), default=0)
        held = len(every) * max((text.room for text in every), default=0)
        self._scorer.memory.claim(
            max(widest, self._scorer.pack_tokens), further=held * self._scorer.state_bytes
        )

    def _packs(self, same: Sequence[list[Text]]) -> list[list[list[Text]]]:
        """The texts of each prompt, in groups that are read in one pass."""
        packs: list[list[list[Text]]] = []
        tokens = 0
        for texts in same:
            new = len(texts[0].prompt) - len(texts[0].head)
            if not packs or tokens + new > self._scorer.pack_tokens:
                packs.append([])
                tokens = 0
            packs[-1].append(texts)
            tokens += new
        return packs

    def _guesses(self) -> list[list[int]]:
        """Guesses for each text, as many as the step has rows left."""
        left, guesses = ROWS - len(self.texts), []
        for text in self.texts:
            room = min(text.most - len(text.written) - 1, rows_left(text.states))
            most = 0 if text.reply else min(self._most_guesses, room, left)
            guesses.append(text.guess(most) if most > 0 else [])
            left -= len(guesses[-1])
        return guesses

    def _logits(self, guesses: Sequence[Sequence[int]]) -> Tensor:
        """Logits after the last token of every text, and after each of its guesses."""
        lengths, widths = [text.states for text in self.texts], [1 + len(g) for g in guesses]
        count = sum(widths)
        tokens, places = np.zeros((2, self._flat.step_rows(count)), dtype=np.int64)
        last = (0 if text.reply else text.written[-1] for text in self.texts)
        tokens[:count] = list(chain(*([token, *g] for token, g in zip(last, guesses, strict=True))))
        places[:count] = np.repeat(lengths, widths) + depths(widths)
        logits = self._flat.step(
            torch.from_numpy(tokens).to(self._flat.device),
            torch.from_numpy(places).to(self._flat.device),
            int(places.max()),
            self._cache.growing(lengths, widths),
        )
        return logits[:count]
