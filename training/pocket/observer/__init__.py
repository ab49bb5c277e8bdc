"""What the third pocket model learns: to watch rock-paper-scissors and say who plays how."""
