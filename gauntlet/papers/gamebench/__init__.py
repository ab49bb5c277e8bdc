"""GameBench: its tables and figures from its published matches, next to ours."""
