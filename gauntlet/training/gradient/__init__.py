"""Policy gradient on the project's own games, small enough for a CPU."""

from gauntlet.common.process import require_extra

require_extra("torch", "local")
