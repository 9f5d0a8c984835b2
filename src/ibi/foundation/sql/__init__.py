"""Databases: SQLite and PostgreSQL, rows, tokens, and migrations to the newest tables."""
