"""Audits of papers' claims, recomputed from their printed tables."""
