"""Metadata records: validation, and the formats in which they are read and written. No I/O."""
