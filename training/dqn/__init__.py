"""Deep Q-learning as RLCard does it: a trainer, an evaluation, learning curves."""
