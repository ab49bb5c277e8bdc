"""Observer, Not Player: its tables and figures beside our own."""
