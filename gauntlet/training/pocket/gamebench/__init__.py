"""Lessons of the fourth pocket model: acting in the nine games of GameBench, prompted by `base`."""
