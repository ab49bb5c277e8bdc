"""A match as a person sees it: plain data, and its one HTML and one terminal renderer."""
