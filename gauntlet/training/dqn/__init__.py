"""Deep Q-learning as in RLCard: a trainer, an evaluation, learning curves."""
