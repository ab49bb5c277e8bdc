"""Lessons of the third pocket model: identify the players' strategies in rock-paper-scissors."""
