"""A checkpoint of ours behind the protocol that `models.api` speaks."""
