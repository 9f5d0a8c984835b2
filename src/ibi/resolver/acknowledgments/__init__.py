"""Acknowledgments of accesses: stored, and sent to archives."""
