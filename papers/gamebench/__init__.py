"""GameBench: its tables and figures beside our own, from its published matches."""
