"""TALAGA: language models that think ahead, in Tic-Tac-Toe and hold'em."""
