"""Running transformers checkpoints: packed scoring, batched generation, sharding."""
