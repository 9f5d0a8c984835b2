"""Rebuild of the catalogue, concession of Originals, and the move of files to another store."""
