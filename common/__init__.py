"""What every room stands on: one tree of errors, and files that are whole or not there."""
