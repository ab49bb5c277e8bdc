"""Models behind an OpenAI-compatible API; every reply is cached, so it is paid once."""
