"""Inbound HTTP of a resolver: redirects, pages, the protocol of the standard, and the API."""
