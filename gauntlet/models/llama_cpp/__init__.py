"""llama.cpp: GGUF files on this machine, and running servers."""
