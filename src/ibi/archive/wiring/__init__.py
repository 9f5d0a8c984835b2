"""Builds an archive from its storage, peers, services and web."""
