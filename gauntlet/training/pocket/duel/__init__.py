"""Lessons of the second pocket model: reasoning methods in Tic-Tac-Toe and hold'em."""
