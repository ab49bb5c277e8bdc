"""Agents decide what to play. One that needs a model yields requests and is sent the replies."""
