"""The archive: items, files, copies and transfers (spec part 4)."""
