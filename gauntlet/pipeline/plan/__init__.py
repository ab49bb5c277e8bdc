"""What is to be played: cells with their players built, deals, matches, and their identity."""
