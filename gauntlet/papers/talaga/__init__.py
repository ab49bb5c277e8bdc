"""TALAGA: look-ahead with language models, in Tic-Tac-Toe and hold'em."""
