"""Pages in a browser: runs as they go, matches move by move, games to play and to watch."""
