"""Machinery that any of the programs uses, and that knows none of them."""
