"""Files in an object store."""
