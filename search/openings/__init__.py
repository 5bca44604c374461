"""What a Q-network thinks of every first action, over many deals (paper 002, Figures 9 and 10)."""
