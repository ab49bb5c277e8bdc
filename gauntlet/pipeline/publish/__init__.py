"""Runs as a static site, which any web server or a folder on disk can show."""
