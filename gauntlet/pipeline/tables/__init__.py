"""Tables and figures of a sweep, from its log; see `registry`."""
