"""Metadata: what makes a record a good one, and the formats in which it is read and written."""
