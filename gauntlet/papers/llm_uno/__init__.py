"""LLM-UNO (Martinez and Roberts 2025): language models as players and as helpers in UNO."""
