"""Every paper's findings as one table, run like a reproduction."""

from __future__ import annotations

import pandas as pd

from gauntlet.papers.audit import findings as audit
from gauntlet.papers.audit import gamebench as audit_gamebench
from gauntlet.papers.audit import llm_uno as audit_llm_uno
from gauntlet.papers.audit import observer as audit_observer
from gauntlet.papers.audit import talaga as audit_talaga
from gauntlet.papers.audit import uno_arena as audit_uno_arena
from gauntlet.papers.gamebench.matches import load_matches, missing_file_message
from gauntlet.papers.reproductions import Reproduction, Settings

MODELS = ""


def lacks(settings: Settings) -> str:
    return missing_file_message(settings.matches)


def reproduce(settings: Settings) -> Reproduction:
    """Recompute every claim; plays nothing, whatever the settings."""
    contest = load_matches(settings.matches)
    tables = [
        audit.findings(audit_llm_uno.CHECKS | audit_uno_arena.CHECKS, {}),
        audit.findings(audit_talaga.CHECKS, audit_talaga.OPEN),
        audit.findings(audit_observer.CHECKS, audit_observer.OPEN),
        audit.findings(*audit_gamebench.checks(contest)),
    ]
    found = pd.concat(tables, ignore_index=True)
    return Reproduction(found, [audit.view(found)])
