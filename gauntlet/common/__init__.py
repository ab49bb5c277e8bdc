"""Shared basics: the error tree, crash-safe files, process start-up, and sanitized text."""
