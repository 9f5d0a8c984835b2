"""Builds a resolver of its storage, peers, services and web."""
