"""Tournaments: every deal in every seat permutation of the entrants (paper 001, sections 6.1 and 9.3)."""
