"""Digests of archives: fetched, kept, and followed while they change."""
