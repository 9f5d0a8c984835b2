"""Acknowledgments of accesses, kept and sent to archives."""
