"""How a table becomes text, a page, CSV, LaTeX or Parquet."""
