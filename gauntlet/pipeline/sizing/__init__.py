"""Estimates of the memory and tokens that a sweep will need."""
