"""Pages on which people act on items that are published: their own, or as curators all."""
