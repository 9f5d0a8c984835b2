"""Databases: SQLite and PostgreSQL, rows, and the way to the newest tables."""
