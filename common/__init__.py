"""What every room stands on: one tree of errors, files that are whole or not there, and text from
outside made fit to be shown."""
