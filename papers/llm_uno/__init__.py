"""LLM-UNO (Martinez and Roberts 2025): language models alone and as helpers in UNO."""
