"""Every paper's findings as one table, in the way of a reproduction."""

from __future__ import annotations

from papers.audit import findings as audit
from papers.audit import llm_uno as audit_llm_uno
from papers.audit import uno_arena as audit_uno_arena
from papers.reproductions import Reproduction, Settings


def reproduce(settings: Settings) -> Reproduction:
    """Recomputes every claim; nothing is played, whatever was ordered."""
    found = audit.findings(audit_llm_uno.CHECKS | audit_uno_arena.CHECKS)
    return Reproduction(found, [audit.view(found)])
