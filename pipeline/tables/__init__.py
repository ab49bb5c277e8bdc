"""What a log adds up to: rows, views for a terminal, figures, sentences."""
