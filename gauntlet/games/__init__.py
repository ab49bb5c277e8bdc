"""Games: rules only. A game imports nothing of agents, models, prompts or experiments."""
