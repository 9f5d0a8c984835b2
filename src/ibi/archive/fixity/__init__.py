"""Fixity."""
