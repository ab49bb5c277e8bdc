"""Running one sweep from its configs to its tables: the work of `python -m pipeline.run`."""
