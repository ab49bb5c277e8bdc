"""The pipeline: from config to plan to match to record to table."""

from gauntlet.common.process import leave_current_folder

leave_current_folder()
