"""Tables and figures from a log. `registry` lists them, and `formatting` writes their numbers.

A new table goes to `sweep/` if every sweep prints it, else to `commands/`; how tables become text,
pages or files is in `media/`.
"""
