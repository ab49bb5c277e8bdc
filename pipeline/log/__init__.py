"""What a run leaves while it plays: records on the disk, events, its state for who looks on."""
