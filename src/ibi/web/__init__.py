"""The web edge: HTTP in, HTTP out, and nothing decided in between."""
