"""MLflow: a parent run a sweep, a child run a cell, while it goes and in the end."""
