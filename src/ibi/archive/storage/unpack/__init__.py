"""Unpacking of zip and tar files within limits."""
