"""What the fourth pocket model learns: to act in the nine games of GameBench, as `base` asks."""
