"""Figures over time: counters of processes, read once a minute and kept for more than a year."""
