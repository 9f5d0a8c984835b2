"""The minter: issues labels (003, chapters 5 and 6), each once, as a library or an HTTP service."""
