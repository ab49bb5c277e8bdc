"""What makes the weights that ship with the project; nothing of it is needed to play."""
