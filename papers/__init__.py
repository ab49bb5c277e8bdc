"""The published systems again: what papers printed, our runs beside it, and their claims."""

from gauntlet.common.process import leave_current_folder

leave_current_folder()
