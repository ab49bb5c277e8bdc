"""Prompting methods, one per file. A method phrases a game's facts and parses the model's reply."""
