"""Machinery that any program may use, and that depends on none of them."""
