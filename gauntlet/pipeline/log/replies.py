"""How each written reply of a decision was read, from its record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gauntlet.agents.base import WRONG_ANSWERS, finish_status
from gauntlet.agents.prompting.words import MALFORMED
from gauntlet.models.exchanges import Exchange, TextExchange
from gauntlet.pipeline.log.schema import DecisionRecord


def verdicts(decision: DecisionRecord) -> list[Any]:
    """For each text, in order: the option that it names, "ok", or what is wrong with it.

    They come from the method's note "answers", then from the faults of words that go with an
    option. A text that did not end by itself is not wrong but no answer, so its verdict is why it
    ended. Without notes, a reply that was followed up counts as malformed.
    """
    again = set(decision.notes.get("again", ()))
    texts = [(at, one) for at, one in enumerate(decision.asked) if isinstance(one, TextExchange)]
    read = iter(_read(decision, [(at, one) for at, one in texts if at not in again]))
    return [
        _verdict("malformed" if at in again else next(read), one, sample)
        for at, one in texts
        for sample in range(len(one.texts))
    ]


def _verdict(read: Any, exchange: TextExchange, sample: int) -> Any:
    if read not in WRONG_ANSWERS:
        return read
    status = finish_status(exchange.detail(sample).finish)
    return read if status == "ok" else status


def _read(decision: DecisionRecord, exchanges: Sequence[tuple[int, TextExchange]]) -> list[Any]:
    """How the method read each text that was not asked for again."""
    texts = [(at, text) for at, one in exchanges for text in one.texts]
    answers, faults = decision.notes.get("answers"), decision.notes.get("faults")
    faults = faults if isinstance(faults, list | tuple) else ()
    known = list(answers or ())
    rest = len(texts) - len(known)
    if answers is not None and rest <= 0:
        return known
    if answers is not None or len(faults) >= rest - (not decision.fallback):
        wrong = ["malformed" if fault == MALFORMED else "illegal" for fault in faults]
        return [*known, *wrong, *["ok"] * (rest - len(wrong))][: len(texts)]
    continued = {continued_text(one) for one in decision.asked}
    return ["malformed" if text in continued else _last(decision, at) for at, text in texts]


def continued_text(exchange: Exchange) -> str | None:
    """The reply that an exchange continues from."""
    return exchange.turns[-1][0] if exchange.turns else None


def _last(decision: DecisionRecord, at: int) -> str:
    """The verdict on a reply that was not followed up."""
    final = decision.fallback and at == len(decision.asked) - 1
    return decision.status if final else "ok"
