"""How matches are played: coroutines, what answers them, and who plays which."""
