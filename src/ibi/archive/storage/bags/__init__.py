"""Bags."""
