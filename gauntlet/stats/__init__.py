"""Statistics as pure functions of arrays and counts. Imports nothing else of the project."""
