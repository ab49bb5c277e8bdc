"""Models behind an OpenAI-compatible API, asked and paid once."""
