"""What every sweep prints: its tables, its figures, the verdict and the report."""
