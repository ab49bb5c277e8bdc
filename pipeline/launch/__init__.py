"""Where a sweep is played: sessions of Ray, workers, shards, SLURM jobs."""
