"""Builds an archive of its storage, peers, services and web."""
