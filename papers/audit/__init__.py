"""What papers say of themselves, recomputed from their printed tables."""
