"""A game, players, pictures and a kind of network of another package."""
