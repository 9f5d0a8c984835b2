"""Transfers."""
