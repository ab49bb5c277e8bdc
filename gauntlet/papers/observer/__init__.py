"""Observer, Not Player: its tables and figures next to ours."""
