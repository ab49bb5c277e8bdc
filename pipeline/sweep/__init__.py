"""One sweep from its configs to its tables: what `python -m pipeline.run` does."""
