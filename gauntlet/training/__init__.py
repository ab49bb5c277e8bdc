"""Training of the weights that ship with the project, and the games as learning environments.

Nothing here is needed to play.
"""

from gauntlet.common.process import leave_current_folder

leave_current_folder()
