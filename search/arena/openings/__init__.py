"""A Q-network's values of every first action, over many deals (paper 002, Figures 9 and 10)."""
