"""Browser pages: live runs, matches move by move, and games to play and to watch."""
