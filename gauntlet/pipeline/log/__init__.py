"""What a run writes while it plays: records, events and its status."""
