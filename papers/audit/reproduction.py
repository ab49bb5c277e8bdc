"""Every paper's findings as one table, in the way of a reproduction."""

from __future__ import annotations

from papers.audit import findings as audit
from papers.audit import llm_uno as audit_llm_uno
from papers.audit import talaga as audit_talaga
from papers.audit import uno_arena as audit_uno_arena
from papers.reproductions import Reproduction, Settings


def reproduce(settings: Settings) -> Reproduction:
    """Recomputes every claim; nothing is played, whatever was ordered."""
    checks = audit_llm_uno.CHECKS | audit_uno_arena.CHECKS | audit_talaga.CHECKS
    found = audit.findings(checks, audit_talaga.OPEN)
    return Reproduction(found, [audit.view(found)])
