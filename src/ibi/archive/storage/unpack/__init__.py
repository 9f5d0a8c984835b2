"""Zip and tar files, unpacked within limits."""
