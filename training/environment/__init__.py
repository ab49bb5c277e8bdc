"""Games to learn from: a seat of a sweep's matches, played by whoever answers its prompts."""
