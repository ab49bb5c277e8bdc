"""The public league: its matches, what is found in them, and how to join."""
