"""Digests of archives: fetched, stored, and followed while they change."""
