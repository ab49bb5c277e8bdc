"""The learning player: a deep Q-network for any game that tells its decisions in numbers."""
