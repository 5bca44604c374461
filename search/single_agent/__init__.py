"""Search in games of one seat in which nothing is hidden: paper 003's players and the single-player searches that they
are compared with."""
