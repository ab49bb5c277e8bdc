"""What makes the weights that ship with the project, and the games as environments to learn from;
nothing of it is needed to play."""

from gauntlet.common.process import leave_current_folder

leave_current_folder()
