"""Checkpoints of transformers: scored packed, generated in batches, cut into shards."""
