"""The published systems again: what papers printed, our runs beside it, and their claims."""
