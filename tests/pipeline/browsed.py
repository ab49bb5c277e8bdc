"""Shared by the tests in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, expect

CHROMIUM = Path("/usr/bin/chromium")
PATIENCE = 30_000
"""Milliseconds until something must be visible, on a busy machine."""
SCHEMES: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")


def faults(page: Page, axe: str) -> list[str]:
    """Return what axe-core calls serious or critical, in light and dark; and close the page."""
    expect(page.locator("h1")).to_be_visible(timeout=PATIENCE)
    found = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_timeout(700)
        page.evaluate(axe)
        for one in page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]:
            if one["impact"] in ("serious", "critical"):
                places = ", ".join(node["html"][:200] for node in one["nodes"][:3])
                found.append(f"{page.url} {scheme}: {one['help']}: {places}")
    page.close()
    return found
