"""Where a sweep runs: Ray sessions, workers, shards, SLURM jobs."""
