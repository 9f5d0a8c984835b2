"""The database and the files of an archive."""
