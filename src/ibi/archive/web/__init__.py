"""Inbound HTTP of an archive: pages, files, the protocol of the standard, and the API."""
