"""Deposits: files that are staged and become an item."""
