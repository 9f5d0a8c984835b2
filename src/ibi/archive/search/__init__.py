"""The search of an archive: results with their facets, and the index in the background."""
