"""Codenames: one-word clues, by the rules that GameBench played."""

from gauntlet.games.codenames.game import Codenames

__all__ = ["Codenames"]
