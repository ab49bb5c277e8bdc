"""Games as learning environments: one seat of a sweep's matches, played from outside."""
