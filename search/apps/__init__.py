"""Doors for people and other programs: tables, reviews, pictures."""
