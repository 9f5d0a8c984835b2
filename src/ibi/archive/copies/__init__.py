"""Copies of items of other archives: pulled, compared and refreshed."""
