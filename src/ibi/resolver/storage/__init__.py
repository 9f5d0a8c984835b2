"""The database of a resolver."""
