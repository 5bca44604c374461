"""Ratings of players: every pair plays a tournament on the same deals, and one model explains all results."""
