"""Estimates of the memory and hours that a sweep will need."""
