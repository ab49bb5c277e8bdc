"""Measures of play beyond the result: the value of each decision, and luck adjustment."""
