"""What processes of one service say to each other."""
