"""Policy gradient on the project's own games, small enough for a CPU."""
