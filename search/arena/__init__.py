"""Measurement: tournaments, ratings, values of networks, and the files that keep them."""
