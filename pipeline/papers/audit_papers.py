"""Every paper's findings as one table, in the way of a reproduction."""

from __future__ import annotations

from pipeline.papers import audit, audit_llm_uno, audit_uno_arena
from pipeline.papers.orders import Found, Order


def reproduce(order: Order) -> Found:
    """Recomputes every claim; nothing is played, whatever was ordered."""
    found = audit.findings(audit_llm_uno.CHECKS | audit_uno_arena.CHECKS)
    return Found(found, [audit.view(found)])
