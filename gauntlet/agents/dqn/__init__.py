"""The learning player: a deep Q-network for any game that encodes its decisions as numbers."""
