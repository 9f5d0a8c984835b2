"""Crosswalks: a record written and read in the formats of others, one module a format."""
