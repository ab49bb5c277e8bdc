"""A model behind an API, of any vendor or server whose protocol is in `DIALECTS`.

Importing this module is cheap: `load` imports the client. The key comes from an environment
variable and appears in no setting, record or message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.common.errors import ModelError
from gauntlet.models.api.dialects import SCORERS
from gauntlet.models.api.dialects.base import SCORE_TEMPERATURE
from gauntlet.models.api.ledger import BATCH_RATE, CREATION_SECONDS, Ledger, Tokens
from gauntlet.models.api.settings import Settings
from gauntlet.models.base import Generate, Prompt

if TYPE_CHECKING:
    from gauntlet.models.api.remote import Remote

PROBE = Generate(Prompt("", "Reply with one word: ready"), max_tokens=16)
"""Sent before the first match, once per cache, to catch a wrong key, name or address, or a
setting that the server rejects."""
DEFAULTS: Mapping[str, Any] = {
    "effort": None,
    "thinking_room": 0,
    "thinking_budget": None,
    "thought_tags": None,
    "headers": {},
    "extra_body": {},
    "system_role": True,
}
"""Settings that change an answer; in the identity unless they have these values."""


@dataclass(frozen=True)
class OpenAI(Settings):
    """One model of one server."""

    def identity(self) -> Mapping[str, Any]:
        """The model and its settings. Needs no server, so a finished run can be read offline."""
        dialect = self.dialect
        sampling = {"logprobs": {"top": self.top}, "sampled": self._draws()}.get(self.scores, {})
        identity = {"api": self.base_url, "model": self.name, "endpoint": self.endpoint}
        temperature = SCORE_TEMPERATURE if dialect.sends_temperature else "not sent"
        changed: dict[str, Any] = {
            name: getattr(self, name)
            for name, default in DEFAULTS.items()
            if getattr(self, name) != default
        }
        if lacking := [field for field in dialect.LACKS if field != "n"]:
            changed["not_sent"] = lacking
        scores = {"scores": self.scores, "temperature": temperature, **sampling}
        return {**identity, **scores, **changed}

    def check_choices(self, choices: Sequence[str]) -> None:
        """Accepts any word, because a server does not expose its tokenizer. A word that is not a
        single token is never reported, and the records show it."""

    def load(self) -> Remote:
        """Load the model and check that it answers. Raises ModelError with one line if it does
        not."""
        model = self._opened(batch=False)
        try:
            model.check(PROBE)
        except BaseException:  # Ctrl-C too: requests in flight must not outlive it
            model.close()
            raise
        if not self.batch:
            return model
        model.close()
        return self._opened(batch=True)

    def _opened(self, batch: bool) -> Remote:
        from gauntlet.models.api.batching import BatchAsker
        from gauntlet.models.api.jobs import JOBS
        from gauntlet.models.api.remote import Remote
        from gauntlet.models.api.retry import Asker

        self.check_key()
        ledger, dialect = self._ledger(batch), self.dialect
        try:
            if batch:
                asker = BatchAsker(dialect, self, ledger, JOBS[self.endpoint])
                return Remote(self, dialect, asker, ledger)
            scoring = None
            if self.scores in SCORERS:
                scorer = self.spoken(SCORERS[self.scores][0])
                scoring = scorer, Asker(scorer, self, ledger)
            return Remote(self, dialect, Asker(dialect, self, ledger), ledger, scoring)
        except ModelError:
            ledger.close()
            raise

    def price(self, read: int, written: int) -> float:
        rate = BATCH_RATE if self.batch else 1.0
        return rate * self.prices.cost(Tokens(read, written))

    def account(self) -> str:
        """The cost of the replies in the cache, over all runs that share it, as a line of text."""
        ledger = self._ledger()
        spending, (paid, unsure) = ledger.spending(), ledger.costs()
        jobs, requests = ledger.in_jobs()
        ledger.close()
        cached = f" ({spending.paid.cached:,} of them cached)" if spending.paid.cached else ""
        go_on = (
            f"; batch jobs that go on at the server: {jobs:,}, of {requests:,} requests; the same "
            "command takes their results"
        )
        return (
            f"{self.name} at {self.base_url}: {spending.replies:,} replies kept, "
            f"{spending.paid.prompt:,} tokens read{cached}, {spending.paid.written:,} written; "
            f"{paid:.4g} paid, at most {unsure:.4g} more for requests without a reply"
            f"{go_on if jobs else ''}"
        )

    def _ledger(self, batch: bool = False) -> Ledger:
        seconds = max(self.timeout, self.patience) if self.stream else self.timeout
        seconds = CREATION_SECONDS if batch else seconds
        account = f"{self.name} at {self.base_url}"
        return Ledger(Path(self.cache), account, self.prices, seconds, batch)

    def _draws(self) -> Mapping[str, Any]:
        return {"samples": self.samples, "seed": self.seed}
