"""The pipeline: config to plan to match to record to table."""
