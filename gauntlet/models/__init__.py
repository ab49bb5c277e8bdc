"""Models answer requests. They know nothing of games or agents."""
