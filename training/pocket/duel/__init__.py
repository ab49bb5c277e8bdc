"""What the second pocket model learns: methods that reason in words, in Tic-Tac-Toe and hold'em."""
