"""A match for people: plain data, with one HTML and one terminal renderer."""
