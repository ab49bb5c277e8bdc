"""MLflow: a parent run per sweep and a child run per cell, live and final."""
