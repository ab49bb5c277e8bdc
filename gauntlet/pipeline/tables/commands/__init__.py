"""What a command of its own prints, such as ratings, or a sweep that asked for it."""
