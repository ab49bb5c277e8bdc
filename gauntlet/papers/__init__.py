"""Reproductions of published systems: the papers' numbers next to ours, and claims audited."""

from gauntlet.common.process import leave_current_folder

leave_current_folder()
