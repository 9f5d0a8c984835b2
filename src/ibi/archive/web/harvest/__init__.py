"""Harvesting over HTTP: OAI-PMH, and the feed of changes."""
